# SPDX-License-Identifier: Apache-2.0
"""Tables of data: what figures draw, the headline says and the report prints."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..run import counters, names
from ..run.load import Benchmark, Run
from ..run.names import BufferKey
from ..stats.stats import Summary

# Counters that are commands to the IOMMU, and their names: those of its specification.
COMMANDS = {c.name: c.word for c in counters.KNOWN if c.word}
# What one IOMMU is sent, a command or a pair; the first and the second have a mark each.
_SECOND = {c.pair for c in counters.KNOWN}
COMMAND_PAIRS = tuple((c.word, COMMANDS[c.pair]) if c.pair else (c.word,)
                      for c in counters.KNOWN if c.word and c.name not in _SECOND)
# Where a buffer's counters are looked up: the buffer that was mapped comes first.
COUNTER_FAMILIES = ("map_sgtable", "unmap_sgtable", "vfio_map", "vfio_unmap", "alloc")
LAYOUT_WORDS = {"scattered": "scattered", "buddy": "as allocated"}


@dataclass(frozen=True)
class View:
    """The part of a run that one set of figures shows."""

    run: Run
    label: str  # tells the run apart in this report
    bytes: int
    state: str

    @property
    def title(self) -> str:
        return f"{self.label}, {names.bytes_words(self.bytes)}, {self.state}"

    def key(self, mix: str, layout: str) -> BufferKey:
        return BufferKey(mix, layout, self.bytes, self.state)

    @property
    def mixes(self) -> list[str]:
        return sorted({key.mix for key in self.keys}, key=self.run.mix_rank)

    @property
    def keys(self) -> list[BufferKey]:
        return [k for k in self.run.keys if (k.bytes, k.state) == (self.bytes, self.state)]

    @property
    def pure(self) -> dict[int, str]:
        """The mix of each order that has one of its own, by order."""
        return {order: mix for order, mix in sorted(self.run.pure.items()) if mix in self.mixes}

    @property
    def layouts(self) -> list[str]:
        found = {key.layout for key in self.keys}
        return [layout for layout in names.LAYOUTS if layout in found]

    @property
    def main_layout(self) -> str:
        """Scattered where it was measured: fresh memory is contiguous by luck."""
        return self.layouts[0]


def views(runs: list[Run], labels: list[str]) -> list[View]:
    """One view a run, size and state; sizes by names.size_rank, warm before cold."""
    result: list[View] = []
    for run, label in zip(runs, labels, strict=True):
        pairs = {(key.bytes, key.state) for key in run.keys}
        for size, state in sorted(pairs, key=lambda pair: (names.size_rank(pair[0]),
                                                           names.STATES.index(pair[1]))):
            result.append(View(run, label, size, state))
    return result


def n_words(counts: set[int]) -> str:
    low, high = min(counts), max(counts)
    return f"n = {low:,}" if low == high else f"n = {low:,} to {high:,}"


@dataclass(frozen=True)
class Series:
    """One line or row of marks: a summary for each category that was measured."""

    name: str
    points: dict[str, Summary]


@dataclass(frozen=True)
class CostTable:
    """Costs in the clock's unit. Every category has a point in at least one series."""

    categories: tuple[str, ...]
    series: tuple[Series, ...]
    unit: str
    notes: dict[str, str] = field(default_factory=dict)  # second line of a category's name

    @property
    def point_words(self) -> str:
        """What a mark stands for and how many samples are behind it."""
        points = [point for series in self.series for point in series.points.values()]
        known = sum(1 for point in points if point.low is not None)
        interval = ("95 % interval" if known == len(points) else "too few for an interval"
                    if not known else "95 % interval where n allows")
        return f"median, {interval}, {n_words({point.n for point in points})} a point"

    @property
    def words(self) -> str:
        """The data in words, for readers who do not see the figure."""
        return "; ".join(
            f"{series.name}: " + ", ".join(f"{category} {names.count_words(point.median)}"
                                           for category, point in series.points.items())
            for series in self.series)


