# SPDX-License-Identifier: Apache-2.0
"""Predicted against counted: does the IOMMU do what the page-size rule says?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..run import counters
from ..run.load import Run
from ..run.names import Name, count_words, list_words

# predicted counter, counted counter, part of the driver name that issues the commands
PAIRS = tuple((c.predicted, c.name, c.iommu) for c in counters.KNOWN if c.predicted)

# Counts that each table which a large leaf takes the place of raises by one.
TABLE_COUNTERS = ("smmu_cmd_tlbi", "smmu_cmd_sync")


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
    replaced: tuple[Mismatch, ...] = ()  # explained: leaves in place of emptied tables

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
        if self.replaced:
            rest += (f" {len(self.replaced):,} cold entries count up to "
                     f"{count_words(max(m.counted - m.predicted for m in self.replaced))} more: a "
                     "large leaf takes the place of the emptied table that a smaller buffer left, "
                     "which is invalidated first (io-pgtable-arm's arm_lpae_init_pte).")
        if self.mismatches:
            return (f"MISMATCH: {pair} differ in {len(self.mismatches):,} of "
                    f"{self.compared:,} entries that carry both, in "
                    f"{list_words(sorted({m.group for m in self.mismatches}))}.{rest}")
        if self.replaced:
            return (f"{pair} are equal in {self.compared - len(self.replaced):,} of "
                    f"{self.compared:,} entries that carry both.{rest}")
        return f"{pair} are equal in all {self.compared:,} entries that carry both.{rest}"


def _replaces_tables(run: Run, name: Name, counters: dict[str, float], more: float) -> bool:
    """Whether so many commands more can be tables that large leaves took the place of.

    Linux 6.12 io-pgtable-arm.c: unmapping a part of what a table covers leaves the
    table; a block mapped there later invalidates and frees it, once. Only a cold
    map, at another address each time, meets such tables within the measured phase,
    and only buffers smaller than the block leave them.
    """
    leaves = {int(size): count for key, count in counters.items()
              if (size := key.removeprefix("leaves_")) != key and size.isdigit()}
    large = {size: count for size, count in leaves.items() if size > run.iommu.granule}
    return (name.key is not None and name.key.state == "cold" and bool(large)
            and 0 < more <= sum(large.values())
            and any(key.bytes % min(large) for key in run.keys))


def _group(name: Name) -> str:
    return f"{name.family} ({name.key.state})" if name.key else name.family


def check_run(run: Run) -> list[Check]:
    """A check for each pair that applies to the run's IOMMU.

    A pair applies when the driver is the one that issues the command, or when
    the command was seen although it is not, and the run predicts it at all.
    """
    checks: list[Check] = []
    for predicted, counted, driver in PAIRS:
        compared = uncounted = 0
        seen = foretold = False
        mismatches: list[Mismatch] = []
        replaced: list[Mismatch] = []
        for benchmark in run.benchmarks.values():
            for block in benchmark.blocks:
                want, got = block.counters.get(predicted), block.counters.get(counted)
                seen = seen or bool(got)
                foretold = foretold or want is not None
                if want is None or got is None:
                    uncounted += want is not None
                    continue
                compared += 1
                # Counts are whole; only the division by the iterations rounds.
                if not math.isclose(want, got, rel_tol=1e-9, abs_tol=1e-9):
                    found = Mismatch(benchmark.name.text, _group(benchmark.name), block.index,
                                     want, got)
                    explained = counted in TABLE_COUNTERS and _replaces_tables(
                        run, benchmark.name, block.counters, got - want)
                    (replaced if explained else mismatches).append(found)
        if foretold and (driver in run.iommu.driver.lower() or seen):
            checks.append(Check(predicted, counted, compared, tuple(mismatches), uncounted,
                                tuple(replaced)))
    return checks
