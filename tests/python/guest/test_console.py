# SPDX-License-Identifier: Apache-2.0
"""Which of a guest's lines fail the run, and which are shown."""

import io

import pytest

from pagemix_guest.console import Console, Line, LineAssembler, Screen, failure_in, plain

FAILING = [
    ("------------[ cut here ]------------\n[    1.000001] WARNING: CPU: 0 PID: 1 at x.c:1", False),
    ("Unable to handle kernel NULL pointer dereference at virtual address 0000", True),
    ("Internal error: Oops: 0000000096000004 [#1] SMP", True),
    ("Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100", True),
    ("kernel BUG at mm/slub.c:553!", True),
    ("BUG: sleeping function called from invalid context at x.c:1", True),
    ("watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [pagemix:80]", True),
    ("watchdog: Watchdog detected hard LOCKUP on cpu 0", True),
    ("NMI watchdog: Watchdog detected hard LOCKUP on cpu 0", True),
    ("rcu: INFO: rcu_preempt self-detected stall on CPU", True),
    ("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", True),
    ("rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 0-... }", True),
    ("INFO: task pagemix:80 blocked for more than 120 seconds.", True),
    ("WARNING: possible circular locking dependency detected", False),
    ("WARNING: suspicious RCU usage", False),
    ("INFO: trying to register non-static key.", False),
    ("Oops: general protection fault, probably for non-canonical address 0x6b6b6b6b6b6b6b6b", True),
    ("general protection fault, maybe for address 0x0: 0000 [#1] PREEMPT SMP NOPTI", True),
    ("PANIC: double fault, error_code: 0x0", True),
    ("DMAR: DRHD: handling fault status reg 2", False),
    ("DMAR: [DMA Write NO_PASID] Request device [00:02.0] fault addr 0xfeed000 [fault reason 0x05]",
     False),
    ("DMAR: Invalidation Queue Error (IQE) detected", False),
    ("AMD-Vi: Event logged [IO_PAGE_FAULT device=00:02.0 domain=0x0012 address=0x1000 flags=0x0]",
     False),
    ("vfio-pci 0000:00:02.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000d address=0x1000]",
     False),
    ("AMD-Vi: Completion-Wait loop timed out", False),
    ("refcount_t: underflow; use-after-free.", False),
    ("list_del corruption. prev->next should be", False),
    ("BUG: KASAN: slab-use-after-free in pagemix_release+0x1/0x2", True),
    ("UBSAN: shift-out-of-bounds in x.c:1:2", False),
    ("BUG kmalloc-64 (Tainted: G           O      ): Poison overwritten", False),
    ("pagealloc: memory corruption", False),
    ("kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)", False),
    ("edu 0000:00:02.0: DMA-API: device driver has pending DMA allocations", False),
    ("arm-smmu-v3 9050000.smmuv3: event 0x10 received:", False),
    ("arm-smmu-v3 9050000.smmuv3: CMD_SYNC timeout at 0x00000001", False),
    ("Out of memory: Killed process 80 (pagemix)", False),
]


@pytest.mark.parametrize(("text", "fatal"), FAILING)
def test_kernel_failures(text: str, fatal: bool) -> None:
    console = Console()
    console.feed(f"[    1.000000] {text}\r\n")
    assert len(console.failures) == 1
    assert console.fatal is fatal


@pytest.mark.parametrize("text", [
    "pagemix: loading out-of-tree module taints kernel.",
    "pagemix: module verification failed: signature and/or required key missing - tainting kernel",
    "rcu: Hierarchical RCU implementation.",
    "workqueue: debug info",
    "DMA-API: preallocated 65536 debug entries",
    "DMA-API: debugging enabled by kernel config",
    "debug: ignoring loglevel setting.",
    "warning: `pagemix' uses something old",
    "arm-smmu-v3 9050000.smmuv3: allocated 65536 entries for cmdq",
    "DMAR: DRHD base: 0x000000fed90000 flags: 0x0",
    "DMAR: dmar0: Using Queued invalidation",
    "NMI watchdog: Perf NMI watchdog permanently disabled",
    "AMD-Vi: Interrupt remapping enabled",
])
def test_harmless_kernel_messages(text: str) -> None:
    assert failure_in(Line(f"[    1.000000] {text}", True)) == (False, False)


def test_programs_may_say_what_they_like() -> None:
    console = Console()
    console.feed("***WARNING*** CPU scaling is enabled\nWARNING: not the kernel\nBUG: mine\n")
    assert console.failures == []


