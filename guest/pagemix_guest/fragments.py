# SPDX-License-Identifier: Apache-2.0
"""Kernel configuration fragments, configs/kernel/*.config."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from .errors import GuestError, UsageError, one_of

FOLDER = Path(__file__).resolve().parents[2] / "configs" / "kernel"
ARCH = "arm64"  # of the kernels of our own
BASE = "base"  # every other fragment lies on top of it

# Part of the hash: a new number where kernel_build.py makes another kernel of the same fragments.
RECIPE = 1

LINE = re.compile(r"(?P<name>CONFIG_[A-Za-z0-9_]+)=(?P<value>.+)"
                  r"|# (?P<unset>CONFIG_[A-Za-z0-9_]+) is not set")


@dataclass(frozen=True)
class Configuration:
    """What a kernel of our own is configured from."""

    name: str
    texts: tuple[str, ...]  # of the fragments, later ones win

    @property
    def digest(self) -> str:
        """Changes with every fragment, and where they are read."""
        whole = "\0".join((str(RECIPE), *self.texts))
        return hashlib.sha256(whole.encode()).hexdigest()[:12]

    @property
    def wanted(self) -> dict[str, str]:
        """Symbol to value, 'n' for one that is to be unset."""
        values: dict[str, str] = {}
        for text in self.texts:
            values |= parse(text)
        return values


def names(folder: Path = FOLDER) -> list[str]:
    """Kernels of our own there are, by the name of their fragment."""
    return sorted(path.stem for path in folder.glob("*.config"))


def load(name: str, folder: Path = FOLDER) -> Configuration:
    """The configuration of a name; UsageError for an unknown one or a line that is none."""
    if name not in names(folder):
        raise UsageError(f"kernel configuration '{name}': {folder} has {one_of(names(folder))}")
    texts = []
    for part in dict.fromkeys((BASE, name)):
        path = folder / f"{part}.config"
        texts.append(path.read_text(encoding="utf-8"))
        for number, line in enumerate(texts[-1].splitlines(), start=1):
            if not LINE.fullmatch(line) and line and not line.startswith("# "):
                raise UsageError(f"{path}:{number}: '{line}': allowed are CONFIG_NAME=VALUE, "
                                 "'# CONFIG_NAME is not set', comments and empty lines")
    return Configuration(name, tuple(texts))


def parse(text: str) -> dict[str, str]:
    """The symbols of a fragment or a .config."""
    values = {}
    for line in text.splitlines():
        if match := LINE.fullmatch(line):
            values[match["name"] or match["unset"]] = match["value"] or "n"
    return values


def check(wanted: dict[str, str], config: str) -> None:
    """GuestError that names each symbol of `wanted` which the text of a .config gives otherwise."""
    got = parse(config)
    missed = [f"  {name}={value}, but the kernel's configuration has it "
              + (f"as {got[name]}" if name in got else "not at all")
              for name, value in wanted.items() if got.get(name, "n") != value]
    if missed:
        raise GuestError("these lines of the fragment took no effect (a dependency is missing, or "
                         "this version has no such symbol):\n" + "\n".join(missed))
