# SPDX-License-Identifier: Apache-2.0
"""Tables of the use families: reach curves, a frame's parts, access cost by order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..run import names
from ..run.load import Benchmark, Run
from ..stats import knee, stats
from ..stats.stats import Summary
from .data import Rows, cell
from .tables import CostTable, CountTable, Series

RANDOM, COLUMN, STREAM, PIPELINE = "use_random", "use_column", "use_stream", "use_pipeline"
PARTS = ("map", "dma", "sync", "unmap")  # in the order of a frame's life
LEAST_MISSES = 0.02  # misses per access that count as a rise


@dataclass(frozen=True)
class Point:
    """One working set of one buffer; cost and misses are those of one access."""

    window: int  # bytes
    samples: NDArray[np.float64]
    misses: float | None  # None where nothing counted them

    @cached_property
    def cost(self) -> Summary:
        return stats.summarize(self.samples)


@dataclass(frozen=True)
class Curve:
    """The reach curve of one mix: windows ascend."""

    mix: str
    points: tuple[Point, ...]

    @property
    def counted(self) -> bool:
        return all(point.misses is not None for point in self.points)

    @cached_property
    def by_misses(self) -> knee.Knee | None:
        """The knee of misses per access; None without one or without counts."""
        if not self.counted:
            return None
        return self._find([float(p.misses or 0.0) for p in self.points], LEAST_MISSES)

    @cached_property
    def by_cost(self) -> knee.Knee | None:
        return self._find([p.samples for p in self.points], 0.0)

    def _find(self, values: list[float] | list[NDArray[np.float64]], least: float
              ) -> knee.Knee | None:
        if len(self.points) < knee.LEAST_WINDOWS:
            return None
        return knee.find([p.window for p in self.points], values, least_rise=least)


@dataclass(frozen=True)
class ReachTable:
    """The curves of one buffer size and layout."""

    layout: str
    bytes: int
    curves: tuple[Curve, ...]
    unit: str

    @property
    def counted(self) -> bool:
        return all(curve.counted for curve in self.curves)

    @property
    def n(self) -> set[int]:
        return {point.cost.n for curve in self.curves for point in curve.points}

    @property
    def words(self) -> str:
        return "; ".join(f"{curve.mix}: {knee_words(curve)}" for curve in self.curves)

    def rows(self) -> Rows:
        """The data behind the figures, a header first."""
        head = ("mix", "layout", "bytes", "window", "misses per access", f"median {self.unit}",
                "low", "high", "n")
        return (head, *((c.mix, self.layout, str(self.bytes), str(p.window), cell(p.misses),
                         cell(p.cost.median), cell(p.cost.low), cell(p.cost.high), str(p.cost.n))
                        for c in self.curves for p in c.points))


def knee_words(curve: Curve) -> str:
    """'no miss up to 2 MiB', 'knee at 1 MiB (1 MiB to 1.25 MiB)', by misses where counted."""
    last = names.bytes_words(curve.points[-1].window)
    if len(curve.points) < knee.LEAST_WINDOWS:
        return f"{len(curve.points)} working sets, too few to find a knee"
    found = curve.by_misses if curve.counted else curve.by_cost
    of, verb = ("misses", "rise") if curve.counted else ("cost", "rises")
    if found is None:
        level = max((p.misses or 0.0) for p in curve.points) if curve.counted else None
        if level is not None and level < LEAST_MISSES:
            return f"no misses up to {last}"
        return f"{of} without a knee up to {last}"
    low = "the smallest working set or less" if found.low == 0 else round_bytes(found.low)
    return f"{of} {verb} from {round_bytes(found.at)} ({low} to {round_bytes(found.high)})"


def round_bytes(count: float) -> str:
    """Three digits of a size that is an estimate: 1049000 -> '1 MiB'."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} bytes"


def device_counts(run: Run) -> bool:
    """Whether costs of use_* hold the device's work: under -icount they hold the program's polling,
    whose length is the host's affair. Events are counted either way."""
    return run.clock.kind != "instructions"


def family(run: Run, name: str) -> list[Benchmark]:
    """Benchmarks of a family on a buffer, by mix."""
    found = [b for b in run.benchmarks.values() if b.name.family == name and b.name.key]
    return sorted(found, key=lambda b: (run.mix_rank(b.name.key.mix if b.name.key else ""),
                                        b.name.text))


def accesses(benchmark: Benchmark) -> float:
    """Transfers in one sample."""
    return benchmark.counter("accesses") or 1.0


def reach(run: Run) -> list[ReachTable]:
    """A table for each buffer size and layout of use_random, the main one first."""
    groups: dict[tuple[str, int], dict[str, list[Point]]] = {}
    for benchmark in family(run, RANDOM):
        key, window = benchmark.name.key, dict(benchmark.name.extra).get("window", "")
        if key is None or not window.isdigit():
            continue
        each = accesses(benchmark)
        misses = benchmark.counter("iotlb_miss")
        point = Point(int(window), benchmark.samples / each,
                      None if misses is None else misses / each)
        groups.setdefault((key.layout, key.bytes), {}).setdefault(key.mix, []).append(point)
    order = sorted(groups, key=lambda g: (names.LAYOUTS.index(g[0]), -g[1]))
    return [ReachTable(layout, size, tuple(
        Curve(mix, tuple(sorted(points, key=lambda p: p.window)))
        for mix, points in groups[(layout, size)].items()), run.clock.unit)
        for layout, size in order]


