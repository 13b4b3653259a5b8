# SPDX-License-Identifier: Apache-2.0
"""configs/counters.ini: what reports know of each counter."""

from __future__ import annotations

import configparser
import pathlib
from dataclasses import dataclass

from .fields import RunError

FILE = pathlib.Path(__file__).resolve().parents[3] / "configs" / "counters.ini"


@dataclass(frozen=True)
class Counter:
    name: str
    iommu: str = ""  # part of the name of the driver that issues it
    word: str = ""  # of a command, in tables and figures
    pair: str = ""  # counter that is drawn beside it
    half: str = ""  # map or unmap: the half of a cycle whose it is
    predicted: str = ""  # counter that it must equal


def load(file: pathlib.Path = FILE) -> tuple[Counter, ...]:
    """The counters in the file's order; RunError names file, section and key."""
    ini = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    try:
        ini.read_string(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise RunError(f"{file}: {error}") from error
    found = {name: Counter(name, *(ini[name].get(key, "") for key in
                                   ("iommu", "word", "pair", "half", "predicted")))
             for name in ini.sections() if not name.startswith("format ")}
    for counter in found.values():
        where = f"{file}: [{counter.name}]"
        if counter.half not in ("", "map", "unmap"):
            raise RunError(f"{where}: half: want map or unmap, found '{counter.half}'")
        if counter.pair and not (counter.word and counter.pair in found
                                 and found[counter.pair].word):
            raise RunError(f"{where}: pair: want a counter with a word, beside one with a word, "
                           f"found '{counter.pair}'")
        if counter.predicted and not counter.iommu:
            raise RunError(f"{where}: iommu: missing, wanted with predicted")
    return tuple(found.values())


KNOWN = load()
