# SPDX-License-Identifier: Apache-2.0
"""The noise floor: how far measurements of the same thing differ (A/A)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..run import names
from ..run.fields import RunError
from ..run.load import Run
from ..stats import pairs
from ..stats.pairs import Shift
from ..tables import alloc_series

WITHIN = "even against odd blocks of a benchmark"
BETWEEN = "runs of the same thing against each other"
LEAST = 0.001  # a tenth of a percent: less is not claimed of any clock
QUANTILE = 0.8


@dataclass(frozen=True)
class Floor:
    """How large a shift must be to be a difference, as a part of the base's median."""

    by_group: Mapping[str, float] = field(default_factory=dict)
    by_name: Mapping[str, float] = field(default_factory=dict)  # what a benchmark itself showed
    source: str = "nothing was measured twice"

    def of_group(self, group: str) -> float:
        """At least LEAST; of a group that A/A did not see, the largest of those that it saw."""
        largest = max(self.by_group.values(), default=LEAST)
        return max(LEAST, self.by_group.get(group, largest))

    def of(self, *found: names.Name) -> float:
        """Of a comparison of these benchmarks: the largest that holds for one of them."""
        return max(max(self.of_group(group_of(name)), self.by_name.get(name.text, 0.0))
                   for name in found)

    def join(self, other: Floor) -> Floor:
        """The larger of both, one by one."""
        sources = [floor.source for floor in (self, other) if floor.by_group]
        return Floor(_larger(self.by_group, other.by_group), _larger(self.by_name, other.by_name),
                     ", ".join(dict.fromkeys(sources)) or self.source)


def group(family: str, layout: str = "") -> str:
    """Benchmarks that share a floor. Chunks as allocated are another memory in each block,
    scattered ones cost the same wherever they lie."""
    return f"{family}, {layout}" if layout else family


def group_of(name: names.Name) -> str:
    return group(name.family, dict(name.params).get("layout", ""))


def _larger(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {key: max(one.get(key, 0.0), other.get(key, 0.0)) for key in (*one, *other)}


Shifts = list[tuple[names.Name, Shift]]


def halves(run: Run) -> Shifts:
    """Each benchmark's even blocks against its odd ones: blocks are interleaved over the whole run,
    so that both halves met the same drift."""
    result: Shifts = []
    for benchmark in alloc_series.pooled(run).values():
        sides: tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]] = ([], [])
        for place, (_, samples) in enumerate(benchmark.by_block()):
            sides[place % 2].append(samples)
        if sides[1]:
            result.append((benchmark.name, pairs.compare(*(np.concatenate(s) for s in sides))))
    return result


def repeats(runs: Sequence[Run]) -> Shifts:
    """Each benchmark of each two runs of the same thing: what differs from boot to boot, such as
    the memory that is free, does not show within a run.

    RunError for runs that are not of the same thing.
    """
    result: Shifts = []
    for base, other in itertools.combinations(runs, 2):
        differs = differences(base, other)
        if differs:
            what, left, right = differs[0]
            raise RunError(f"{base.folder} and {other.folder} are not runs of the same thing: "
                           f"{what}: {left or 'none'} and {right or 'none'}")
        left_side, right_side = alloc_series.pooled(base), alloc_series.pooled(other)
        result += [(benchmark.name, pairs.compare(benchmark.samples, right_side[text].samples))
                   for text, benchmark in left_side.items() if text in right_side]
    return result


def floor_of(shifts: Shifts, source: str) -> Floor:
    """Each benchmark's own shift, and of a group what QUANTILE of its benchmarks stay below: one
    that drifts does not hide what the others would show."""
    own: dict[str, float] = {}
    groups: dict[str, list[float]] = {}
    for name, shift in shifts:
        part = shift.part(shift.shift)
        if part is not None:
            own[name.text] = max(own.get(name.text, 0.0), abs(part))
            groups.setdefault(group_of(name), []).append(abs(part))
    return Floor({group: float(np.quantile(parts, QUANTILE)) for group, parts in groups.items()},
                 own, source)


def within(runs: Sequence[Run]) -> Floor:
    return floor_of([shift for run in runs for shift in halves(run)],
                    WITHIN)


def between(runs: Sequence[Run]) -> Floor:
    return floor_of(repeats(runs), BETWEEN)


def differences(base: Run, other: Run) -> tuple[tuple[str, str, str], ...]:
    """What would explain a shift besides the thing that is meant to be compared: what, base,
    other."""
    sides = [(("clock", r.clock.kind), ("machine", r.machine), ("kernel", r.kernel["release"]),
              ("kernel command line", r.kernel["cmdline"]), ("IOMMU", r.iommu.driver or "none"),
              ("page sizes", hex(r.iommu.pgsize_bitmap)), ("granule", str(r.iommu.granule)),
              ("domain mode", r.iommu.domain_mode), ("CPU", f"{r.cpu['count']} x {r.cpu['model']}"),
              ("governor", r.cpu["governor"] or "none"), ("target", r.target.get("id", "none")),
              ("module", r.module_version), ("source revision", r.git), ("seed", str(r.seed)))
             for r in (base, other)]
    return tuple((what, left, right) for (what, left), (_, right) in zip(*sides, strict=True)
                 if left != right)
