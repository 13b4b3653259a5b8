# SPDX-License-Identifier: Apache-2.0
"""QEMU: its command line and its process."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .arch import ARCHITECTURES
from .console import Console
from .dtb import without_coherent_pci
from .errors import GuestError, UsageError, checked, one_of
from .machine import TARGET_FILE, Machine, target_arguments
from .process import die_with_parent
from .qmp import Monitor

CLOCKS = {"instructions": ("-icount", "shift=0,sleep=off"), "emulated": ()}

# nokaslr: the same addresses, so the same instructions, in every boot.
# randomize_kstack_offset: memset() of a structure on the kernel's stack takes
# more or less instructions by its alignment, which would be another for every
# system call. cryptomgr.notests: self-tests run for seconds after boot and take
# every other tick from whoever is measured.
# oops=panic, panic=-1: an oops ends the boot at once. A warning does not: the
# run goes on, so that the log shows what follows, and fails at its end.
KERNEL_ARGUMENTS = ("nokaslr", "randomize_kstack_offset=off", "cryptomgr.notests",
                    "printk.time=1", "ignore_loglevel", "oops=panic", "panic=-1")

# Every boot begins at this date: the kernel seeds its random numbers with it,
# and they decide where allocations land. Real dates are put in afterwards.
GUEST_DATE = "2026-01-01T00:00:00"

GRACE_AFTER_FATAL = 10.0  # seconds for a dying kernel to finish its trace
GRACE_AFTER_INTERRUPT = 120.0  # seconds for a program to write what it has


@dataclass(frozen=True)
class Boot:
    """Files of one boot. `trace` is written only if the machine names events."""

    initramfs: Path
    disk: Path
    trace: Path
    log: Path
    vmlinuz: Path

    @property
    def target(self) -> Path:
        """The drive of targets that are a file."""
        return self.disk.with_name("target.img")

    @property
    def tree(self) -> Path:
        """The device tree of machines that do not take QEMU's."""
        return self.disk.with_name("machine.dtb")


@functools.cache
def version(binary: str) -> str:
    """The first line of --version."""
    return checked([binary, "--version"], what="QEMU").splitlines()[0]


@functools.cache
def trace_events(binary: str) -> frozenset[str]:
    """Trace events this QEMU has."""
    return frozenset(checked([binary, "-trace", "help"], what="QEMU's trace events").split())


def board(machine: Machine) -> list[str]:
    """QEMU's arguments that decide its device tree."""
    return [*machine.qemu, "-cpu", machine.cpu, "-smp", str(machine.cpus), "-m", machine.memory]


def write_tree(machine: Machine, boot: Boot) -> None:
    """The device tree of a machine that is not coherent, made from QEMU's own."""
    checked([ARCHITECTURES[machine.arch].qemu, "-nodefaults", "-no-user-config", "-display", "none",
             *board(machine), "-machine", f"dumpdtb={boot.tree}"], what="QEMU's device tree")
    boot.tree.write_bytes(without_coherent_pci(boot.tree.read_bytes()))


def command_line(machine: Machine, boot: Boot, clock: str, append: Sequence[str]) -> list[str]:
    """QEMU's arguments for a boot."""
    if clock not in CLOCKS:
        raise UsageError(f"clock '{clock}': allowed are {one_of(CLOCKS)}")
    if clock == "instructions" and machine.cpus != 1:
        raise UsageError(f"machine '{machine.name}': cpus = {machine.cpus} needs --clock emulated: "
                         "-icount runs one CPU")
    arch = ARCHITECTURES[machine.arch]
    arguments = [
        arch.qemu, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
        "-monitor", "none", *board(machine), *CLOCKS[clock], "-seed", "1",
        "-rtc", f"base={GUEST_DATE},clock=vm",
        "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
        *(word.replace(TARGET_FILE, str(boot.target)) for word in target_arguments(machine.target)),
        # Without iommu_platform virtio uses guest addresses: nothing of the
        # output disk goes through the IOMMU that is counted.
        "-drive", f"if=none,id=output,format=raw,file={boot.disk}",
        "-device", "virtio-blk-pci,addr=05.0,drive=output",
        "-kernel", str(boot.vmlinuz), "-initrd", str(boot.initramfs),
        "-append", " ".join((f"console={arch.console}", *KERNEL_ARGUMENTS,
                             *(arch.icount_arguments if clock == "instructions" else ()),
                             *machine.append, *append))]
    if not machine.dma_coherent:
        arguments += ["-dtb", str(boot.tree)]
    if machine.trace:
        known = trace_events(arch.qemu)
        for event in (arch.console_event, *machine.trace):
            if event not in known:
                raise GuestError(f"machine '{machine.name}': {version(arch.qemu)} has no trace event "
                                 f"'{event}'")
            arguments += ["-trace", event]
        arguments += ["-D", str(boot.trace)]
    return arguments


