# SPDX-License-Identifier: Apache-2.0
"""Machine files: configs/machines/<name>.ini, one [machine] section each."""

from __future__ import annotations

import configparser
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from . import fragments
from .arch import ARCHITECTURES
from .errors import UsageError, one_of

TARGET_FILE = "@target-file@"  # replaced by the boot's file

# The devices that are measured. The first of a machine has the second slot of
# the root bus, so it is 0000:00:02.0 everywhere; further ones follow it.
TARGETS = {
    # edu's own default mask, 28 bits, would force bounce buffers.
    "edu": ("-device", "edu,addr=02.0,dma_mask=0xffffffffffffffff"),
    "nvme": ("-drive", "if=none,id=target,driver=null-co,read-zeroes=on,size=8G",
             "-device", "nvme,addr=02.0,serial=pagemix,drive=target"),
    # A file that holds pattern.py's bytes, and which a guest may write to.
    "nvme-file": ("-drive", f"if=none,id=target,format=raw,file={TARGET_FILE}",
                  "-device", "nvme,addr=02.0,serial=pagemix,drive=target"),
    # In a slot of its own, where it can be unplugged and plugged: 0000:01:00.0.
    # A -drive would go with the device when it is unplugged.
    "nvme-slot": ("-blockdev", "driver=null-co,node-name=target,read-zeroes=on,size=8589934592",
                  "-device", "pcie-root-port,id=socket,addr=02.0,chassis=1,slot=1",
                  "-device", "nvme,id=target,bus=socket,serial=pagemix,drive=target"),
    # A display whose DRM driver imports dma-bufs; it needs --module cirrus, and no
    # BIOS, which is in another package.
    "cirrus": ("-device", "cirrus-vga,addr=02.0,romfile="),
}
MAX_TARGETS = 3  # slots 2 to 4; the output disk has the fifth


def target_arguments(targets: str) -> list[str]:
    """QEMU's arguments of each NAME[,property=value...]; the properties go to the device."""
    words: list[str] = []
    for slot, target in enumerate(targets.split(), start=2):
        name, _, properties = target.partition(",")
        arguments = [word.replace("addr=02.0", f"addr={slot:02d}.0") for word in TARGETS[name]]
        if properties:
            arguments[-1] += "," + properties
        words += arguments
    return words


def uses_target_file(target: str) -> bool:
    """Whether the target needs the boot's file of pattern.py's bytes."""
    return any(TARGET_FILE in word for word in target_arguments(target))


def check_targets(targets: str) -> None:
    """UsageError unless it is one to three words that check_target() takes, at most one a drive."""
    words = targets.split()
    if not 1 <= len(words) <= MAX_TARGETS:
        raise UsageError(f"target '{targets}': allowed are 1 to {MAX_TARGETS} of {one_of(TARGETS)}")
    for word in words:
        check_target(word)
    names = [word.partition(",")[0] for word in words]
    if len(set(names)) != len(names) or sum(
            "drive=target" in TARGETS[name][-1] for name in names) > 1:
        raise UsageError(f"target '{targets}': each once, and one drive at most")


def check_target(target: str) -> None:
    """UsageError unless it is NAME[,property=value...] of a known name."""
    name, comma, properties = target.partition(",")
    if name not in TARGETS:
        raise UsageError(f"target '{name}': allowed are {one_of(TARGETS)}")
    if comma and not re.fullmatch(r"([a-z][a-z0-9_.-]*=[^,\s]+)(,[a-z][a-z0-9_.-]*=[^,\s]+)*",
                                  properties):
        raise UsageError(f"target '{target}': after the name only property=value, by commas")


KEYS = {
    "description": "one line for people",
    "arch": one_of(ARCHITECTURES),
    "kernel": f"version of Debian's kernel, such as 6.12, or {one_of(fragments.names())}",
    "cpu": "QEMU's -cpu",
    "cpus": "1..8; more than 1 only with --clock emulated",
    "memory": "QEMU's -m with unit, such as 2G",
    "qemu": "further QEMU arguments",
    "target": f"one or more of {one_of(TARGETS)}",
    "dma_coherent": "yes or no: whether devices snoop the CPU's caches; default yes",
    "append": "further kernel arguments",
    "modules": "kernel modules to load, in order",
    "trace": "QEMU trace events to count",
}
OPTIONAL = {"description", "cpus", "qemu", "dma_coherent", "append", "modules", "trace"}