def test_caller_stamp_is_a_stamp() -> None:
    console = Console()
    console.feed("[    1.000000][   T80] WARNING: CPU: 0\n[    1.000000][ C0] BUG: spinlock\n")
    assert len(console.failures) == 2


def test_interrupted_line_is_put_together() -> None:
    assembler = LineAssembler()
    lines = assembler.feed("@pagemix beg[   12.345678] kernel words\r\nin a/b 3\r\nnext\n")
    assert lines == [Line("[   12.345678] kernel words", True),
                     Line("@pagemix begin a/b 3", False), Line("next", False)]


def test_line_in_pieces_and_two_interruptions() -> None:
    assembler = LineAssembler()
    text = "ab[    1.000000] one\n[    1.000001] two\ncd[    1.000002] three\nef\nrest"
    lines = [line for char in text for line in assembler.feed(char)]
    assert [line.text for line in lines if not line.kernel] == ["abcdef"]
    assert [line.text for line in lines if line.kernel] == [
        "[    1.000000] one", "[    1.000001] two", "[    1.000002] three"]
    assert assembler.rest == "rest"


SESSION = ("[    0.000000] Booting Linux\nshell noise\n@pagemix-guest start 0\n"
           "[1/9] map_sgtable, 3 s left\n@pagemix begin a 0\na table\n[    2.000000] kernel\n"
           "@pagemix end a 0 5\n@pagemix-guest exit 0 0\nafter\n")


@pytest.mark.parametrize(("options", "expected"), [
    ({}, ["[1/9] map_sgtable, 3 s left", "a table"]),
    ({"quiet": True}, ["[1/9] map_sgtable, 3 s left"]),
    ({"verbose": True}, ["[    0.000000] Booting Linux", "shell noise",
                         "[1/9] map_sgtable, 3 s left", "a table", "[    2.000000] kernel",
                         "after"]),
])
def test_what_is_shown(options: dict[str, bool], expected: list[str]) -> None:
    console = Console(**options)
    assert console.feed(SESSION) == expected
    assert not console.running


def test_output_without_a_line_end_is_shown() -> None:
    console = Console()
    assert console.feed("@pagemix-guest start 0\r\nno end@pagemix-guest exit 0 0\r\n") == [
        "no end"]
    assert not console.running


def test_what_quiet_hides_is_kept_for_a_failure() -> None:
    console = Console(quiet=True)
    console.feed(SESSION)
    assert list(console.hidden) == ["a table"]
    loud = Console()
    loud.feed(SESSION)
    assert list(loud.hidden) == []


def test_init_complains_and_the_log_has_an_end() -> None:
    console = Console()
    console.feed("".join(f"line {i}\n" for i in range(100)))
    console.feed("@pagemix-guest fail module /lib/modules/x.ko\n")
    assert console.complaints == ["module /lib/modules/x.ko"]
    assert list(console.tail)[0] == "line 61" and len(console.tail) == 40


REDRAWN = ("@pagemix-guest start 0\r\n"
           "\r\x1b[K[  1/228] alloc/mix:order9@pagemix begin alloc/mix:order9 0\r\n"
           "@pagemix end alloc/mix:order9 0 5\r\n"
           "\r\x1b[K[  2/228] map 3 s left@pagemix begin map 0\r\n"
           "@pagemix end map 0 5\r\n\r\x1b[Kmedian\r\n")


def test_progress_that_redraws_itself() -> None:
    assert Console().feed(REDRAWN) == ["[  1/228] alloc/mix:order9", "[  2/228] map 3 s left",
                                       "median"]
    assert plain("old\rnew\r") == "new"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_screen_of_a_terminal_overwrites_progress() -> None:
    stream = Terminal()
    screen = Screen(stream)
    for text in ("[1/2] a", "[2/2] b", "table", "[x] no progress"):
        screen.show(text)
    assert stream.getvalue() == ("\r\x1b[K[1/2] a\r\x1b[K[2/2] b\r\x1b[Ktable\n"
                                 "[x] no progress\n")


def test_screen_of_a_file_gets_progress_seldom() -> None:
    stream = io.StringIO()
    now = [0.0]
    screen = Screen(stream, clock=lambda: now[0])
    for at, text in ((0.0, "[1/4] a"), (1.0, "[2/4] b"), (1.5, "table"), (2.5, "[3/4] c"),
                     (4.0, "[4/4] d")):
        now[0] = at
        screen.show(text)
    assert stream.getvalue() == "[1/4] a\ntable\n[3/4] c\n"
