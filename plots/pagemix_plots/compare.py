# SPDX-License-Identifier: Apache-2.0
"""Runs, or mixes within a run, compared benchmark by benchmark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from . import names, pairs
from .fields import RunError
from .load import Benchmark, Run
from .pairs import Shift

BETTER, WORSE, SAME, FEW = "better", "worse", "same", "too few"
VERDICTS = {
    BETTER: "costs less, beyond the noise floor",
    WORSE: "costs more, beyond the noise floor",
    SAME: "no difference at the noise floor",
    FEW: "too few samples for an interval",
}
# The part of A/A shifts that lie below the floor.
FLOOR_QUANTILE = 0.95
LEAST_FLOOR = 0.001  # a tenth of a percent: less is not claimed of any clock
# What the guest counts does not depend on the clock, nor does what is predicted.
COUNTS = ("smmu_cmd_tlbi", "smmu_cmd_sync", "iotlb_hit", "iotlb_miss", "viommu_map",
          "viommu_unmap", "map_calls", "unmap_calls", "tlbi_predicted", "runs")
COUNT_PREFIXES = ("leaves_", "chunks_order")


@dataclass(frozen=True)
class Row:
    """One benchmark. `p` holds for all rows of the comparison together (Holm)."""

    name: names.Name
    shift: Shift
    p: float
    verdict: str  # BETTER, WORSE, SAME, FEW

    @property
    def part(self) -> float | None:
        return self.shift.part(self.shift.shift)


@dataclass(frozen=True)
class CountRow:
    name: names.Name
    counter: str
    base: float
    other: float


@dataclass(frozen=True)
class Comparison:
    base: str
    other: str
    unit: str
    floor: float  # as a part of the base's median
    rows: tuple[Row, ...]
    counts: tuple[CountRow, ...]  # only those that differ
    counted: int  # counters that both sides have
    refused: str  # why costs were not compared; empty when they were
    differs: tuple[tuple[str, str, str], ...]  # what else is not the same: what, base, other
    alone: tuple[str, ...]  # benchmarks that only one side has

    def regressions(self, above: float) -> list[Row]:
        """Rows that are worse by more than `above` (a part, not percent)."""
        return [row for row in self.rows if row.verdict == WORSE
                and (row.part is None or row.part > above)]


def noise_floor(runs: Iterable[Run]) -> float:
    """A/A: even blocks of each benchmark against its odd blocks.

    Blocks are interleaved over the whole run, so that both halves met the same
    drift. The floor is below the shift of one in twenty benchmarks; LEAST_FLOOR
    where no benchmark has two blocks.
    """
    shifts = [abs(part) for run in runs for _, shift in halves(run)
              if (part := shift.part(shift.shift)) is not None]
    return max(LEAST_FLOOR, float(np.quantile(shifts, FLOOR_QUANTILE))) if shifts else LEAST_FLOOR


def halves(run: Run) -> list[tuple[names.Name, Shift]]:
    """Each benchmark's even blocks against its odd ones."""
    result: list[tuple[names.Name, Shift]] = []
    for benchmark in run.benchmarks.values():
        sides: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
        start = 0
        for place, block in enumerate(benchmark.blocks):
            sides[place % 2].append(benchmark.samples[start:start + block.iterations])
            start += block.iterations
        if sides[1]:
            result.append((benchmark.name, pairs.compare(*(np.concatenate(s) for s in sides))))
    return result


def judge(found: list[tuple[names.Name, Shift]], floor: float) -> tuple[Row, ...]:
    """Corrects for the number of comparisons, then names a difference only if it is sure and
    larger than the floor."""
    corrected = pairs.holm([shift.p for _, shift in found])
    return tuple(Row(name, shift, p, _verdict(shift, p, floor))
                 for (name, shift), p in zip(found, corrected, strict=True))


def _verdict(shift: Shift, p: float, floor: float) -> str:
    if shift.low is None or shift.high is None:
        return FEW
    part = shift.part(shift.shift)
    small = abs(part) <= floor if part is not None else shift.shift == 0
    if p >= pairs.ALPHA or small or shift.low <= 0 <= shift.high:
        return SAME
    return WORSE if shift.shift > 0 else BETTER


