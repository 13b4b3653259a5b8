# SPDX-License-Identifier: Apache-2.0
"""One boot, from the commands to the result folder."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .arch import ARCHITECTURES
from .build import PROGRAM, SOURCE, build_module, build_program, find_executable
from .cache import cache_root
from .console import Console, Screen
from .errors import GuestError, UsageError
from .events import Parser, counters_of, merge, missing_columns
from .image import Added, Content, build_image
from .kernel import fetch
from .machine import Machine, uses_target_file
from .pattern import write_pattern
from .qemu import (GUEST_DATE, Boot, Ending, boot, command_line, shown_command, version,
                   write_tree)

CLOCK_KINDS = {"instructions": "instructions", "emulated": "emulated-ns"}
DISK_BYTES = 1 << 30  # sparse; only what /out holds is written


@dataclass
class Request:
    """What the command line asks for."""

    machine: Machine
    commands: list[list[str]]
    clock: str = "instructions"
    timeout: float = 600.0
    out: Path | None = None
    append: list[str] = field(default_factory=list)
    add: list[str] = field(default_factory=list)
    expected: tuple[re.Pattern[str], ...] = ()  # kernel messages that are no failures
    build: bool = True
    keep: bool = False
    verbose: bool = False
    quiet: bool = False
    needs_result: bool = True  # `run`: without a run.json it failed
    host_command: list[str] = field(default_factory=list)


def say(text: str) -> None:
    """Progress goes to stderr: stdout is the guest program's."""
    print(f"guest: {text}", file=sys.stderr, flush=True)


def complete_command(command: Sequence[str], machine: Machine, clock: str) -> list[str]:
    """A `pagemix run` gets the options that only the host knows, unless it has them."""
    done = list(command)
    if done[:2] == ["pagemix", "run"]:
        for option, value in (("--out", "/out"), ("--machine", machine.name),
                              ("--clock", CLOCK_KINDS[clock]),
                              ("--marker", f"/dev/{ARCHITECTURES[machine.arch].console}")):
            if not any(word == option or word.startswith(option + "=") for word in done):
                done += [option, value]
    return done


def build_targets(added: Sequence[str]) -> list[str]:
    """Which of the --add values name executables to build instead of files."""
    names = [text.partition(":")[0] for text in added]
    return [name for name in names if "/" not in name and not Path(name).is_file()]


def added_file(text: str, arch: str) -> Added:
    """FILE[:GUESTPATH]; FILE may also name an executable (a CMake target) of the build."""
    name, _, guest = text.partition(":")
    if guest and not guest.startswith("/"):
        raise UsageError(f"--add {text}: the guest path must start with '/'")
    host = Path(name)
    if not host.is_file():
        host = find_executable(arch, name)
    return Added(host, guest or f"/bin/{host.name}")


