# SPDX-License-Identifier: Apache-2.0
"""Series of held allocations: from a run's alloc_series entries or from a published table."""

from __future__ import annotations

import csv
import math
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..run import names
from ..run.fields import RunError
from ..run.load import Benchmark, Block, Run
from ..stats.stats import summarize
from . import tables_use
from .data import Rows, cell
from .tables_use import Bar, BarTable

FAMILY = "alloc_series"
PARTS = ("compaction", "reclaim", "zero", "kswapd", "kcompactd", "others", "idle", "interrupts",
         "other", "rest")
# `part_other` by who had the CPU, where the run says so.
OFF = ("kswapd", "kcompactd", "others", "idle", "interrupts")
MEMORY = ("fresh", "enough", "low", "fragmented", "pinned", "aged")  # in the order of distress
_COLUMNS = ["orders", "gfp", "memory", "set", "allocation", "usec", "order8", "order4", "order0"]
_GFP = ("high", "mid", "low")


@dataclass(frozen=True)
class Allocation:
    number: int  # in its set, from 1
    cost: float
    chunks: dict[int, float]  # obtained, by order; no zeros
    parts: dict[str, float]


@dataclass(frozen=True)
class Series:
    """The allocations of one policy in one state of memory, set after set."""

    policy: str  # a mix's name
    memory: str
    heap: str  # "" where only one is known
    sets: tuple[tuple[Allocation, ...], ...]
    unit: str
    source: str  # label of the run, or "published"
    traced: bool = True  # False: the series that the cost of tracing is told by
    bytes: int = 0  # of one allocation; 0 where it is not said

    @property
    def title(self) -> str:
        heap = f", {self.heap} heap" if self.heap else ""
        size = f", {names.bytes_words(self.bytes)}" if self.bytes else ""
        traced = "" if self.traced else ", not traced"
        return f"{self.policy}{heap}{size}, memory {self.memory}{traced}"

    @property
    def all(self) -> list[Allocation]:
        return [allocation for one in self.sets for allocation in one]

    @property
    def costs(self) -> NDArray[np.float64]:
        return np.array([allocation.cost for allocation in self.all])

    @property
    def orders(self) -> list[int]:
        return sorted({order for a in self.all for order in a.chunks})

    def rows(self) -> Rows:
        """The data behind a panel, a header first."""
        kinds = sorted({name for a in self.all for name in a.parts}, key=_part_rank)
        head = ("source", "policy", "heap", "memory", "set", "allocation", self.unit,
                *(f"order {order}" for order in self.orders), *kinds)
        return (head, *(
            (self.source, self.policy, self.heap, self.memory, str(place), str(a.number),
             cell(a.cost), *(cell(a.chunks.get(order, 0.0)) for order in self.orders),
             *(cell(a.parts.get(kind)) for kind in kinds))
            for place, one in enumerate(self.sets, 1) for a in one))

    @property
    def words(self) -> str:
        summary = summarize(self.costs)
        chunks = {o: sum(a.chunks.get(o, 0.0) for a in self.all) / len(self.all)
                  for o in self.orders}
        mean = " + ".join(f"{names.count_words(n)} x order {o}"
                          for o, n in sorted(chunks.items(), reverse=True))
        return (f"{self.title}: median {names.count_words(summary.median)} {self.unit}, "
                f"max {names.count_words(summary.max)}, n = {summary.n}; mean chunks {mean}")


def _part_rank(name: str) -> tuple[int, str]:
    return (PARTS.index(name) if name in PARTS else len(PARTS), name)


def memory_rank(state: str) -> tuple[int, str]:
    return (MEMORY.index(state), "") if state in MEMORY else (len(MEMORY), state)


def _sorted(series: list[Series], mixes: Mapping[str, str]) -> list[Series]:
    return sorted(series, key=lambda s: (names.size_rank(s.bytes), memory_rank(s.memory),
                                         names.mix_rank(s.policy, mixes), s.heap, not s.traced))


def of_run(run: Run, label: str) -> list[Series]:
    """Series of a run's entries, by state of memory and policy."""
    found: dict[tuple[str, str, str, bool, int], dict[int, dict[int, Allocation]]] = {}
    for benchmark in run.benchmarks.values():
        params = dict(benchmark.name.params)
        number = params.get("allocation", "")
        if not _one_of_a_series(benchmark):
            continue
        size = params.get("bytes", "")
        key = (params.get("mix", ""), params.get("memory", "fresh"), params.get("heap", ""),
               params.get("trace") != "off", int(size) if size.isdigit() else 0)
        for block, part in benchmark.by_block():
            chunks = {int(k[len("chunks_order"):]): v for k, v in block.counters.items()
                      if k.startswith("chunks_order") and k[len("chunks_order"):].isdigit() and v}
            found.setdefault(key, {}).setdefault(block.index, {})[int(number)] = Allocation(
                int(number), float(np.median(part)), chunks, _parts(block.counters))
    return _sorted([
        Series(policy, memory, heap,
               tuple(tuple(allocations[n] for n in sorted(allocations))
                     for _, allocations in sorted(sets.items())),
               run.clock.unit, label, traced, size)
        for (policy, memory, heap, traced, size), sets in found.items()],
        run.mixes)


def _one_of_a_series(benchmark: Benchmark) -> bool:
    return (benchmark.name.family == FAMILY
            and dict(benchmark.name.params).get("allocation", "").isdigit())


def pooled(run: Run) -> dict[str, Benchmark]:
    """The run's benchmarks, each series of allocations as one: a single allocation has a sample
    a set, too few to compare. A block is then a set, its chunks the mean of an allocation."""
    result: dict[str, Benchmark] = {}
    series: dict[str, list[Benchmark]] = {}
    for text, benchmark in run.benchmarks.items():
        if _one_of_a_series(benchmark):
            whole = "/".join(part for part in text.split("/")
                             if not part.startswith("allocation:"))
            series.setdefault(whole, []).append(benchmark)
        else:
            result[text] = benchmark
    return result | {text: _pool(text, parts) for text, parts in series.items()}


