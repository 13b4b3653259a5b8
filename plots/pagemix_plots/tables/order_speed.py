# SPDX-License-Identifier: Apache-2.0
"""How fast blocks of one order come in a state of memory, and what the kernel did for them."""

from __future__ import annotations

from dataclasses import dataclass

from ..run import names
from ..run.load import Block, Run
from ..stats.stats import Summary
from .alloc_series import memory_rank
from .data import Rows, cell
from .tables import CostTable, Series

FAMILY = "order_speed"
COUNTS = ("compact_stall", "compact_success", "compact_fail", "allocstall", "pgscan_direct")


@dataclass(frozen=True)
class Speed:
    """All sets of one order in one state."""

    memory: str
    order: int
    bytes: int  # wanted, in all blocks of a set
    cost: Summary  # of an attempt
    wanted: float  # blocks of all sets, as `obtained` and `counts`
    obtained: float
    counts: dict[str, float]  # vmstat deltas
    per_billion: float  # blocks obtained in 1e9 of the clock's units: a second where they are ns

    @property
    def label(self) -> str:
        return (f"{self.memory}, order {self.order}\n{names.count_words(self.obtained)} of "
                f"{names.count_words(self.wanted)}, {names.count_words(self.counts[COUNTS[0]])} "
                "stalls")


def of_run(run: Run) -> list[Speed]:
    """By state in the order of distress, then by order."""
    found: list[Speed] = []
    for benchmark in run.benchmarks.values():
        params = dict(benchmark.name.params)
        if benchmark.name.family != FAMILY or not params.get("order", "").isdigit():
            continue

        def total(key: str, blocks: tuple[Block, ...] = benchmark.blocks) -> float:
            return sum(block.counters.get(key, 0.0) for block in blocks)

        cost = float(benchmark.samples.sum())
        found.append(Speed(params.get("memory", "fresh"), int(params["order"]),
                           int(params.get("bytes", "0")), benchmark.summary,
                           total("blocks_wanted"), total("blocks"),
                           {key: total(key) for key in COUNTS},
                           total("blocks") * 1e9 / cost if cost else 0.0))
    return sorted(found, key=lambda s: (memory_rank(s.memory), s.order, s.bytes))


def rate_words(unit: str) -> str:
    return "blocks a second" if unit == "ns" else f"blocks in 1e9 {unit}"


def table(speeds: list[Speed], unit: str) -> CostTable:
    return CostTable(tuple(s.label for s in speeds),
                     (Series("attempt", {s.label: s.cost for s in speeds}),), unit)


def words(speeds: list[Speed], unit: str) -> str:
    return "; ".join(s.label.replace("\n", ": ") + f", {names.count_words(s.per_billion)} "
                     + rate_words(unit) for s in speeds)


def rows(speeds: list[Speed], unit: str) -> Rows:
    head = ("memory", "order", "bytes", f"median {unit}", "n", "blocks wanted", "blocks",
            rate_words(unit), *COUNTS)
    return (head, *((s.memory, str(s.order), str(s.bytes), cell(s.cost.median), str(s.cost.n),
                     cell(s.wanted), cell(s.obtained), cell(s.per_billion),
                     *(cell(s.counts[key]) for key in COUNTS)) for s in speeds))
