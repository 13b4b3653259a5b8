# SPDX-License-Identifier: Apache-2.0
"""The shared libraries that a guest's program needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from .arch import ARCHITECTURES
from .errors import GuestError, checked

NEEDED = re.compile(r"\(NEEDED\)\s+Shared library: \[([^\]]+)\]")
INTERPRETER = re.compile(r"Requesting program interpreter: ([^\]]+)\]")


def tool(arch: str, name: str) -> str:
    """A binutils or gcc program for the architecture."""
    return f"{ARCHITECTURES[arch].triplet}-{name}"


def library_folders(arch: str) -> list[Path]:
    """Where Debian puts libraries of the architecture: packages, then the cross compiler's."""
    triplet = ARCHITECTURES[arch].triplet
    return [Path("/usr/lib") / triplet, Path("/lib") / triplet, Path("/usr") / triplet / "lib"]


def is_elf(path: Path) -> bool:
    """Whether a file starts as an ELF one."""
    with open(path, "rb") as handle:
        return handle.read(4) == b"\x7fELF"


def closure(programs: Iterable[Path], arch: str,
            folders: Sequence[Path] | None = None) -> dict[str, Path]:
    """File name -> file of every library the ELF programs need, the loader included."""
    where = library_folders(arch) if folders is None else folders
    found: dict[str, Path] = {}
    todo = list(programs)
    while todo:
        program = todo.pop()
        text = checked([tool(arch, "readelf"), "-W", "-d", "-l", str(program)],
                       what=f"libraries of {program}")
        names = NEEDED.findall(text)
        names += [Path(name).name for name in INTERPRETER.findall(text)]
        for name in names:
            if name in found:
                continue
            path = next((folder / name for folder in where if (folder / name).is_file()), None)
            if path is None:
                raise GuestError(f"{program} needs {name}, which is in none of "
                                 f"{', '.join(map(str, where))}")
            found[name] = path
            todo.append(path)
    return found
