# SPDX-License-Identifier: Apache-2.0
"""What one buffer costs over its life, and from how many uses one mix is cheaper than another."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..run import names
from ..run.load import Run
from ..stats import stats
from ..stats.stats import CONFIDENCE, RESAMPLES
from ..tables import alloc_series

ALWAYS, NEVER, FROM, UNTIL, EQUAL, UNDECIDED = (
    "always", "never", "from", "until", "equal", "undecided")
FRESH = "as the run found it"
WORTH = 0.005  # a difference of a smaller part of a cost is no reason to choose


@dataclass(frozen=True)
class Part:
    """A cost in the clock's unit, and what it may be as well: bootstrap draws of its median."""

    value: float
    draws: NDArray[np.float64]
    n: int  # samples behind it

    @staticmethod
    def of(samples: ArrayLike, seed: int = stats.SEED) -> Part:
        ordered = np.sort(stats.checked(samples))
        draws = stats.bootstrap_quantile(ordered, 0.5, np.random.default_rng(seed))
        return Part(float(np.median(ordered)), draws, int(ordered.size))

    @staticmethod
    def exactly(value: float) -> Part:
        """A published or assumed number, without a spread of its own."""
        return Part(value, np.full(RESAMPLES, value), 1)

    def times(self, factor: float) -> Part:
        return Part(self.value * factor, self.draws * factor, self.n)


def total(parts: Sequence[Part]) -> Part:
    value = math.fsum(part.value for part in parts)
    draws = np.sum([part.draws for part in parts], axis=0) if parts else np.zeros(RESAMPLES)
    return Part(value, draws, min((part.n for part in parts), default=0))


@dataclass(frozen=True)
class Life:
    """Costs of one buffer of a mix: once, and for each use."""

    mix: str
    once: Mapping[str, Part]
    use: Mapping[str, Part]
    missing: tuple[str, ...] = field(default=())  # parts that the run did not measure

    @property
    def fixed(self) -> Part:
        return total(list(self.once.values()))

    @property
    def each(self) -> Part:
        return total(list(self.use.values()))

    def cost(self, uses: float) -> float:
        return self.fixed.value + uses * self.each.value


@dataclass(frozen=True)
class BreakEven:
    """From how many uses `other` is cheaper than `base`.

    `kind` is ALWAYS or NEVER (whatever the uses), FROM or UNTIL `uses`, EQUAL,
    or UNDECIDED when fewer than 95 % of the draws agree. `low` and `high` bound
    `uses` at 95 %.
    """

    base: Life
    other: Life
    kind: str
    uses: float | None
    low: float | None
    high: float | None
    agreed: float  # part of the draws that fall into the kind of the medians
    likely: str  # kind of the medians, also when it is undecided
    floor: float  # the part of a cost that a difference has to exceed, once or for each use

    @property
    def extra(self) -> float:
        """What other costs more, once."""
        return self.other.fixed.value - self.base.fixed.value

    @property
    def saving(self) -> float:
        """What other costs less, for each use."""
        return self.base.each.value - self.other.each.value


def break_even(base: Life, other: Life, floor: Callable[[str], float] = lambda family: WORTH
               ) -> BreakEven:
    """`floor` is the noise floor of a family. Differences within those of the parts, added up, or
    within WORTH of them, are none."""
    base_once, base_use, once, use = (
        total([_shuffled(part, (place, index)) for index, part in enumerate(parts.values())])
        for place, parts in enumerate((base.once, base.use, other.once, other.use)))
    extra = np.array([once.value - base_once.value])
    saving = np.array([base_use.value - use.value])
    slack_once = max(_slack(life.once, floor) for life in (base, other))
    slack_use = max(_slack(life.use, floor) for life in (base, other))
    likely = str(_kinds(extra, saving, slack_once, slack_use)[0])
    extras, savings = once.draws - base_once.draws, base_use.draws - use.draws
    kinds = _kinds(extras, savings, slack_once, slack_use)
    same = kinds == likely
    agreed = float(same.mean())
    kind = likely if agreed >= CONFIDENCE else UNDECIDED
    uses = low = high = None
    if likely in (FROM, UNTIL):
        uses = float(extra[0] / saving[0])
        if kind != UNDECIDED:
            tail = (1 - CONFIDENCE) / 2
            ends = np.quantile(extras[same] / savings[same], (tail, 1 - tail))
            low, high = float(ends[0]), float(ends[1])
    part = max(slack / larger if larger else 0.0 for slack, larger in (
        (slack_once, max(base_once.value, once.value)),
        (slack_use, max(base_use.value, use.value))))
    return BreakEven(base, other, kind, uses, low, high, agreed, likely, part)


