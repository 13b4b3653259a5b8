# SPDX-License-Identifier: Apache-2.0
"""configs/counters.ini: which trace events raise which counters."""

from __future__ import annotations

import configparser
import re
from dataclasses import dataclass, field
from pathlib import Path

from .errors import UsageError, one_of

FILE = Path(__file__).resolve().parents[2] / "configs" / "counters.ini"
FOR_REPORTS = ("iommu", "word", "pair", "half", "predicted")  # read by plots/
FOR_BOARDS = "pmu"  # read by the build of bench/


@dataclass
class Event:
    """A trace event: its counters, each with the text that raises it."""

    counters: list[tuple[str, re.Pattern[bytes]]] = field(default_factory=list)
    text: re.Pattern[bytes] | None = None  # of all its lines, where not all are counted

    def counted(self, rest: bytes) -> list[str] | None:
        """The counters that a line raises; None where it is not understood."""
        names = [name for name, pattern in self.counters if pattern.fullmatch(rest)]
        return names if names or (self.text and self.text.fullmatch(rest)) else None


def _pattern(where: str, text: str) -> re.Pattern[bytes]:
    try:
        return re.compile(text.encode())
    except re.error as error:
        raise UsageError(f"{where}: '{text}' is not a regular expression: {error}") from error


def load(file: Path = FILE) -> dict[str, Event]:
    """Trace events by name, their counters in the file's order."""
    ini = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    try:
        ini.read_string(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise UsageError(f"{file}: {error}") from error
    events: dict[str, Event] = {}
    for name in ini.sections():
        where, key = f"{file}: [{name}]", "text" if name.startswith("format ") else "events"
        allowed = {key} if key == "text" else {key, *FOR_REPORTS, FOR_BOARDS}
        if wrong := [found for found in ini[name] if found not in allowed]:
            raise UsageError(f"{where}: key '{wrong[0]}' is not known, want {one_of(allowed)}")
        if key not in ini[name]:
            if FOR_BOARDS in ini[name]:
                continue
            raise UsageError(f"{where}: {key}: missing")
        if key == "text":
            event = events.setdefault(name.removeprefix("format "), Event())
            event.text = _pattern(where, ini[name][key])
            continue
        lines = [line for line in ini[name][key].splitlines() if line]
        if not lines:
            raise UsageError(f"{where}: events: empty, want an event and its text a line")
        for line in lines:
            event_name, _, text = line.partition(" ")
            pattern = _pattern(where, text)
            events.setdefault(event_name, Event()).counters.append((name, pattern))
    return events
