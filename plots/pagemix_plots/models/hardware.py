# SPDX-License-Identifier: Apache-2.0
"""Hardware profiles of configs/hardware: what an event costs, and who measured it."""

from __future__ import annotations

import configparser
import math
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass

from ..run import counters
from ..run.fields import RunError

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "configs" / "hardware"
INSTRUCTION = "instruction"
# What a profile may price, and nothing else.
EVENTS = (INSTRUCTION, *(counter.name for counter in counters.KNOWN))


@dataclass(frozen=True)
class Range:
    """Lowest and highest, in nanoseconds or entries."""

    low: float
    high: float

    def times(self, count: float) -> Range:
        return Range(self.low * count, self.high * count)

    def plus(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Price:
    ns: Range
    source: str


@dataclass(frozen=True)
class Hardware:
    name: str  # of the file
    title: str
    entries: Range  # of the IOTLB
    entries_source: str
    prices: Mapping[str, Price]  # by EVENTS


def known() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.ini"))


def load(name: str) -> Hardware:
    """A profile by its name or its file; RunError names file, section and key."""
    file = pathlib.Path(name) if name.endswith(".ini") else FOLDER / f"{name}.ini"
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",),
                                       comment_prefixes=("#",))
    try:
        with file.open(encoding="utf-8") as stream:
            parser.read_file(stream)
    except OSError as error:
        raise RunError(f"{file}: {error.strerror or error}; known profiles: "
                       f"{', '.join(known())}") from None
    except (configparser.Error, UnicodeDecodeError) as error:
        raise RunError(f"{file}: {' '.join(str(error).split())}") from None
    unknown = [s for s in parser.sections() if s not in ("hardware", *EVENTS)]
    if unknown:
        raise RunError(f"{file}: [{unknown[0]}]: want [hardware] or one of {', '.join(EVENTS)}")
    for section in ("hardware", INSTRUCTION):
        if section not in parser:
            raise RunError(f"{file}: no section [{section}]")
    top = parser["hardware"]
    prices = {event: Price(_range(file, parser[event], "ns"), _text(file, parser[event], "source"))
              for event in EVENTS if event in parser}
    entries = _range(file, top, "iotlb_entries")
    if entries.low < 1:
        raise RunError(f"{file}: [hardware] iotlb_entries: want at least 1")
    return Hardware(file.stem, _text(file, top, "title"), entries,
                    _text(file, top, "iotlb_source"), prices)


def _text(file: pathlib.Path, section: configparser.SectionProxy, key: str) -> str:
    value = section.get(key, "").strip()
    if not value:
        raise RunError(f"{file}: [{section.name}] {key}: missing")
    return value


def _range(file: pathlib.Path, section: configparser.SectionProxy, key: str) -> Range:
    words = _text(file, section, key).split()
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) != 2 or not all(math.isfinite(n) and n >= 0 for n in numbers) or (
            numbers[0] > numbers[1]):
        raise RunError(f"{file}: [{section.name}] {key}: want two numbers, the lower first, found "
                       f"{section.get(key)!r}")
    return Range(*numbers)
