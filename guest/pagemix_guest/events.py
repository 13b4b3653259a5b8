# SPDX-License-Identifier: Apache-2.0
"""IOMMU events in QEMU's text trace, counted by phase.

The trace holds one event a line. Characters the guest sends to its serial port
are events too (uart.py), so the markers of docs/result-format.md stand at their
place among the IOMMU's events.

Later QEMUs than 7.2 also give a `vmid=` in the SMMU's IOTLB events. A process id
and time stamp before the event (-msg timestamp=on) are optional.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .console import LineAssembler
from .counters import Event, load
from .uart import Ns16550, Pl011, Uart

PREFIX = re.compile(rb"^\d+@\d+\.\d+:")
LOOKUP = re.compile(rb"^IOTLB cache .* hit=(\d+) miss=(\d+) hit rate=\d+$")
MARKER = re.compile(r"@pagemix (begin|end) (\S+) (\d+)(?: (\d+))?$")
INSERT_COUNTER = "iotlb_insert_level"


def counters_of(events: Iterable[str], known: dict[str, Event] | None = None) -> list[str]:
    """Counters that a machine with these trace events has, 0 included."""
    known = load() if known is None else known
    return [name for event in events if event in known for name, _ in known[event].counters]


def missing_columns(events: Iterable[str]) -> dict[str, str] | None:
    """What a run with device DMA would be asked for and this machine's IOMMU cannot tell.

    An entry of context.pagemix.skipped, or None.
    """
    if "virtio_iommu_map" in events:
        return {"what": "iotlb_hit, iotlb_miss, iotlb_insert_level<k>",
                "why": "QEMU's virtio-iommu has no IOTLB: it looks up each access of the device "
                       "anew (viommu_translate), in a tree of mapped ranges without levels"}
    if "vtd_inv_desc" in events or "amdvi_pages_inval" in events:
        return {"what": "iotlb_insert_level<k>",
                "why": "QEMU's intel-iommu and amd-iommu do not trace the level of the leaf that "
                       "they put into the IOTLB"}
    return None


@dataclass
class Phase:
    """What happened between the two markers of one block of a benchmark."""

    name: str
    block: int
    iterations: int = 0  # 0 until the end marker came
    counts: Counter[str] = field(default_factory=Counter)
    insert_levels: Counter[int] = field(default_factory=Counter)  # IOTLB entries made, by level
    problem: str = ""

    def count(self, counter: str) -> int:
        """One counter of configs/counters.ini."""
        if counter.startswith(INSERT_COUNTER):
            return self.insert_levels[int(counter.removeprefix(INSERT_COUNTER))]
        return self.counts[counter]

    def as_json(self) -> dict[str, Any]:
        """One element of events.json's phases."""
        data: dict[str, Any] = {"name": self.name, "block": self.block,
                                "iterations": self.iterations, "counts": dict(self.counts)}
        if self.insert_levels:
            data["iotlb_insert_levels"] = {str(level): count for level, count
                                           in sorted(self.insert_levels.items())}
        if self.problem:
            data["problem"] = self.problem
        return data


