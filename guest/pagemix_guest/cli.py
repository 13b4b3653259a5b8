# SPDX-License-Identifier: Apache-2.0
"""Command line of pagemix-guest."""

from __future__ import annotations

import argparse
import re
import shlex
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from . import arch as archs
from . import build, fragments, kernel, kernel_build
from .errors import GuestError, UsageError
from .machine import TARGETS, load_machine, machine_names
from .qemu import CLOCKS
from .run import Request, execute, say

MACHINES = build.SOURCE / "configs" / "machines"

EPILOG = """\
After `--` comes the command of the guest; `--then` starts a further one, which
runs in the same boot if the one before ended with 0. Exit code: that of the
last command; 1 if the guest failed; 2 for bad input.

A `pagemix run` gets --out /out, --machine, --clock and --marker by itself.
"""

LOCAL_FLAGS = ("--no-build", "--keep", "--verbose", "--quiet")


def parser() -> argparse.ArgumentParser:
    """The options, also the source of --help."""
    top = argparse.ArgumentParser(
        prog="pagemix-guest", allow_abbrev=False,
        description="Fetches kernels, builds pagemix and boots it in QEMU.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    kernels = commands.add_parser("kernel", help="kernels in the cache")
    actions = kernels.add_subparsers(dest="action", required=True, metavar="ACTION")
    fetch = actions.add_parser("fetch", help="download Debian's newest kernel of a version")
    fetch.add_argument("--arch", default=archs.DEFAULT, help="default: %(default)s")
    fetch.add_argument("--kernel", default=kernel.DEFAULT_KERNEL, metavar="VERSION",
                       help="default: %(default)s")
    fetch.add_argument("--headers-only", action="store_true",
                       help="only what building a module needs")
    fetch.add_argument("--refresh", action="store_true",
                       help="look for a newer one even if one is cached")

    make = actions.add_parser(
        "build", help="build a kernel of our own: Debian's source, a configuration of configs/kernel/")
    make.add_argument("name", nargs="?", default=fragments.BASE, metavar="NAME",
                      help=f"{', '.join(fragments.names())}; default: %(default)s")
    make.add_argument("--source", default="", metavar="VERSION",
                      help="of Debian's linux-source package; default: "
                      f"{kernel_build.DEFAULT_SOURCE}, else the newest there is")
    make.add_argument("--jobs", type=int, default=0, metavar="N",
                      help="compilers at a time; default: one a CPU")

    path = actions.add_parser("path", help="print the folder of a cached kernel, or fail")
    path.add_argument("kernel", metavar="VERSION|NAME", help="Debian's, or a built one: "
                      + ", ".join(fragments.names()))
    path.add_argument("--arch", default=archs.DEFAULT, help="default: %(default)s")

    builds = commands.add_parser("build", help="build the program and the module")
    builds.add_argument("--arch", default=archs.DEFAULT, help="default: %(default)s")
    builds.add_argument("--kernel", default=kernel.DEFAULT_KERNEL, metavar="VERSION",
                        help=f"Debian's, or a built one: {', '.join(fragments.names())}; "
                        "default: %(default)s")
    builds.add_argument("--lint", action="store_true",
                        help="only the module, with W=1 and sparse: a warning fails")
    builds.add_argument("targets", nargs="*", metavar="TARGET",
                        help="CMake targets besides the program, such as tests/in_guest's programs")

    commands.add_parser("machines", help="list the machines")

    for name, text in (("run", "boot, run a command, bring its /out/run.json back"),
                       ("exec", "the same for a command that leaves no run.json")):
        sub = commands.add_parser(name, help=text, epilog=EPILOG, allow_abbrev=False,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
        sub.add_argument("--machine", required=True, metavar="NAME",
                         help="one of " + ", ".join(machine_names(MACHINES)))
        sub.add_argument("--clock", default="instructions", metavar="KIND",
                         help=f"{' or '.join(CLOCKS)}; default: %(default)s")
        sub.add_argument("--target", metavar="DEVICE[,PROPERTY=VALUE...] ...",
                         help=f"{', '.join(TARGETS)}, with further properties of the QEMU "
                         "device; default: the machine's")
        sub.add_argument("--kernel", metavar="VERSION",
                         help=f"Debian's, or a built one: {', '.join(fragments.names())}; "
                         "default: the machine's")
        sub.add_argument("--memory", metavar="SIZE", help="such as 1G; default: the machine's")
        sub.add_argument("--cpus", metavar="NUMBER", help="default: the machine's; more than one "
                         "needs --clock emulated")
        sub.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS",
                         help="of the whole boot; default: %(default)g")
        sub.add_argument("--out", type=Path, metavar="DIR",
                         help="a new folder for results" +
                         ("; default: out/<machine>" if name == "run" else ""))
        sub.add_argument("--append", action="append", default=[], metavar="ARGUMENTS",
                         help="further kernel arguments")
        sub.add_argument("--add", action="append", default=[], metavar="FILE[:GUESTPATH]",
                         help="a file, or an executable of the build by its target's "
                         "name, which is then built; default path: /bin")
        sub.add_argument("--module", action="append", default=[], metavar="NAME",
                         help="a further kernel module to load")
        sub.add_argument("--trace", action="append", default=[], metavar="EVENT",
                         help="a further trace event of QEMU to write down; see --keep")
        sub.add_argument("--expect-kernel", action="append", default=[], metavar="REGEX",
                         help="a kernel message that is no failure, and that has to come")
        sub.add_argument("--no-build", action="store_true", help="use the program as last built")
        sub.add_argument("--keep", action="store_true", help="keep trace (of run), disk and initramfs")
        sub.add_argument("--verbose", action="store_true", help="show the kernel's messages too")
        sub.add_argument("--quiet", action="store_true", help="show progress lines only")
    return top


def split_commands(words: Sequence[str]) -> list[list[str]]:
    """The guest's commands: separated by --then, each with at least one word."""
    commands: list[list[str]] = [[]]
    for word in words:
        if word == "--then":
            commands.append([])
        else:
            commands[-1].append(word)
    if not all(commands):
        raise UsageError("no command for the guest: give one after '--' and after each '--then'")
    return commands


def reproducing(arguments: Sequence[str]) -> list[str]:
    """The command line that gives the same run: without what only matters here and now."""
    at = arguments.index("--")
    words = []
    skip = False
    for word in arguments[:at]:
        if skip:
            skip = False
        elif word == "--out":
            skip = True
        elif word not in LOCAL_FLAGS and not word.startswith("--out="):
            words.append(word)
    return ["guest/pagemix-guest", *words, *arguments[at:]]


def request_of(options: argparse.Namespace, words: Sequence[str],
               host_command: Sequence[str]) -> Request:
    """A checked request from the options of run or exec."""
    if options.clock not in CLOCKS:
        raise UsageError(f"--clock '{options.clock}': allowed are {', '.join(CLOCKS)}")
    if not 1 <= options.timeout <= 86400:
        raise UsageError(f"--timeout {options.timeout:g}: allowed are 1 to 86400 seconds")
    machine = load_machine(MACHINES, options.machine)
    machine = machine.changed(options.target, options.kernel, options.module)
    if options.memory is not None:
        if not re.fullmatch("[1-9][0-9]*[MG]", options.memory):
            raise UsageError(f"--memory '{options.memory}': allowed are sizes such as 512M or 1G")
        machine = replace(machine, memory=options.memory)
    if options.cpus is not None:
        if not re.fullmatch("[1-8]", options.cpus):
            raise UsageError(f"--cpus '{options.cpus}': allowed are 1 to 8")
        machine = replace(machine, cpus=int(options.cpus))
    try:
        expected = tuple(re.compile(text) for text in options.expect_kernel)
    except re.error as error:
        raise UsageError(f"--expect-kernel: {error}") from error
    is_run = options.command == "run"
    for event in options.trace:
        if not re.fullmatch("[a-z][a-z0-9_]*", event):
            raise UsageError(f"--trace '{event}': allowed are names of QEMU's trace events, such "
                             "as smmu_ptw_page_pte")
    # Nobody counts the events of exec, and writing them slows the devices.
    machine = replace(machine, trace=(*(machine.trace if is_run else ()), *options.trace))
    out = options.out or (Path("out") / machine.name if is_run else None)
    return Request(
        machine=machine, commands=split_commands(words),
        clock=options.clock, timeout=options.timeout, out=out,
        append=[word for text in options.append for word in shlex.split(text)],
        add=options.add, expected=expected, build=not options.no_build, keep=options.keep,
        verbose=options.verbose, quiet=options.quiet, needs_result=is_run,
        host_command=reproducing(host_command))


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    # As Ctrl-C, so that what is half made is removed then too. Where SIGINT is
    # ignored, as in a background job of a script, Python leaves it so.
    signal.signal(signal.SIGTERM, _interrupt)
    given = list(sys.argv[1:] if arguments is None else arguments)
    at = given.index("--") if "--" in given else len(given)
    options = parser().parse_args(given[:at])
    try:
        if options.command in ("run", "exec"):
            return execute(request_of(options, given[at + 1:], given))
        if given[at:]:
            raise UsageError(f"'{options.command}' takes no command after '--'")
        return _other(options)
    except GuestError as error:
        print(f"pagemix-guest: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("pagemix-guest: interrupted", file=sys.stderr)
        return 130


def _other(options: argparse.Namespace) -> int:
    if options.command == "machines":
        for name in machine_names(MACHINES):
            print(f"{name:16} {load_machine(MACHINES, name).description}")
    elif options.command == "kernel" and options.action == "build":
        print(kernel_build.build(options.name, options.source, jobs=options.jobs, say=say).folder)
    elif options.command == "kernel" and options.action == "path":
        print(kernel.find(options.arch, options.kernel).folder)
    elif options.command == "kernel":
        found = kernel.fetch(options.arch, options.kernel, headers_only=options.headers_only,
                             refresh=options.refresh, say=say)
        print(found.folder)
    elif options.lint:
        if options.targets:
            raise UsageError(f"--lint: builds the module only, not '{options.targets[0]}'")
        found = kernel.fetch(options.arch, options.kernel, headers_only=True, say=say)
        print(build.lint_module(found, say))
    else:
        found = kernel.fetch(options.arch, options.kernel, say=say)
        print(build.build_program(options.arch, options.targets))
        print(build.build_module(found, say))
    return 0
