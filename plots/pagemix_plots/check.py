# SPDX-License-Identifier: Apache-2.0
"""Predicted against counted: does the IOMMU do what the page-size rule says?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .load import Run
from .names import Name, count_words, list_words

# predicted counter, counted counter, part of the driver name that issues the commands
PAIRS = (
    ("map_calls", "viommu_map", "virtio"),
    ("unmap_calls", "viommu_unmap", "virtio"),
    ("tlbi_predicted", "smmu_cmd_tlbi", "smmu"),
)


@dataclass(frozen=True)
class Mismatch:
    name: str
    group: str  # family and state, to tell where mismatches gather
    block: int
    predicted: float
    counted: float

    @property
    def words(self) -> str:
        return (f"{self.name}, block {self.block}: predicted {count_words(self.predicted)}, "
                f"counted {count_words(self.counted)}")


@dataclass(frozen=True)
class Check:
    """One pair of counters over a whole run."""

    predicted: str
    counted: str
    compared: int  # entries (name and block) that carry both
    mismatches: tuple[Mismatch, ...]
    uncounted: int  # entries with a prediction that nothing was counted for

    @property
    def passed(self) -> bool:
        return self.compared > 0 and not self.mismatches and not self.uncounted

    @property
    def words(self) -> str:
        pair = f"{self.predicted} and {self.counted}"
        if not self.compared:
            return f"{pair}: no entry carries both, nothing was checked."
        rest = (f" {self.uncounted:,} more have a prediction but no count."
                if self.uncounted else "")
        if self.mismatches:
            return (f"MISMATCH: {pair} differ in {len(self.mismatches):,} of "
                    f"{self.compared:,} entries that carry both, in "
                    f"{list_words(sorted({m.group for m in self.mismatches}))}.{rest}")
        return f"{pair} are equal in all {self.compared:,} entries that carry both.{rest}"


def _group(name: Name) -> str:
    return f"{name.family} ({name.key.state})" if name.key else name.family


def check_run(run: Run) -> list[Check]:
    """A check for each pair that applies to the run's IOMMU.

    A pair applies when the driver is the one that issues the command, or when
    the command was seen although it is not. On a machine without IOMMU
    commands in its counters the result may be empty.
    """
    checks: list[Check] = []
    for predicted, counted, driver in PAIRS:
        compared = uncounted = 0
        seen = False
        mismatches: list[Mismatch] = []
        for benchmark in run.benchmarks.values():
            for block in benchmark.blocks:
                want, got = block.counters.get(predicted), block.counters.get(counted)
                seen = seen or bool(got)
                if want is None or got is None:
                    uncounted += want is not None
                    continue
                compared += 1
                # Counts are whole; only the division by the iterations rounds.
                if not math.isclose(want, got, rel_tol=1e-9, abs_tol=1e-9):
                    mismatches.append(Mismatch(benchmark.name.text, _group(benchmark.name),
                                               block.index, want, got))
        if driver in run.iommu.driver.lower() or seen:
            checks.append(Check(predicted, counted, compared, tuple(mismatches), uncounted))
    return checks