def _cost_table(rows: list[tuple[str, dict[str, Summary]]], unit: str,
                categories: list[str]) -> CostTable | None:
    """Drops series and categories without a point; None when nothing is left."""
    series = tuple(Series(name, points) for name, points in rows if points)
    used = tuple(c for c in categories if any(c in s.points for s in series))
    return CostTable(used, series, unit) if series else None


def _points(view: View, family: str, layout: str, mixes: dict[str, str]) -> dict[str, Summary]:
    """Summaries by category; `mixes` maps a mix to its category."""
    result: dict[str, Summary] = {}
    for mix, category in mixes.items():
        benchmark = view.run.find(family, view.key(mix, layout))
        if benchmark:
            result[category] = benchmark.summary
    return result


def cost_by_order(view: View, family: str) -> CostTable | None:
    """Pure mixes: a series for each layout, a category for each order."""
    orders = {mix: str(order) for order, mix in view.pure.items()}
    rows = [(layout, _points(view, family, layout, orders)) for layout in view.layouts]
    table = _cost_table(rows, view.run.clock.unit, list(orders.values()))
    page = view.run.page_size
    if table is None or page is None:
        return table
    return replace(table, notes={o: names.bytes_words(page << int(o)) for o in table.categories})


def cost_by_mix(view: View, family: str) -> CostTable | None:
    """Every mix: a series for each layout."""
    mixes = {mix: mix for mix in view.mixes}
    rows = [(layout, _points(view, family, layout, mixes)) for layout in view.layouts]
    return _cost_table(rows, view.run.clock.unit, list(mixes))


def families_by_mix(view: View, families: tuple[str, ...]) -> CostTable | None:
    """Every mix in the main layout: a series for each family, None unless two have points."""
    mixes = {mix: mix for mix in view.mixes}
    rows = [(family, _points(view, family, view.main_layout, mixes)) for family in families]
    if sum(1 for _, points in rows if points) < 2:
        return None
    return _cost_table(rows, view.run.clock.unit, list(mixes))


@dataclass(frozen=True)
class Parts:
    """How one buffer divides: the count of parts by their size in bytes."""

    label: str
    counts: dict[int, float]

    @property
    def total(self) -> float:
        return sum(self.counts.values())


@dataclass(frozen=True)
class PartsTable:
    rows: tuple[Parts, ...]
    part_names: dict[int, str]  # by size in bytes
    noun: str  # "leaves", "chunks"
    n: frozenset[int]  # iterations behind a row

    @property
    def words(self) -> str:
        return "; ".join(f"{row.label}: {parts_words(row.counts, self.part_names)}"
                         for row in self.rows)


def parts_words(counts: dict[int, float], part_names: dict[int, str]) -> str:
    """{4096: 2560} -> '2,560 x 4 KiB', the largest part first."""
    return " + ".join(f"{names.count_words(counts[size])} x {part_names[size]}"
                      for size in sorted(counts, reverse=True))


def source(run: Run, key: BufferKey, prefix: str, families: tuple[str, ...] = COUNTER_FAMILIES
           ) -> Benchmark | None:
    """The first family's benchmark of this buffer that carries such counters."""
    for family in families:
        benchmark = run.find(family, key)
        if benchmark and any(c.startswith(prefix) for b in benchmark.blocks for c in b.counters):
            return benchmark
    return None


def counter_of(run: Run, key: BufferKey, name: str) -> float | None:
    benchmark = source(run, key, name)
    return benchmark.counter(name) if benchmark else None


def leaves(run: Run, key: BufferKey) -> dict[int, float]:
    benchmark = source(run, key, "leaves_")
    return benchmark.counters("leaves_") if benchmark else {}


def chunks(run: Run, key: BufferKey) -> dict[int, float]:
    """By order, of the buffer that was mapped."""
    benchmark = source(run, key, "chunks_order")
    return benchmark.counters("chunks_order") if benchmark else {}