def _pool(text: str, parts: list[Benchmark]) -> Benchmark:
    by_set: dict[int, list[tuple[Block, NDArray[np.float64]]]] = {}
    for benchmark in parts:
        for block, samples in benchmark.by_block():
            by_set.setdefault(block.index, []).append((block, samples))
    blocks: list[Block] = []
    taken: list[NDArray[np.float64]] = []
    for index, found in sorted(by_set.items()):
        chunks = {key for block, _ in found for key in block.counters
                  if key.startswith("chunks_order")}
        count = sum(block.iterations for block, _ in found)
        blocks.append(Block(index, count, {
            key: sum(block.counters.get(key, 0.0) * block.iterations for block, _ in found) / count
            for key in sorted(chunks)}))
        taken += [part for _, part in found]
    return Benchmark(names.parse(text), tuple(blocks), np.concatenate(taken))


def _parts(counters: dict[str, float]) -> dict[str, float]:
    """Parts of one allocation; what others did by who they were, if that is all of it."""
    parts = {k[len("part_"):]: v for k, v in counters.items() if k.startswith("part_")}
    off = {who: counters[f"off_{who}"] for who in OFF if counters.get(f"off_{who}")}
    if off and math.isclose(sum(off.values()), parts.get("other", 0.0), rel_tol=0.01):
        del parts["other"]
        parts |= off
    return parts


def tracing_cost(series: list[Series]) -> list[tuple[Series, float]]:
    """What tracing adds to a series' median, as a part of it, where both were measured."""
    plain = {(s.policy, s.memory, s.heap): s for s in series if not s.traced}
    return [(s, float(np.median(s.costs) / np.median(other.costs)) - 1) for s in series
            if s.traced and (other := plain.get((s.policy, s.memory, s.heap)))
            and np.median(other.costs) > 0]


def policy_of(orders: str, gfp: str) -> str:
    """'8,4,0' and 'high,mid,low' -> '8-4-0-mid'; ValueError on what is no mix."""
    steps, classes = orders.split(","), gfp.split(",")
    if len(steps) != len(classes) or not all(s.isdigit() for s in steps):
        raise ValueError(f"orders {orders!r} and gfp {gfp!r} do not belong together")
    wrong = [c for c in classes if c not in _GFP]
    if wrong:
        raise ValueError(f"gfp class {wrong[0]!r}: want one of {', '.join(_GFP)}")
    return "-".join(steps) + ("-mid" if "mid" in classes else "")


def published(path: str | pathlib.Path) -> list[Series]:
    """A published table (tests/data/heap-alloc-2023.csv); RunError names file, line and column."""
    file = pathlib.Path(path)
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.reader(stream))
    except OSError as error:
        raise RunError(f"{file}: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise RunError(f"{file}: not a CSV text: {error}") from None
    if not rows or rows[0] != _COLUMNS:
        raise RunError(f"{file}: line 1: want the columns {','.join(_COLUMNS)}")
    if len(rows) == 1:
        raise RunError(f"{file}: holds no allocation")
    found: dict[tuple[str, str], dict[int, dict[int, Allocation]]] = {}
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(_COLUMNS):
            raise RunError(f"{file}: line {line}: want {len(_COLUMNS)} columns, found {len(row)}")
        cells = dict(zip(_COLUMNS, row, strict=True))
        numbers: dict[str, int] = {}
        for column in _COLUMNS[3:]:
            if not cells[column].isdigit():
                raise RunError(f"{file}: line {line}: {column}: want a whole number, found "
                               f"{cells[column]!r}")
            numbers[column] = int(cells[column])
        try:
            key = (policy_of(cells["orders"], cells["gfp"]), cells["memory"])
        except ValueError as error:
            raise RunError(f"{file}: line {line}: {error}") from None
        chunks = {order: float(numbers[f"order{order}"]) for order in (8, 4, 0)
                  if numbers[f"order{order}"]}
        one = found.setdefault(key, {}).setdefault(numbers["set"], {})
        if numbers["allocation"] in one:
            raise RunError(f"{file}: line {line}: allocation: {numbers['allocation']} twice in "
                           f"set {numbers['set']}")
        one[numbers["allocation"]] = Allocation(numbers["allocation"], float(numbers["usec"]),
                                                chunks, {})
    return _sorted([
        Series(policy, memory, "", tuple(tuple(a[n] for n in sorted(a))
                                         for _, a in sorted(sets.items())), "us", "published")
        for (policy, memory), sets in found.items()], {})


def attribution(series: list[Series]) -> BarTable | None:
    """Mean parts of an allocation, a bar for each series that has them."""
    bars: list[Bar] = []
    for one in series:
        allocations = [a for a in one.all if a.parts]
        if not allocations:
            continue
        kinds = {name for a in allocations for name in a.parts}
        parts = {name: float(np.mean([a.parts.get(name, 0.0) for a in allocations]))
                 for name in kinds}
        heap = f"{one.heap}, " if one.heap else ""
        bars.append(Bar(f"{one.policy}\n{heap}{one.memory}", parts,
                        summarize([a.cost for a in allocations])))
    return tables_use.bar_table(bars, PARTS, series[0].unit) if bars else None


def unexplained(series: Series) -> float:
    """The largest distance of an allocation's parts from its whole, as a part of the whole."""
    gaps = [abs(sum(a.parts.values()) - a.cost) / a.cost for a in series.all
            if a.parts and a.cost]
    return max(gaps, default=0.0)