def shown_command(arguments: Sequence[str], boot: Boot) -> list[str]:
    """The command with this host's paths replaced by their last part."""
    shown = list(arguments)
    for path in (boot.initramfs, boot.disk, boot.target, boot.tree, boot.trace, boot.vmlinuz):
        shown = [re.sub(re.escape(str(path)) + r"(?![^,])", path.name, word) for word in shown]
    return shown


class Interrupts:
    """Counts Ctrl-C and SIGTERM instead of dying of them."""

    def __init__(self) -> None:
        self.count = 0

    def _note(self, _signal: int, _frame: object) -> None:
        self.count += 1

    @contextlib.contextmanager
    def watched(self) -> Iterator[Interrupts]:
        """While the context lasts."""
        before = {number: signal.signal(number, self._note)
                  for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass
class Ending:
    """How a boot ended: QEMU's exit code, or why it was killed."""

    code: int
    seconds: float
    killed: str = ""
    interrupted: bool = False


def boot(arguments: Sequence[str], log: Path, console: Console, timeout: float,
         show: Callable[[str], None]) -> Ending:
    """Runs QEMU to its end, by itself or by `timeout` seconds.

    The first Ctrl-C is passed to the guest's program, the second ends QEMU.
    """
    begin = time.monotonic()
    ending = Ending(0, 0.0)
    with (Interrupts().watched() as interrupts, open(log, "wb") as logged,
          contextlib.closing(Monitor()) as monitor):
        # A session of its own: the terminal's Ctrl-C is ours to pass on.
        with subprocess.Popen([*arguments, *monitor.arguments()], pass_fds=(monitor.inherited,),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, start_new_session=True,
                              preexec_fn=die_with_parent) as process:
            monitor.started()
            try:
                _follow(process, logged, console, monitor, interrupts, begin + timeout, ending,
                        show)
            finally:
                if process.poll() is None:
                    process.kill()
    ending.code = process.returncode
    ending.seconds = time.monotonic() - begin
    if ending.killed == "timeout":
        ending.killed = f"no end within {timeout:.0f} s"
    return ending


def _follow(process: subprocess.Popen[bytes], logged: object, console: Console,
            monitor: Monitor, interrupts: Interrupts, deadline: float, ending: Ending,
            show: Callable[[str], None]) -> None:
    assert process.stdout is not None and process.stdin is not None
    output = process.stdout.fileno()
    reason = "timeout"
    passed = 0
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while True:
            if interrupts.count > passed:
                passed = interrupts.count
                ending.interrupted = True
                if passed > 1 or not console.running:
                    ending.killed = "interrupted"
                    return
                show("interrupted: asking the guest's program to stop (again: end the guest)")
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write(b"\x03")
                    process.stdin.flush()
                if time.monotonic() + GRACE_AFTER_INTERRUPT < deadline:
                    deadline = time.monotonic() + GRACE_AFTER_INTERRUPT
                    reason = "the program did not stop when asked"
            if selector.select(timeout=0.2):
                data = os.read(output, 1 << 16)
                if not data:
                    break
                logged.write(data)  # type: ignore[attr-defined]
                logged.flush()  # type: ignore[attr-defined]
                was_fatal = console.fatal
                for line in console.feed(data.decode("utf-8", errors="replace")):
                    show(line)
                while console.requests:
                    answer = monitor.execute(console.requests.pop(0))
                    with contextlib.suppress(BrokenPipeError):
                        process.stdin.write(answer.encode() + b"\n")
                        process.stdin.flush()
                if console.fatal and not was_fatal:
                    if time.monotonic() + GRACE_AFTER_FATAL < deadline:
                        deadline = time.monotonic() + GRACE_AFTER_FATAL
                        reason = "the kernel failed"
            if time.monotonic() > deadline:
                ending.killed = reason
                return
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=5)
