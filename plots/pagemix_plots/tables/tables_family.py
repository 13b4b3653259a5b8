# SPDX-License-Identifier: Apache-2.0
"""Any family as tables: cost against each part of its names, by mix, and its counts.

Nothing here knows a family. An axis is a part of the names, other than mix and
layout, that takes more than one value in a family's benchmarks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..run import names
from ..run.load import Benchmark, Run
from ..stats.stats import Summary
from . import alloc_series
from .data import Rows, cell
from .tables import LAYOUT_WORDS, n_words

LINE = ("mix", "layout")  # what tells the lines of a figure apart
# What a part stands for where a name leaves it out.
LEFT_OUT = {"state": "warm", "threads": "1", "columns": "all", "trace": "on"}
PAGE = 4096  # numbers that are all multiples of it are read as bytes
# Of a sample in which the device works while the program polls.
DEVICE = ("accesses", "dma_bytes", "part_dma")
POLLING = "polling, not the device's work"
# Counters that count nothing: parts of the samples, and an address.
_NO_COUNT = re.compile(r"median|p90|p99|max|iova|thread[0-9]+_median")


@dataclass(frozen=True)
class Axis:
    """One part of the names and its values in order."""

    key: str
    values: tuple[str, ...]

    @property
    def numeric(self) -> bool:
        return all(re.fullmatch("[0-9]{1,18}", value) for value in self.values)

    @property
    def sizes(self) -> bool:
        return self.numeric and all(int(v) and int(v) % PAGE == 0 for v in self.values)

    def words(self, value: str) -> str:
        if self.key == "layout":
            return LAYOUT_WORDS.get(value, value)
        return names.bytes_words(int(value)) if self.sizes else value or "-"


@dataclass(frozen=True)
class Entry:
    """One benchmark; `values` has every part that any benchmark of the family has."""

    benchmark: Benchmark
    values: dict[str, str]

    @property
    def line(self) -> tuple[str, str]:
        return (self.values.get("mix", ""), self.values.get("layout", ""))

    @property
    def cost(self) -> Summary:
        return self.benchmark.summary


@dataclass(frozen=True)
class Panel:
    """Cost against one axis; lines by mix and layout, points by value of the axis."""

    axis: Axis
    held: str  # the other axes' values here, in words
    mixes: tuple[str, ...]
    layouts: tuple[str, ...]
    lines: dict[tuple[str, str], dict[str, Summary]]
    unit: str
    note: str

    @property
    def points(self) -> list[Summary]:
        return [point for line in self.lines.values() for point in line.values()]

    @property
    def words(self) -> str:
        """The data in words, for readers who do not see the figure."""
        said = "; ".join(
            f"{' '.join(filter(None, line)) or 'all'}: "
            + ", ".join(f"{self.axis.words(v)} {names.count_words(p.median)}"
                        for v, p in points.items()) for line, points in self.lines.items())
        return f"by {self.axis.key or 'family'}{self.held and f' ({self.held})'}: {said}"


@dataclass(frozen=True)
class Family:
    """All benchmarks of one family of a run."""

    name: str
    unit: str
    axes: tuple[Axis, ...]  # what varies, mix and layout first
    fixed: str  # parts that are the same in every row, in words
    counts: tuple[str, ...]  # counters that differ between rows
    common: str  # counters that are the same in every row, in words
    note: str  # what the cost is not; mostly empty
    entries: tuple[Entry, ...]
    panels: tuple[Panel, ...]

    @property
    def n_words(self) -> str:
        return n_words({entry.cost.n for entry in self.entries})

    @property
    def words(self) -> str:
        return ". ".join(panel.words for panel in self.panels)

    def cells(self, entry: Entry) -> list[str]:
        """What tells a row of the table apart."""
        return [axis.words(entry.values[axis.key]) for axis in self.axes]

    def rows(self) -> Rows:
        """The data of table and figure, a header first."""
        head = (*(axis.key for axis in self.axes), f"median {self.unit}", "low", "high", "n",
                *self.counts)
        return (head, *((*(e.values[axis.key] for axis in self.axes), cell(e.cost.median),
                         cell(e.cost.low), cell(e.cost.high), str(e.cost.n),
                         *(cell(e.benchmark.counter(key)) for key in self.counts))
                        for e in self.entries))


def of_run(run: Run) -> list[Family]:
    """Every family of the run, by name; of allocations one after another, each whole series."""
    found: dict[str, list[Benchmark]] = {}
    for benchmark in alloc_series.pooled(run).values():
        found.setdefault(benchmark.name.family, []).append(benchmark)
    return [_family(run, name, found[name]) for name in sorted(found)]


def _family(run: Run, name: str, benchmarks: list[Benchmark]) -> Family:
    keys = list(dict.fromkeys(key for b in sorted(benchmarks, key=lambda b: b.name.text)
                              for key, _ in b.name.params))
    default = LEFT_OUT | {"domain": run.iommu.domain_mode}
    entries = [Entry(b, {key: dict(b.name.params).get(key, default.get(key, "")) for key in keys})
               for b in benchmarks]
    parts = [_axis(run, key, {e.values[key] for e in entries})
             for key in [*(k for k in LINE if k in keys), *(k for k in keys if k not in LINE)]]
    axes = tuple(part for part in parts if len(part.values) > 1)
    entries.sort(key=lambda e: [axis.values.index(e.values[axis.key]) for axis in axes])
    counts, common = _counts(entries)
    polled = run.clock.kind == "instructions" and any(
        key in block.counters for e in entries for block in e.benchmark.blocks for key in DEVICE)
    note = POLLING if polled else ""
    return Family(name, run.clock.unit, axes,
                  ", ".join(f"{part.key} {part.words(part.values[0])}" for part in parts
                            if part not in axes),
                  counts, common, note, tuple(entries),
                  tuple(replace(panel, note=note) for panel in _panels(run, name, axes, entries)))


def _axis(run: Run, key: str, values: set[str]) -> Axis:
    return Axis(key, tuple(sorted(values, key=lambda value: _rank(run, key, value))))


def _rank(run: Run, key: str, value: str) -> tuple[Any, ...]:
    """Sort key of a part's values: mixes and layouts as everywhere, what a name leaves out first,
    numbers by size, words."""
    if key == "mix":
        return run.mix_rank(value)
    if key == "layout":
        return (names.LAYOUTS.index(value) if value in names.LAYOUTS else len(names.LAYOUTS), value)
    number = int(value) if re.fullmatch("[0-9]{1,18}", value) else None
    first = value == (LEFT_OUT | {"domain": run.iommu.domain_mode}).get(key, "")
    return (not first, number is None, number or 0, value)


def _counts(entries: list[Entry]) -> tuple[tuple[str, ...], str]:
    """Counters with a column of their own, and those that every row shares, in words."""
    keys = sorted({key for e in entries for block in e.benchmark.blocks for key in block.counters
                   if not _NO_COUNT.fullmatch(key)},
                  key=lambda key: [int(part) if place % 2 else part  # words and numbers in turn
                                   for place, part in enumerate(re.split("([0-9]+)", key))])
    values = {key: [e.benchmark.counter(key) for e in entries] for key in keys}
    same = {key: found[0] for key, found in values.items() if len(set(found)) == 1}
    return (tuple(key for key in keys if key not in same),
            ", ".join(f"{key} {names.count_words(value)}" for key, value in same.items() if value))


def _panels(run: Run, family: str, axes: tuple[Axis, ...], entries: list[Entry]
            ) -> Iterator[Panel]:
    own = [axis for axis in axes if axis.key not in LINE]
    for axis in own:
        others = [a for a in own if a is not axis and not _follows(a.key, axis.key, entries)]
        held, chosen = _chosen(run, axis, others, entries)
        yield _panel(run, axis, held, chosen, [e.line for e in chosen])
    if not own:  # lines are layouts, the axis is the mix: its values are rows
        mixes = tuple(dict.fromkeys(e.values.get("mix", family) for e in entries))
        rows = [Entry(e.benchmark, {**e.values, "mix": e.values.get("mix", family)})
                for e in entries]
        yield _panel(run, Axis("mix" if "mix" in entries[0].values else "", mixes), "", rows,
                     [("", e.values.get("layout", "")) for e in rows])


def _follows(key: str, axis: str, entries: list[Entry]) -> bool:
    """Whether the axis' value decides this part's, as a frame's does its bytes."""
    found: dict[str, set[str]] = {}
    for entry in entries:
        found.setdefault(entry.values[axis], set()).add(entry.values[key])
    return all(len(values) == 1 for values in found.values())


