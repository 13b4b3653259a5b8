# SPDX-License-Identifier: Apache-2.0
"""Real boots: failures are seen, an interrupt keeps what there is, nothing stays behind.

Each takes some seconds and needs QEMU, the cross compiler and a cached kernel,
so they run only when PAGEMIX_BOOT_TESTS is set (ctest label guest).
"""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[4]
CACHE = os.environ.get("PAGEMIX_CACHE")  # before the fixture for all tests hides it

pytestmark = pytest.mark.skipif("PAGEMIX_BOOT_TESTS" not in os.environ,
                                reason="PAGEMIX_BOOT_TESTS is not set")


@dataclass
class Done:
    """A finished pagemix-guest."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def real_cache(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """These need the user's kernel and builds; boots that fail leave their logs there."""
    if CACHE is None:
        monkeypatch.delenv("PAGEMIX_CACHE")
    else:
        monkeypatch.setenv("PAGEMIX_CACHE", CACHE)


def qemus_of(parent: int) -> list[int]:
    """Live QEMU processes that process started."""
    found = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    return [int(line.split()[0]) for line in found
            if "qemu" in line and int(line.split()[1]) == parent]


def guest(*arguments: str, signals: tuple[signal.Signals, ...] = ()) -> Done:
    """Runs pagemix-guest; sends the signals, one second apart, when the guest says 'ready'."""
    process = subprocess.Popen([sys.executable, str(SOURCE / "guest/pagemix-guest"), *arguments],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    err: list[str] = []
    reader = threading.Thread(target=lambda: err.extend(process.stderr or ()))
    reader.start()
    out = []
    for line in process.stdout:
        out.append(line)
        if line == "ready\n":
            assert qemus_of(process.pid) or signals == ()
            for number in signals:
                process.send_signal(number)
                time.sleep(1)
    code = process.wait(timeout=120)
    reader.join()
    assert qemus_of(process.pid) == []
    return Done(code, "".join(out), "".join(err))


BOOT = ("exec", "--machine", "smmuv3", "--no-build", "--timeout", "120")


def test_exit_code_output_and_files_come_back(tmp_path: Path) -> None:
    out = tmp_path / "new"
    done = guest(*BOOT, "--out", str(out), "--", "sh", "-c",
                 "echo 'two  words'; mkdir /out/sub; echo 1 >/out/sub/x; exit 7",
                 "--then", "echo", "never")
    assert (done.code, done.out) == (7, "two  words\n")
    assert (out / "sub/x").read_text(encoding="utf-8") == "1\n"
    assert "reboot: Power down" in (out / "console.log").read_text(encoding="utf-8")
    assert "command 1 of 2 ended with 7" in done.err


def test_commands_run_one_after_the_other() -> None:
    done = guest(*BOOT, "--", "echo", "it's", "--then", "sh", "-c", "tty; cat /proc/cmdline")
    assert done.code == 0
    first, terminal, arguments = done.out.splitlines()
    assert (first, terminal) == ("it's", "/dev/ttyAMA0")
    assert "nokaslr" in arguments and "iommu.strict=1" in arguments


def test_one_tick_is_one_instruction_and_boots_repeat() -> None:
    """The counter's frequency; a boot takes the same instructions again.

    Mostly to parts in 10^5; where the guest waits, a boot may be some timer ticks
    of 4 ms off.
    """
    stamp = r"dmesg | sed -n 's/^\[ *\([0-9.]*\)\] pagemix: loading.*/\1/p'"
    one, two = (guest(*BOOT, "--", "sh", "-c", f"dmesg | grep -o 'running at .*Hz'; date +%F;{stamp}")
                for _ in range(2))
    frequency, day, first = one.out.splitlines()
    assert (frequency, day) == ("running at 1000.00MHz", "2026-01-01")
    assert float(two.out.splitlines()[2]) == pytest.approx(float(first), abs=0.02)


def test_panic_fails_with_the_log() -> None:
    done = guest(*BOOT, "--", "sh", "-c", "echo c >/proc/sysrq-trigger")
    assert done.code == 1
    assert "the guest's kernel reported" in done.err
    assert "sysrq" in done.err and "console.log" in done.err


def test_warning_fails_though_the_command_is_happy() -> None:
    done = guest(*BOOT, "--", "sh", "-c", "echo '<4>WARNING: CPU: 0 PID: 1 at x.c:1' >/dev/kmsg")
    assert done.code == 1
    assert "reported: [" in done.err and "WARNING: CPU: 0 PID: 1 at x.c:1" in done.err


def test_hang_is_ended() -> None:
    done = guest("exec", "--machine", "smmuv3", "--no-build", "--timeout", "30", "--", "sh", "-c",
                 "echo hanging; while :; do :; done")
    assert done.code == 1
    assert "no end within 30 s" in done.err


def test_interrupt_reaches_the_program_and_keeps_its_files(tmp_path: Path) -> None:
    out = tmp_path / "new"
    done = guest(*BOOT, "--out", str(out), "--", "sh", "-c",
                 "trap 'echo stopping; echo part >/out/part; exit 0' INT; echo ready;"
                 " while :; do :; done", signals=(signal.SIGINT,))
    assert done.code == 130
    assert done.out.splitlines()[-1] == "stopping"
    assert (out / "part").read_text(encoding="utf-8") == "part\n"


def test_second_interrupt_ends_qemu() -> None:
    done = guest(*BOOT, "--", "sh", "-c", "trap '' INT; echo ready; while :; do :; done",
                 signals=(signal.SIGINT, signal.SIGTERM))
    assert done.code == 1
    assert "interrupted" in done.err


def test_killed_host_program_leaves_no_qemu() -> None:
    process = subprocess.Popen([sys.executable, str(SOURCE / "guest/pagemix-guest"), *BOOT, "--",
                                "sh", "-c", "echo ready; while :; do :; done"],
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    qemu, = qemus_of(process.pid)
    process.kill()
    process.wait()
    for _ in range(50):
        if not Path(f"/proc/{qemu}").exists():
            return
        time.sleep(0.1)
    pytest.fail(f"QEMU {qemu} outlived the program that started it")


def test_missing_result_is_a_failure(tmp_path: Path) -> None:
    done = guest("run", "--machine", "smmuv3", "--no-build", "--out", str(tmp_path / "new"), "--",
                 "true")
    assert done.code == 1
    assert "left no /out/run.json" in done.err


@pytest.mark.parametrize(("arguments", "part"), [
    (("exec", "--machine", "smmuv2", "--", "true"), "machine 'smmuv2'"),
    (("exec", "--machine", "smmuv3"), "no command"),
    (("exec", "--machine", "smmuv3", "--", "a", "--then"), "--then"),
    (("exec", "--machine", "smmuv3", "--clock", "sundial", "--", "true"), "instructions"),
    (("exec", "--machine", "smmuv3", "--target", "gpu", "--", "true"), "edu, nvme"),
    (("exec", "--machine", "smmuv3", "--timeout", "0", "--", "true"), "1 to 86400"),
    (("exec", "--machine", "smmuv3", "--no-build", "--add", "no-such-program", "--", "true"),
     "'no-such-program'"),
    (("exec", "--machine", "smmuv3", "--no-build", "--module", "nope", "--", "true"),
     "no module 'nope'"),
    (("exec", "--machine", "smmuv3", "--no-build", "--add", "/etc/passwd:rel", "--", "true"),
     "must start with '/'"),
])
def test_bad_input(arguments: tuple[str, ...], part: str) -> None:
    done = guest(*arguments)
    assert done.code in (1, 2)
    assert part in done.err and "Traceback" not in done.err