def make_out(out: Path) -> None:
    """The result folder must be new: old and new results must not mix."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out}: exists and is not an empty folder")
    out.mkdir(parents=True, exist_ok=True)


def execute(request: Request) -> int:
    """Builds, boots, collects. Returns the exit code of the last command that ran."""
    if request.out:
        make_out(request.out)
    machine = request.machine
    kernel = fetch(machine.arch, machine.kernel, say=say)
    if request.build:
        say("building")
        build_program(machine.arch, build_targets(request.add))
    programs = [added_file(text, machine.arch) for text in request.add]
    programs.append(Added(find_executable(machine.arch, f"bench/{PROGRAM}"), f"/bin/{PROGRAM}"))
    content = Content(
        kernel=kernel,
        commands=[complete_command(command, machine, request.clock)
                  for command in request.commands],
        environment={"CONSOLE": ARCHITECTURES[machine.arch].console},
        modules=machine.modules, own_modules=[build_module(kernel, say)], files=programs,
        configs=SOURCE / "configs")
    image = build_image(content)

    folder = cache_root() / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=time.strftime(f"%Y%m%d-%H%M%S-{machine.name}-"),
                                 dir=folder))
    files = Boot(initramfs=work / "initramfs.cpio", disk=work / "output.img",
                 trace=work / "trace.log", log=work / "console.log", vmlinuz=kernel.vmlinuz)
    files.initramfs.write_bytes(image)
    if uses_target_file(machine.target):
        write_pattern(files.target)
    if not machine.dma_coherent:
        write_tree(machine, files)
    with open(files.disk, "wb") as disk:
        disk.truncate(DISK_BYTES)
    try:
        code = _boot_and_collect(request, files)
    except BaseException:
        _clean(files, keep=request.keep, log=True)
        raise
    _clean(files, keep=request.keep, log=False)
    return code


def _clean(files: Boot, *, keep: bool, log: bool) -> None:
    """The trace may be large: of a failed boot only the log stays, unless --keep."""
    if keep:
        say(f"kept {files.log.parent}")
        return
    for path in (files.trace, files.disk, files.target, files.tree, files.initramfs):
        path.unlink(missing_ok=True)
    if not log:
        shutil.rmtree(files.log.parent)


def _boot_and_collect(request: Request, files: Boot) -> int:
    arguments = command_line(request.machine, files, request.clock, request.append)
    console = Console(verbose=request.verbose, quiet=request.quiet, expected=request.expected)
    say(f"booting {request.machine.name}")
    begun = datetime.now(timezone.utc)
    screen = Screen(sys.stdout)
    ending = boot(arguments, files.log, console, request.timeout, screen.show)
    screen.clear()
    problem = problem_of(ending, console)
    results = files.disk.parent / "results"
    try:
        codes = unpack_results(files.disk, results)
    except GuestError as error:
        raise failed(problem or str(error), console, files.log) from error
    out = request.out
    if out is None:
        out = results / "out"
    else:
        shutil.copytree(results / "out", out, dirs_exist_ok=True)
    shutil.copyfile(files.log, out / "console.log")
    if problem:
        # What the program wrote is kept beside the log, but it is no result.
        raise failed(problem, console, files.log)
    for index, code in enumerate(codes):
        if code:
            # With --quiet nobody has seen why.
            for text in console.hidden:
                print(text, file=sys.stderr)
            say(f"command {index + 1} of {len(request.commands)} ended with {code}: "
                + shlex.join(request.commands[index]))
    if len(codes) < len(request.commands) and not any(codes):
        raise failed(f"only {len(codes)} of {len(request.commands)} commands ran", console,
                     files.log)
    if (out / "run.json").is_file():
        join_events(request, files, arguments, out, begun)
    elif request.needs_result and not any(codes):
        raise failed("the command left no /out/run.json", console, files.log)
    if request.out:
        say(f"booted {ending.seconds:.1f} s, results in {request.out}")
    return next((code for code in codes if code), 130 if ending.interrupted else 0)


def problem_of(ending: Ending, console: Console) -> str:
    """Why a boot failed, '' if it did not."""
    if console.failures:
        return "the guest's kernel reported: " + console.failures[0]
    if console.complaints:
        return "the guest could not set up: " + console.complaints[0]
    if ending.killed:
        return f"QEMU was ended: {ending.killed}"
    if ending.code:
        return f"QEMU ended with {ending.code}"
    if console.awaited:
        return f"the guest's kernel did not report '{console.awaited[0]}'"
    return ""


def failed(problem: str, console: Console, log: Path) -> GuestError:
    """The error of a failed boot, with the end of its log."""
    tail = "\n".join(f"  | {line}" for line in console.tail)
    return GuestError(f"{problem}\nlast lines of the guest's log:\n{tail}\nwhole log: {log}")


def unpack_results(disk: Path, folder: Path) -> list[int]:
    """Extracts /out from the output disk; returns the exit code of each command that ran."""
    codes: dict[int, int] = {}
    (folder / "out").mkdir(parents=True)
    try:
        with tarfile.open(disk, "r:") as archive:
            for member in archive:
                path = Path(member.name)
                if path.is_absolute() or ".." in path.parts:
                    raise GuestError(f"the output disk holds the path '{member.name}'")
                if path.parts[:2] == ("run", "guest") and path.name.startswith("exit-"):
                    data = archive.extractfile(member)
                    assert data is not None
                    codes[int(path.name.removeprefix("exit-"))] = int(data.read())
                elif path.parts[:1] == ("out",) and member.isdir():
                    (folder / path).mkdir(parents=True, exist_ok=True)
                elif path.parts[:1] == ("out",) and member.isreg():
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    data = archive.extractfile(member)
                    assert data is not None
                    with open(folder / path, "wb") as copy:
                        shutil.copyfileobj(data, copy)
    except (tarfile.TarError, ValueError) as error:
        raise GuestError(f"the guest left no readable output disk: {error}") from error
    if not codes:
        raise GuestError("the guest's output disk is not complete")
    return [codes[index] for index in sorted(codes)]


def real_dates(run: dict[str, Any], begun: datetime) -> None:
    """Moves the dates in run.json from the guest's calendar, which began at GUEST_DATE."""
    first = datetime.fromisoformat(GUEST_DATE).replace(tzinfo=timezone.utc)
    context = run.get("context", {})
    for where, key in ((context, "date"), (context.get("pagemix", {}), "started")):
        if key in where:
            told = datetime.fromisoformat(where[key].replace("Z", "+00:00"))
            real = (begun + (told - first)).replace(microsecond=0).isoformat()
            where[key] = real.replace("+00:00", "Z") if where[key].endswith("Z") else real


def join_events(request: Request, files: Boot, arguments: Sequence[str], out: Path,
                begun: datetime) -> None:
    """Writes events.json and the counters, the dates and the origin in run.json.

    GuestError, after all that could be joined is written, when the trace has phases of no entry.
    """
    foreign: list[str] = []
    run: dict[str, Any] = json.loads((out / "run.json").read_text(encoding="utf-8"))
    real_dates(run, begun)
    guest = {"qemu_version": version(ARCHITECTURES[request.machine.arch].qemu),
             "qemu_command": shown_command(arguments, files),
             "command": request.host_command}
    run.setdefault("context", {}).setdefault("pagemix", {})["guest"] = guest
    if request.machine.trace:
        say("counting events")
        with open(files.trace, "rb") as trace:
            parser = Parser().read(trace)
        counters = counters_of(request.machine.trace)
        missing = missing_columns(request.machine.trace)
        if missing and any(entry["name"].startswith("use_") for entry in run["benchmarks"]):
            run["context"]["pagemix"].setdefault("skipped", []).append(missing)
        (out / "events.json").write_text(json.dumps(
            {"schema": 1, "counters": counters, **guest, **parser.as_json()}, indent=1) + "\n",
            encoding="utf-8")
        joined = merge(run, parser.phases, counters)
        foreign = joined.foreign
        run["context"]["pagemix"].setdefault("skipped", []).extend(
            {"what": "event counts", "why": why} for why in foreign)
        outside = [problem for problem in parser.problems if problem not in joined.notes]
        for note in [*joined.notes, *outside]:
            say(f"events: {note}")
        if not parser.phases:
            say("events: no phase markers in the trace, so no counts")
    # Whole or not at all, as everything here.
    fresh = out / "run.json.new"
    fresh.write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    fresh.replace(out / "run.json")
    if foreign:
        raise GuestError("events: " + "; ".join(foreign))