def runs(base: Run, other: Run, base_label: str, other_label: str) -> Comparison:
    """Benchmarks of the same name. RunError when the runs have nothing that compares."""
    shared = [name for name in base.benchmarks if name in other.benchmarks]
    alone = sorted(set(base.benchmarks) ^ set(other.benchmarks))
    refused = _clocks(base, other)
    sides = [(base.benchmarks[name], other.benchmarks[name]) for name in sorted(shared)]
    comparison = _compare(sides, noise_floor([base, other]), base_label, other_label,
                          base.clock.unit, refused, _differences(base, other), tuple(alone))
    if not shared:
        raise RunError(f"{base_label} and {other_label}: no benchmark in common")
    if refused and not comparison.counted:
        raise RunError(f"{base_label} and {other_label}: {refused}; nor is there a count that "
                       "both have")
    return comparison


def mixes(run: Run, label: str, base: str, other: str) -> Comparison:
    """Two mixes of one run, on the same buffers. RunError when one was not measured."""
    by_text: dict[str, Benchmark] = {}
    for benchmark in run.benchmarks.values():
        if dict(benchmark.name.params).get("mix") == other:
            by_text[benchmark.name.text.replace(f"/mix:{other}", f"/mix:{base}", 1)] = benchmark
    sides = [(run.benchmarks[text], benchmark) for text, benchmark in sorted(by_text.items())
             if text in run.benchmarks]
    if not sides:
        known = sorted({mix for b in run.benchmarks.values()
                        if (mix := dict(b.name.params).get("mix"))}, key=names.mix_rank)
        raise RunError(f"{run.folder}: no benchmark of both mix {base} and mix {other}; "
                       f"it has {', '.join(known) or 'none'}")
    return _compare(sides, noise_floor([run]), f"{label}, {base}", f"{label}, {other}",
                    run.clock.unit, _noise(run), (), ())


def _compare(sides: list[tuple[Benchmark, Benchmark]], floor: float, base: str, other: str,
             unit: str, refused: str, differs: tuple[tuple[str, str, str], ...],
             alone: tuple[str, ...]) -> Comparison:
    found = [] if refused else [(a.name, pairs.compare(a.samples, b.samples)) for a, b in sides]
    counts: list[CountRow] = []
    counted = 0
    for a, b in sides:
        for counter in _counters(a, b):
            left, right = a.counter(counter) or 0.0, b.counter(counter) or 0.0
            counted += 1
            if left != right:
                counts.append(CountRow(a.name, counter, left, right))
    return Comparison(base, other, unit, floor, judge(found, floor), tuple(counts), counted,
                      refused, differs, alone)


def _counters(a: Benchmark, b: Benchmark) -> list[str]:
    """Counts that either side has; a kind of leaf or chunk that one has not counts as none."""
    def of(benchmark: Benchmark) -> set[str]:
        return {key for block in benchmark.blocks for key in block.counters}

    left, right = of(a), of(b)
    result = [key for key in COUNTS if key in left and key in right]
    for prefix in COUNT_PREFIXES:
        kinds = [{key for key in side if key.startswith(prefix)} for side in (left, right)]
        if all(kinds):
            result += sorted(kinds[0] | kinds[1])
    return result


def _noise(run: Run) -> str:
    return f"clock {run.clock.kind} is noise: costs are not compared" if run.clock.is_noise else ""


def _clocks(base: Run, other: Run) -> str:
    if base.clock.kind != other.clock.kind:
        return (f"clocks {base.clock.kind} and {other.clock.kind} do not compare: costs are left "
                "out, counts are not")
    return _noise(base)


def _differences(base: Run, other: Run) -> tuple[tuple[str, str, str], ...]:
    """What would explain a shift besides the thing that is meant to be compared."""
    sides = [(("machine", r.machine), ("kernel", r.kernel["release"]),
              ("kernel command line", r.kernel["cmdline"]), ("IOMMU", r.iommu.driver or "none"),
              ("page sizes", hex(r.iommu.pgsize_bitmap)), ("granule", str(r.iommu.granule)),
              ("domain mode", r.iommu.domain_mode), ("CPU", f"{r.cpu['count']} x {r.cpu['model']}"),
              ("governor", r.cpu["governor"] or "none"), ("target", r.target.get("id", "none")),
              ("module", r.module_version), ("source revision", r.git), ("seed", str(r.seed)))
             for r in (base, other)]
    return tuple((what, left, right) for (what, left), (_, right) in zip(*sides, strict=True)
                 if left != right)