@dataclass(frozen=True)
class Bar:
    """One stacked bar: parts in the clock's unit, and the whole that was measured."""

    label: str
    parts: dict[str, float]
    whole: Summary

    @property
    def rest(self) -> float:
        """What the parts leave of the median; below zero where they exceed it."""
        return self.whole.median - sum(self.parts.values())


@dataclass(frozen=True)
class BarTable:
    bars: tuple[Bar, ...]
    part_names: tuple[str, ...]  # of all bars, in drawing order
    unit: str

    @property
    def n(self) -> set[int]:
        return {bar.whole.n for bar in self.bars}

    @property
    def words(self) -> str:
        return "; ".join(
            f"{bar.label}: " + ", ".join(f"{name} {names.count_words(bar.parts[name])}"
                                         for name in self.part_names if name in bar.parts)
            + f" of {names.count_words(bar.whole.median)}" for bar in self.bars)

    def rows(self) -> Rows:
        return (("bar", *self.part_names, f"median {self.unit}", "n"), *(
            (bar.label.replace("\n", ", "), *(cell(bar.parts.get(p, 0.0)) for p in self.part_names),
             cell(bar.whole.median), str(bar.whole.n)) for bar in self.bars))


def parts_of(benchmark: Benchmark, order: tuple[str, ...]) -> dict[str, float]:
    """`part_<name>` counters: known names in their order, then further ones."""
    found = {key[len("part_"):] for block in benchmark.blocks for key in block.counters
             if key.startswith("part_")}
    known = [name for name in order if name in found]
    return {name: benchmark.counter(f"part_{name}") or 0.0
            for name in [*known, *sorted(found - set(order))]}


def pipeline(run: Run) -> list[tuple[str, BarTable]]:
    """Cost of one frame, a bar for each mix and way of mapping; a table for each layout."""
    by_layout: dict[str, list[Bar]] = {}
    for benchmark in family(run, PIPELINE):
        key = benchmark.name.key
        parts = parts_of(benchmark, PARTS)
        if key is None or not parts:
            continue
        way = {"kept": "kept mapped", "each": "mapped each frame"}
        kind = dict(benchmark.name.extra).get("map", "")
        label = f"{key.mix}, {way.get(kind, kind)}" if kind else key.mix
        by_layout.setdefault(key.layout, []).append(Bar(label, parts, benchmark.summary))
    return [(layout, bar_table(bars, PARTS, run.clock.unit))
            for layout, bars in sorted(by_layout.items(),
                                       key=lambda item: names.LAYOUTS.index(item[0]))]


def bar_table(bars: list[Bar], order: tuple[str, ...], unit: str) -> BarTable:
    found = {name for bar in bars for name in bar.parts}
    known = tuple(name for name in order if name in found)
    return BarTable(tuple(bars), known + tuple(sorted(found - set(order))), unit)


def cost_by_order(run: Run, name: str, part: str,
                  words: Callable[[str], str]) -> list[tuple[str, CostTable]]:
    """Cost of one access against order: a table for each value of `part`, a series a layout."""
    pure = {mix: order for order, mix in run.pure.items()}
    groups: dict[str, dict[str, dict[str, Summary]]] = {}
    for benchmark in family(run, name):
        key = benchmark.name.key
        value = dict(benchmark.name.extra).get(part)
        if key is None or key.mix not in pure or value is None:
            continue
        each = stats.summarize(benchmark.samples / accesses(benchmark))
        groups.setdefault(value, {}).setdefault(key.layout, {})[str(pure[key.mix])] = each
    result: list[tuple[str, CostTable]] = []
    for value, layouts in groups.items():
        orders = sorted({o for points in layouts.values() for o in points}, key=int)
        series = tuple(Series(layout, dict(sorted(layouts[layout].items(),
                                                  key=lambda item: int(item[0]))))
                       for layout in names.LAYOUTS if layout in layouts)
        result.append((words(value), CostTable(tuple(orders), series, run.clock.unit)))
    return result


def misses_by_case(run: Run, name: str) -> CountTable | None:
    """Misses per access of each mix in the main layout, a series for each case of the family."""
    found: dict[str, dict[str, float]] = {}
    passes: set[int] = set()
    benchmarks = family(run, name)
    layouts = {b.name.key.layout for b in benchmarks if b.name.key}
    main = next((layout for layout in names.LAYOUTS if layout in layouts), None)
    for benchmark in benchmarks:
        key, misses = benchmark.name.key, benchmark.counter("iotlb_miss")
        if key is None or key.layout != main or misses is None:
            continue
        case = " ".join(value for _, value in benchmark.name.extra) or "all"
        found.setdefault(case, {})[key.mix] = misses / accesses(benchmark)
        passes.add(benchmark.summary.n)
    mixes = tuple(sorted({m for row in found.values() for m in row}, key=run.mix_rank))
    series = {case: tuple(row[m] for m in mixes) for case, row in found.items()
              if set(row) == set(mixes)}
    return CountTable(mixes, series, frozenset(passes)) if series else None