def _slack(parts: Mapping[str, Part], floor: Callable[[str], float]) -> float:
    return math.fsum(max(WORTH, floor(family)) * part.value for family, part in parts.items())


def _shuffled(part: Part, place: tuple[int, int]) -> Part:
    """Draws of parts of the same size come from the same random numbers: their order would move
    them together, as if the parts depended on each other."""
    order = np.random.default_rng([stats.SEED, *place]).permutation(part.draws.size)
    return Part(part.value, part.draws[order], part.n)


def _kinds(extra: NDArray[np.float64], saving: NDArray[np.float64], slack_once: float,
           slack_use: float) -> NDArray[np.str_]:
    dearer, cheaper = extra > slack_once, extra < -slack_once
    saves, wastes = saving > slack_use, saving < -slack_use
    return np.select([saves & dearer, wastes & cheaper, saves | cheaper, wastes | dearer],
                     [FROM, UNTIL, ALWAYS, NEVER], EQUAL)


SYNC = "sync"  # the family, and the part of a use: begin and end of the CPU's access


@dataclass(frozen=True)
class Pattern:
    """A way to use a buffer: which families are paid once and which for each use."""

    name: str
    once: tuple[str, ...]
    use: tuple[str, ...]


EACH = Pattern("mapped and unmapped for each use", ("alloc", "free"),
               ("map_sgtable", SYNC, "unmap_sgtable"))
_KEPT = ("alloc", "free", "map_sgtable", "unmap_sgtable")
PATTERNS = (
    EACH,
    Pattern("kept mapped, read down columns by the device", _KEPT, ("use_column", SYNC)),
    Pattern("kept mapped, random access by the device", _KEPT, ("use_random", SYNC)),
    Pattern("kept mapped, streamed by the device", _KEPT, ("use_stream", SYNC)),
)
# Lives without one of them are still compared, and the answer says so: not every run has them.
OPTIONAL = ("free", SYNC)


def sizes(run: Run) -> list[int]:
    """Buffer sizes that were allocated or mapped, by names.size_rank."""
    return sorted({b.name.key.bytes for b in run.benchmarks.values()
                   if b.name.key and b.name.family in ("alloc", "map_sgtable")},
                  key=names.size_rank)


def memories(run: Run) -> list[str]:
    """States of memory that allocations were measured in."""
    found = [s.memory for s in alloc_series.of_run(run, "")]
    return [FRESH, *dict.fromkeys(found)]


def part_of(run: Run, family: str, mix: str, layout: str, size: int) -> Part | None:
    """One operation on a buffer, warm; of a swept family the largest (or deepest) case."""
    if family == SYNC:
        return _sync(run, mix, layout, size)
    plain = run.find(family, names.BufferKey(mix, layout, size, "warm"))
    if plain:  # not one with more threads, nor of another domain mode
        return Part.of(plain.samples)
    found = [b for b in run.benchmarks.values() if b.name.family == family and b.name.key
             and (b.name.key.mix, b.name.key.layout, b.name.key.bytes, b.name.key.state)
             == (mix, layout, size, "warm")]
    if not found:
        return None

    def rank(text: str) -> tuple[float, str]:
        return (float(text) if text.isdigit() else 0.0, text)

    best = max(found, key=lambda b: [rank(value) for _, value in b.name.extra])
    return Part.of(best.samples)