@dataclass(frozen=True)
class Machine:
    """A machine as its file describes it."""

    name: str
    arch: str
    kernel: str
    cpu: str
    memory: str
    target: str
    description: str = ""
    cpus: int = 1
    qemu: tuple[str, ...] = ()
    dma_coherent: bool = True
    append: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    trace: tuple[str, ...] = ()

    def changed(self, target: str | None, kernel: str | None, modules: Sequence[str]) -> Machine:
        """The machine with another target or kernel (None keeps it) and further modules."""
        if target is not None:
            check_targets(target)
        return replace(self, target=target or self.target, kernel=kernel or self.kernel,
                       modules=(*self.modules, *modules))


def machine_names(folder: Path) -> list[str]:
    """The machines there are."""
    return sorted(path.stem for path in folder.glob("*.ini"))


def load_machine(folder: Path, name: str) -> Machine:
    """Reads folder/<name>.ini; every key is checked."""
    if name not in machine_names(folder):
        raise UsageError(f"machine '{name}': {folder} has {one_of(machine_names(folder))}")
    return parse_machine((folder / f"{name}.ini").read_text(encoding="utf-8"), name,
                         folder / f"{name}.ini")


def parse_machine(text: str, name: str, path: Path) -> Machine:
    """A machine from the text of its file; `path` is only for messages."""
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",),
                                       comment_prefixes=("#",))
    try:
        parser.read_string(text, source=str(path))
    except configparser.Error as error:
        raise UsageError(f"{path}: {error}") from error
    for section in parser.sections():
        if section != "machine":
            raise UsageError(f"{path}: section '[{section}]': only [machine] is allowed")
    if not parser.has_section("machine"):
        raise UsageError(f"{path}: no [machine] section")
    values = {key: value.strip() for key, value in parser["machine"].items()}
    for key in values:
        if key not in KEYS:
            raise UsageError(f"{path}: key '{key}': allowed are {one_of(KEYS)}")
    for key in KEYS:
        if not values.get(key) and (key not in OPTIONAL or values.get(key) == "" and key == "cpus"):
            raise UsageError(f"{path}: key '{key}' is missing or empty: {KEYS[key]}")
    _match(path, values, "arch", "|".join(ARCHITECTURES))
    _match(path, values, "kernel", r"[0-9]+\.[0-9]+[0-9a-z.+~-]*|" + "|".join(fragments.names()))
    _match(path, values, "memory", r"[1-9][0-9]*[MG]")
    try:
        check_targets(values["target"])
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    _match(path, values, "cpus", "[1-8]", "1")
    _match(path, values, "dma_coherent", "yes|no", "yes")
    for key in ("modules", "trace"):
        for word in values.get(key, "").split():
            if not re.fullmatch(r"[A-Za-z0-9_-]+", word):
                raise UsageError(f"{path}: {key}: '{word}' is no name")
    try:
        qemu = tuple(shlex.split(values.get("qemu", "")))
    except ValueError as error:
        raise UsageError(f"{path}: qemu = {values['qemu']}: {error}") from error
    return Machine(name=name, arch=values["arch"], kernel=values["kernel"], cpu=values["cpu"],
                   memory=values["memory"], target=values["target"],
                   description=values.get("description", ""), cpus=int(values.get("cpus", "1")),
                   qemu=qemu, dma_coherent=values.get("dma_coherent", "yes") == "yes",
                   append=tuple(values.get("append", "").split()),
                   modules=tuple(values.get("modules", "").split()),
                   trace=tuple(values.get("trace", "").split()))


def _match(path: Path, values: dict[str, str], key: str, pattern: str,
           default: str | None = None) -> None:
    value = values.get(key, default)
    if value is None or not re.fullmatch(pattern, value):
        raise UsageError(f"{path}: {key} = {value}: allowed: {KEYS[key]}")