def chunks_words(counts: dict[int, float]) -> str:
    return parts_words(counts, {order: f"order {order}" for order in counts})


def leaf_names(sizes: set[int]) -> dict[int, str]:
    return {size: names.bytes_words(size) for size in sizes}


def _parts(view: View, prefix: str, families: tuple[str, ...]) -> list[tuple[Parts, int]]:
    """A row a mix in the main layout, and the iterations behind it."""
    rows: list[tuple[Parts, int]] = []
    for mix in view.mixes:
        benchmark = source(view.run, view.key(mix, view.main_layout), prefix, families)
        counts = benchmark.counters(prefix) if benchmark else {}
        if benchmark and counts:
            rows.append((Parts(mix, counts), benchmark.summary.n))
    return rows


def leaves_by_mix(view: View) -> PartsTable | None:
    rows = _parts(view, "leaves_", COUNTER_FAMILIES)
    sizes = {size for row, _ in rows for size in row.counts}
    return PartsTable(tuple(row for row, _ in rows), leaf_names(sizes), "leaves",
                      frozenset(n for _, n in rows)) if rows else None


def chunks_by_mix(view: View) -> PartsTable | None:
    """Chunks obtained, by their size; None where the page size is not known.

    From `alloc` where it was measured: it allocates a buffer for each sample.
    """
    page = view.run.page_size
    rows = _parts(view, "chunks_order", ("alloc", *COUNTER_FAMILIES))
    if page is None or not rows:
        return None
    orders = {order for row, _ in rows for order in row.counts}
    by_size = tuple(Parts(row.label, {page << order: n for order, n in row.counts.items()})
                    for row, _ in rows)
    return PartsTable(by_size, {page << order: f"order {order}" for order in orders}, "chunks",
                      frozenset(n for _, n in rows))


def commands(run: Run, key: BufferKey) -> dict[str, float]:
    """Commands of one map/unmap cycle that QEMU counted, by name; empty on a board."""
    for family in COUNTER_FAMILIES[:2]:
        benchmark = run.find(family, key)
        if benchmark:
            found = commands_of(benchmark)
            if any(found.values()):
                return found
    return {}


def commands_of(benchmark: Benchmark) -> dict[str, float]:
    """Commands by name: a pair of COMMAND_PAIRS where one of the two was seen."""
    found = {name: benchmark.counter(counter) for counter, name in COMMANDS.items()}
    result: dict[str, float] = {}
    for pair in COMMAND_PAIRS:
        if any(found[name] for name in pair):
            result |= {name: found[name] or 0.0 for name in pair}
    return result


def commands_words(found: dict[str, float]) -> str:
    return " + ".join(f"{names.count_words(value)} {name}" for name, value in found.items())


@dataclass(frozen=True)
class CountTable:
    """Counts by category; every series has every category."""

    categories: tuple[str, ...]
    series: dict[str, tuple[float, ...]]
    n: frozenset[int]  # cycles behind a category

    @property
    def words(self) -> str:
        return "; ".join(
            f"{name}: " + ", ".join(f"{c} {names.count_words(v)}"
                                    for c, v in zip(self.categories, values, strict=True))
            for name, values in self.series.items())


def commands_by_mix(view: View) -> CountTable | None:
    rows = {mix: commands(view.run, view.key(mix, view.main_layout)) for mix in view.mixes}
    rows = {mix: found for mix, found in rows.items() if found}
    if not rows:
        return None
    kinds = [name for name in COMMANDS.values() if any(name in found for found in rows.values())]
    cycles = {b.summary.n for mix in rows
              if (b := source(view.run, view.key(mix, view.main_layout), "", COUNTER_FAMILIES[:2]))}
    return CountTable(tuple(rows), {kind: tuple(found.get(kind, 0.0) for found in rows.values())
                                    for kind in kinds}, frozenset(cycles))