def _chosen(run: Run, axis: Axis, others: list[Axis], entries: list[Entry]
            ) -> tuple[str, list[Entry]]:
    """The benchmarks that differ in this axis only: where the others have values that it was
    measured at most values of. Of equals with the buffer size that leads everywhere."""
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(tuple(entry.values[o.key] for o in others), []).append(entry)

    def rank(values: tuple[str, ...]) -> tuple[Any, ...]:
        found = groups[values]
        return (-len({e.values[axis.key] for e in found}), -len(found), *(
            names.size_rank(int(v)) if o.key == "bytes" and o.numeric else o.values.index(v)
            for o, v in zip(others, values, strict=True)))

    best = min(groups, key=rank)
    return (", ".join(f"{o.key} {o.words(v)}" for o, v in zip(others, best, strict=True)),
            groups[best])


def _panel(run: Run, axis: Axis, held: str, entries: list[Entry], lines: list[tuple[str, str]]
           ) -> Panel:
    points: dict[tuple[str, str], dict[str, Summary]] = {}
    for entry, line in zip(entries, lines, strict=True):
        value = entry.values.get(axis.key or "mix", "")
        points.setdefault(line, {})[value] = entry.cost
    order = {value: place for place, value in enumerate(axis.values)}
    return Panel(axis, held, tuple(dict.fromkeys(mix for mix, _ in lines)),
                 tuple(dict.fromkeys(sorted((layout for _, layout in lines),
                                            key=lambda value: _rank(run, "layout", value)))),
                 {line: dict(sorted(found.items(), key=lambda item: order[item[0]]))
                  for line, found in points.items()}, run.clock.unit, "")