def _sync(run: Run, mix: str, layout: str, size: int) -> Part | None:
    """Begin and end of the CPU's access: in both directions where that was measured, else in the
    first direction by name."""
    halves: dict[str, dict[str, Part]] = {}
    for benchmark in run.benchmarks.values():
        extra = dict(benchmark.name.extra)
        if (benchmark.name.family == SYNC and set(extra) == {"op", "direction"}
                and benchmark.name.key == names.BufferKey(mix, layout, size, "warm")):
            # Seeds of their own: draws of the same random numbers would move together.
            halves.setdefault(extra["direction"], {})[extra["op"]] = Part.of(
                benchmark.samples, stats.SEED + (extra["op"] == "end"))
    whole = sorted((direction for direction, found in halves.items()
                    if set(found) == {"begin", "end"}),
                   key=lambda direction: (direction != "bidirectional", direction))
    return total(list(halves[whole[0]].values())) if whole else None


def alike(lives: Sequence[Life]) -> list[Life]:
    """The lives without the optional parts that not all of them have: those would be compared
    with nothing."""
    lacking = [part for part in OPTIONAL
               if not all(part in life.once or part in life.use for life in lives)]
    return [Life(life.mix, {f: p for f, p in life.once.items() if f not in lacking},
                 {f: p for f, p in life.use.items() if f not in lacking},
                 tuple(dict.fromkeys((*life.missing, *(part for part in lacking
                                                       if part in life.once or part in life.use)))))
            for life in lives]


def life(run: Run, mix: str, layout: str, size: int, pattern: Pattern, memory: str = FRESH) -> Life:
    """The life of a buffer of `mix` in a state of memory; parts without a number are named."""
    if memory != FRESH:
        return _life_under(run, mix, layout, size, pattern, memory)
    once = {f: part_of(run, f, mix, layout, size) for f in pattern.once}
    use = {f: part_of(run, f, mix, layout, size) for f in pattern.use}
    return _life(mix, once, use)


def _life(mix: str, once: Mapping[str, Part | None], use: Mapping[str, Part | None]) -> Life:
    missing = [f for f, part in [*once.items(), *use.items()] if part is None]
    return Life(mix, {f: p for f, p in once.items() if p}, {f: p for f, p in use.items() if p},
                tuple(missing))


def _life_under(run: Run, mix: str, layout: str, size: int, pattern: Pattern, memory: str) -> Life:
    """Allocation as measured in that state; what is made of the chunks that came out of it.

    A mix is not its chunks: where memory is short it ends in smaller ones, and
    they are what is mapped and used.
    """
    series = sorted((s for s in _series(run, size) if (s.policy, s.memory) == (mix, memory)),
                    key=lambda s: s.traced)  # one without the cost of tracing, if there is one
    shares = chunk_shares(series[0]) if series else {}

    def blend(family: str) -> Part | None:
        if family == "alloc":
            return Part.of(series[0].costs) if series else None
        return by_shares(shares, {o: part_of(run, family, run.pure[o], layout, size)
                                  for o in shares if o in run.pure})

    return _life(mix, {f: blend(f) for f in pattern.once}, {f: blend(f) for f in pattern.use})


def chunk_shares(series: alloc_series.Series) -> dict[int, float]:
    """Part of the bytes that chunks of each order hold, over all allocations of a series."""
    pages: dict[int, float] = {}
    for allocation in series.all:
        for order, count in allocation.chunks.items():
            pages[order] = pages.get(order, 0.0) + count * (1 << order)
    whole = sum(pages.values())
    return {order: n / whole for order, n in sorted(pages.items())} if whole else {}


def by_shares(shares: Mapping[int, float], pure: Mapping[int, Part | None]) -> Part | None:
    """Cost of a buffer of several orders: each order's by its part of the bytes; None where an
    order was not measured."""
    parts = [part.times(share) for order, share in shares.items()
             if (part := pure.get(order)) is not None]
    return total(parts) if shares and len(parts) == len(shares) else None


def _series(run: Run, size: int) -> list[alloc_series.Series]:
    """Series of the module's heap with buffers of this size (or of one that is not said)."""
    return [s for s in alloc_series.of_run(run, "")
            if s.bytes in (0, size) and s.heap in ("", "pagemix")]


def mixes_of(run: Run, size: int) -> list[str]:
    """Mixes that buffers of this size were measured with, under pressure or not."""
    return sorted({b.name.key.mix for b in run.benchmarks.values()
                   if b.name.key and b.name.key.bytes == size}
                  | {s.policy for s in _series(run, size)}, key=run.mix_rank)
