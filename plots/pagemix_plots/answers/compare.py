# SPDX-License-Identifier: Apache-2.0
"""Runs, or mixes within a run, compared benchmark by benchmark."""

from __future__ import annotations

from dataclasses import dataclass

from ..run import counters, names
from ..run.fields import RunError
from ..run.load import Benchmark, Run
from ..run.names import Name
from ..stats import pairs
from ..stats.pairs import Shift
from ..tables import alloc_series
from . import noise
from .noise import Floor

BETTER, WORSE, SAME, FEW = "better", "worse", "same", "too few"
VERDICTS = {
    BETTER: "costs less, beyond the noise floor",
    WORSE: "costs more, beyond the noise floor",
    SAME: "no difference at the noise floor",
    FEW: "too few samples for an interval",
}
# What the guest counts does not depend on the clock, nor does what is predicted.
COUNTS = (*(c.name for c in counters.KNOWN),
          *(c.predicted for c in counters.KNOWN if c.predicted), "runs")
COUNT_PREFIXES = ("leaves_", "chunks_order")


@dataclass(frozen=True)
class Row:
    """One benchmark. `p` holds for all rows of the comparison together (Holm)."""

    name: Name
    shift: Shift
    p: float
    verdict: str  # BETTER, WORSE, SAME, FEW
    floor: float  # as a part of the base's median

    @property
    def part(self) -> float | None:
        return self.shift.part(self.shift.shift)


@dataclass(frozen=True)
class CountRow:
    name: Name
    counter: str
    base: float
    other: float


@dataclass(frozen=True)
class Comparison:
    base: str
    other: str
    unit: str
    floor: Floor
    rows: tuple[Row, ...]
    counts: tuple[CountRow, ...]  # only those that differ
    counted: int  # counters that both sides have
    refused: str  # why costs were not compared; empty when they were
    differs: tuple[tuple[str, str, str], ...]  # what else is not the same: what, base, other
    alone: tuple[str, ...]  # benchmarks that only one side has
    mixes: dict[str, str]  # steps by name, of both sides

    def regressions(self, above: float) -> list[Row]:
        """Rows that are worse by more than `above` (a part, not percent)."""
        return [row for row in self.rows if row.verdict == WORSE
                and (row.part is None or row.part > above)]


def judge(found: list[tuple[Name, Name, Shift]], floor: Floor) -> tuple[Row, ...]:
    """Of (base, other, shift): corrects for the number of comparisons, then names a difference only
    if it is sure and larger than the floor of both."""
    corrected = pairs.holm([shift.p for *_, shift in found])
    return tuple(Row(base, shift, p, _verdict(shift, p, least), least)
                 for (base, other, shift), p in zip(found, corrected, strict=True)
                 for least in [floor.of(base, other)])


def _verdict(shift: Shift, p: float, floor: float) -> str:
    if shift.low is None or shift.high is None:
        return FEW
    part = shift.part(shift.shift)
    small = abs(part) <= floor if part is not None else shift.shift == 0
    if p >= pairs.ALPHA or small or shift.low <= 0 <= shift.high:
        return SAME
    return WORSE if shift.shift > 0 else BETTER


def runs(base: Run, other: Run, base_label: str, other_label: str,
         floor: Floor | None = None) -> Comparison:
    """Benchmarks of the same name. `floor` is one known beside that within the runs, such as that
    between boots. RunError when the runs have nothing that compares."""
    left, right = alloc_series.pooled(base), alloc_series.pooled(other)
    shared = [name for name in left if name in right]
    alone = sorted(set(left) ^ set(right))
    refused = _clocks(base, other)
    sides = [(left[name], right[name]) for name in sorted(shared)]
    comparison = _compare(sides, noise.within([base, other]).join(floor or Floor()), base_label,
                          other_label, base.clock.unit, refused, noise.differences(base, other),
                          tuple(alone), other.mixes | base.mixes)
    if not shared:
        raise RunError(f"{base_label} and {other_label}: no benchmark in common")
    if refused and not comparison.counted:
        raise RunError(f"{base_label} and {other_label}: {refused}; nor is there a count that "
                       "both have")
    return comparison


def mixes(run: Run, label: str, base: str, other: str) -> Comparison:
    """Two mixes of one run, on the same buffers. RunError when one was not measured."""
    benchmarks = alloc_series.pooled(run)
    found = {benchmark.name.text.replace(f"/mix:{other}", f"/mix:{base}", 1): benchmark
             for benchmark in benchmarks.values()
             if dict(benchmark.name.params).get("mix") == other}
    sides = [(benchmarks[text], benchmark) for text, benchmark in sorted(found.items())
             if text in benchmarks]
    known = sorted({mix for b in run.benchmarks.values()
                    if (mix := dict(b.name.params).get("mix"))}, key=run.mix_rank)
    return _within(run, label, "mix", (base, other), sides, known)


def domains(run: Run, label: str, base: str, other: str) -> Comparison:
    """Two domain modes of one run, on the same buffers. RunError when one was not measured."""
    own = run.iommu.domain_mode
    by_mode: dict[str, dict[str, Benchmark]] = {}
    for text, benchmark in alloc_series.pooled(run).items():
        mode = dict(benchmark.name.params).get("domain", own)
        by_mode.setdefault(mode, {})[names.without_domain(text, mode)] = benchmark
    sides = [(benchmark, by_mode.get(other, {})[text])
             for text, benchmark in sorted(by_mode.get(base, {}).items())
             if text in by_mode.get(other, {})]
    return _within(run, label, "domain mode", (base, other), sides, sorted(by_mode))


def _within(run: Run, label: str, what: str, pair: tuple[str, str],
            sides: list[tuple[Benchmark, Benchmark]], known: list[str]) -> Comparison:
    base, other = pair
    if not sides or base == other:
        raise RunError(f"{run.folder}: no benchmark of both {what} {base} and {what} {other}; "
                       f"it has {', '.join(known) or 'none'}")
    return _compare(sides, noise.within([run]), f"{label}, {base}", f"{label}, {other}",
                    run.clock.unit, _noise(run), (), (), run.mixes)


def _compare(sides: list[tuple[Benchmark, Benchmark]], floor: Floor, base: str, other: str,
             unit: str, refused: str, differs: tuple[tuple[str, str, str], ...],
             alone: tuple[str, ...], mixes: dict[str, str]) -> Comparison:
    found = [] if refused else [
        (a.name, b.name, pairs.compare(a.samples, b.samples)) for a, b in sides]
    counts: list[CountRow] = []
    counted = 0
    for a, b in sides:
        for counter in _counters(a, b):
            left, right = a.counter(counter) or 0.0, b.counter(counter) or 0.0
            counted += 1
            if left != right:
                counts.append(CountRow(a.name, counter, left, right))
    return Comparison(base, other, unit, floor, judge(found, floor), tuple(counts), counted,
                      refused, differs, alone, mixes)


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