class Parser:
    """Reads a trace line by line."""

    def __init__(self, known: dict[str, Event] | None = None) -> None:
        self.phases: list[Phase] = []
        self.outside = Phase("", 0)  # events that belong to no phase
        self.problems: list[str] = []
        self.lines = 0
        self._open: Phase | None = None
        self._console = LineAssembler()
        self._totals: list[int] = []  # last lookup number of each stream configuration
        self._handlers: dict[bytes, Callable[[bytes], bool]] = {
            b"pl011_write": partial(self._character, Pl011()),
            b"serial_write": partial(self._character, Ns16550()),
            **{name.encode(): partial(self._event, event)
               for name, event in (load() if known is None else known).items()}}
        for name in (b"smmu_iotlb_lookup_hit", b"smmu_iotlb_lookup_miss"):
            if name in self._handlers:
                self._handlers[name] = partial(self._lookup, self._handlers[name])

    def read(self, lines: Iterable[bytes]) -> Parser:
        """Takes all lines, each with its line end; the last may lack it."""
        handlers = self._handlers
        for raw in lines:
            self.lines += 1
            if not raw.endswith(b"\n"):
                self._bad("is cut off", raw)
                continue
            prefix = PREFIX.match(raw)
            event, _, rest = raw[prefix.end() if prefix else 0:].rstrip(b"\r\n").partition(b" ")
            handler = handlers.get(event)
            if handler and not handler(rest):
                self._bad("is not understood", raw)
        if self._open:
            self._fail(self._open, "begun and not ended")
            self._open = None
        self._mark_repeated()
        return self

    def as_json(self) -> dict[str, Any]:
        """events.json, without what only the runner knows."""
        return {"phases": [phase.as_json() for phase in self.phases],
                "outside": dict(self.outside.counts), "trace_lines": self.lines,
                "problems": self.problems}

    @property
    def _phase(self) -> Phase:
        return self._open or self.outside

    def _fail(self, phase: Phase, why: str) -> None:
        phase.problem = phase.problem or why
        self.problems.append(f"{phase.name} block {phase.block}: {why}")

    def _bad(self, what: str, raw: bytes) -> None:
        message = f"trace line {self.lines} {what}: {raw[:120].decode(errors='replace').rstrip()}"
        if self._open:
            self._fail(self._open, message)
        else:
            self.problems.append(message)

    def _character(self, uart: Uart, rest: bytes) -> bool:
        text = uart.character(rest)
        if text is None:
            return False
        for line in self._console.feed(text) if text else ():
            if not line.kernel and "@pagemix " in line.text:
                self._marker(line.text)
        return True

    def _marker(self, text: str) -> None:
        match = MARKER.search(text)
        if not match or (match[1] == "end") != (match[4] is not None):
            self.problems.append(f"marker not understood: {text.strip()}")
            return
        kind, name, block = match[1], match[2], int(match[3])
        if kind == "begin":
            if self._open:
                self._fail(self._open, "begun and not ended")
            self._open = Phase(name, block)
            self.phases.append(self._open)
            return
        phase, self._open = self._open, None
        if phase is None:
            self.problems.append(f"{name} block {block}: ended and not begun")
        elif (phase.name, phase.block) != (name, block):
            self._fail(phase, f"begun, but {name} block {block} ended")
        elif int(match[4]) == 0:
            self._fail(phase, "ended after 0 iterations")
        else:
            phase.iterations = int(match[4])

    def _mark_repeated(self) -> None:
        seen = Counter((phase.name, phase.block) for phase in self.phases)
        for phase in self.phases:
            if seen[phase.name, phase.block] > 1:
                self._fail(phase, f"marked {seen[phase.name, phase.block]} times")

    def _event(self, event: Event, rest: bytes) -> bool:
        names = event.counted(rest)
        for name in names or ():
            if name.startswith(INSERT_COUNTER):
                self._phase.insert_levels[int(name.removeprefix(INSERT_COUNTER))] += 1
            else:
                self._phase.counts[name] += 1
        return names is not None

    def _lookup(self, count: Callable[[bytes], bool], rest: bytes) -> bool:
        match = LOOKUP.match(rest)
        if not match or not count(rest):
            return False
        # Hits and misses are numbered per stream configuration, from 1 again
        # when the driver changes it: a gap means that the trace lost events.
        total = int(match[1]) + int(match[2])
        if total - 1 in self._totals:
            self._totals[self._totals.index(total - 1)] = total
        else:
            if total != 1:
                self._bad("follows lost events", rest)
            self._totals.append(total)
        return True


def parse_trace(lines: Iterable[bytes], known: dict[str, Event] | None = None) -> Parser:
    """Counts of a whole trace, by default of the events in configs/counters.ini."""
    return Parser(known).read(lines)


@dataclass
class Joined:
    """What merge() could not write, each with its reason."""

    notes: list[str] = field(default_factory=list)  # phases without counts, as expected
    foreign: list[str] = field(default_factory=list)  # markers of no entry: not of this run


def merge(run: dict[str, Any], phases: Sequence[Phase], counters: Sequence[str]) -> Joined:
    """Writes counts per iteration into the entries of run.json.

    A phase belongs to the entry with its name and, as repetition_index, its
    block. A case that failed has ended its phase and left no entry, but its name
    in context.pagemix.skipped.
    """
    entries = {(entry["name"], entry.get("repetition_index", 0)): entry
               for entry in run.get("benchmarks", []) if entry.get("run_type") != "aggregate"}
    names = {name for name, _ in entries}
    pagemix = run.get("context", {}).get("pagemix", {})
    failed = {item["what"] for item in pagemix.get("skipped", [])}
    joined = Joined()
    for phase in phases:
        where = f"{phase.name} block {phase.block}"
        entry = entries.get((phase.name, phase.block))
        if phase.problem:
            joined.notes.append(f"{where}: {phase.problem}")
        elif entry is not None:
            for counter in counters:
                entry[counter] = phase.count(counter) / phase.iterations
        elif phase.name in failed:
            joined.notes.append(f"{where}: failed, as run.json says")
        elif not pagemix.get("complete", True):
            joined.notes.append(f"{where}: not in the incomplete run.json")
        else:
            what = "block" if phase.name in names else "benchmark"
            joined.foreign.append(f"marker '{phase.name}' block {phase.block}: no such {what} in "
                                  "run.json")
    return joined
