# SPDX-License-Identifier: Apache-2.0
"""Sums of direct compaction and direct reclaim from the text of ftrace events.

Reads the lines that trace-cmd and trace_pipe print for mm_compaction_begin/end
and mm_vmscan_direct_reclaim_begin/end. Begin and end are paired by the task
that ran them; a task may move to another CPU in between.
"""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass, field

from .fields import RunError

_LINE = re.compile(r"\s*(?P<task>.*?-(?P<pid>\d+))\s+(?:\([^)]*\)\s+)?\[(?P<cpu>\d+)\]\s+"
                   r"(?:\S{4,6}\s+)?(?P<sec>\d+)\.(?P<frac>\d+):\s+(?P<event>\w+):\s*"
                   r"(?P<text>.*)\Z")
_FIELD = re.compile(r"(\w+)=([^\s,]+)")
_PAIRS = {
    "mm_compaction_begin": ("compaction", True), "mm_compaction_end": ("compaction", False),
    "mm_vmscan_direct_reclaim_begin": ("reclaim", True),
    "mm_vmscan_direct_reclaim_end": ("reclaim", False),
}


@dataclass(frozen=True)
class Spell:
    """One stretch between a begin and its end; times in whole microseconds."""

    kind: str  # compaction, reclaim
    task: int
    begin_us: int
    end_us: int
    fields: dict[str, str]  # of both events: mode, status, order, nr_reclaimed, ...

    @property
    def us(self) -> int:
        return self.end_us - self.begin_us


@dataclass(frozen=True)
class Work:
    """What a trace holds. Times in whole microseconds, as the trace has them."""

    spells: tuple[Spell, ...]
    events: int
    open: int = 0  # begins without an end: the trace stops inside
    others: dict[str, int] = field(default_factory=dict)  # events of other names, by name

    def us(self, kind: str) -> int:
        return sum(spell.us for spell in self.spells if spell.kind == kind)

    @property
    def reclaimed(self) -> int:
        """Pages."""
        return sum(int(s.fields.get("nr_reclaimed", "0")) for s in self.spells
                   if s.kind == "reclaim")

    def by(self, kind: str, key: str) -> dict[str, tuple[int, int]]:
        """Spells of a kind by a field: value -> (count, microseconds)."""
        result: dict[str, tuple[int, int]] = {}
        for spell in self.spells:
            if spell.kind == kind:
                value = spell.fields.get(key, "unknown")
                count, us = result.get(value, (0, 0))
                result[value] = (count + 1, us + spell.us)
        return result

    @property
    def words(self) -> str:
        text = (f"{self.us('compaction') / 1000:.3f} ms direct compaction, "
                f"{self.us('reclaim') / 1000:.3f} ms direct reclaim, "
                f"{self.reclaimed:,} pages reclaimed")
        return text + (f" ({self.open} not ended)" if self.open else "")


def read(path: str | pathlib.Path) -> Work:
    """A trace file; RunError names the file and the line."""
    file = pathlib.Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise RunError(f"{file}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise RunError(f"{file}: byte {error.start} is not UTF-8") from None
    try:
        return parse(text)
    except ValueError as error:
        raise RunError(f"{file}: {error}") from None


def parse(text: str) -> Work:
    """The trace's text; ValueError names the line. Comment lines start with #."""
    spells: list[Spell] = []
    running: dict[tuple[int, str], tuple[int, dict[str, str]]] = {}
    others: dict[str, int] = {}
    events = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.match(line)
        if not match:
            raise ValueError(f"line {number}: not a trace event: {line.strip()[:60]!r}")
        events += 1
        name = match["event"]
        if name not in _PAIRS:
            others[name] = others.get(name, 0) + 1
            continue
        kind, begins = _PAIRS[name]
        key = (int(match["pid"]), kind)
        now = int(match["sec"]) * 1_000_000 + int(match["frac"][:6].ljust(6, "0"))
        fields = dict(_FIELD.findall(match["text"]))
        if begins:
            if key in running:
                raise ValueError(f"line {number}: {kind} of task {key[0]} begins twice")
            running[key] = (now, fields)
            continue
        if key not in running:
            raise ValueError(f"line {number}: {kind} of task {key[0]} ends without a begin")
        begin, first = running.pop(key)
        if now < begin:
            raise ValueError(f"line {number}: {kind} of task {key[0]} ends before it begins")
        spells.append(Spell(kind, key[0], begin, now, {**first, **fields}))
    return Work(tuple(spells), events, len(running), others)
