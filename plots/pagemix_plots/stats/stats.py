# SPDX-License-Identifier: Apache-2.0
"""Summaries of raw samples. A bare mean appears nowhere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 1
# Below this many samples the resampled medians take so few values that an
# interval would claim more than is known.
LEAST_FOR_INTERVAL = 5


@dataclass(frozen=True)
class Summary:
    """Of n samples, in the clock's unit.

    `low` and `high` bound the median at 95 %; they are None below
    LEAST_FOR_INTERVAL samples. A quantile is None when fewer than one sample
    is expected beyond it: p99 of 20 samples would only be their maximum.
    """

    n: int
    median: float
    low: float | None
    high: float | None
    p90: float | None
    p99: float | None
    p999: float | None
    max: float


def checked(samples: ArrayLike) -> NDArray[np.float64]:
    """Samples as a flat float64 array; ValueError on none, NaN, infinity or another shape."""
    data = np.asarray(samples, dtype=np.float64)
    if data.ndim != 1:
        raise ValueError(f"want one row of samples, found {data.ndim} dimensions")
    if data.size == 0:
        raise ValueError("no samples")
    bad = np.flatnonzero(~np.isfinite(data))
    if bad.size:
        raise ValueError(f"sample {bad[0]} is {data[bad[0]]}, not a finite number")
    return data


def _quantile(ordered: NDArray[np.float64], q: float) -> float | None:
    """The q-quantile of sorted samples (linear interpolation), None if n * (1 - q) < 1."""
    n = ordered.size
    if round(n * (1 - q), 9) < 1:
        return None
    below, part = divmod((n - 1) * q, 1.0)
    a = ordered[int(below)]
    b = ordered[min(int(below) + 1, n - 1)]
    return float(a + (b - a) * part)


def bootstrap_quantile(ordered: NDArray[np.float64], q: float, generator: np.random.Generator,
                       resamples: int = RESAMPLES) -> NDArray[np.float64]:
    """Quantiles of resamples of sorted samples, without drawing the resamples.

    A resample picks sample floor(n U) for each of n uniform numbers. The k-th
    smallest of these is Beta(k, n - k + 1), and the next one is as far above it
    as the smallest of n - k numbers on the rest: exact, and as fast for ten
    million samples as for ten.
    """
    n = ordered.size
    below, part = divmod((n - 1) * q, 1.0)
    k = int(below) + 1
    low = generator.beta(k, n - k + 1, resamples)
    first: NDArray[np.float64] = ordered[np.minimum((n * low).astype(np.int64), n - 1)]
    if part == 0.0:
        return first
    high = low + (1 - low) * (1 - generator.random(resamples) ** (1 / (n - k)))
    second: NDArray[np.float64] = ordered[np.minimum((n * high).astype(np.int64), n - 1)]
    # Not a * (1 - part) + b * part: equal neighbours are to stay equal to the digit.
    return first + (second - first) * part


def _bca(ordered: NDArray[np.float64], q: float, drawn: NDArray[np.float64]
         ) -> tuple[float, float]:
    """Bias-corrected and accelerated interval from the resampled quantiles."""
    if drawn.min() == drawn.max():  # the usual case under -icount
        return float(drawn[0]), float(drawn[0])
    estimate = float(np.quantile(ordered, q))
    below = (np.count_nonzero(drawn < estimate) + 0.5 * np.count_nonzero(drawn == estimate)
             ) / drawn.size
    edge = 0.5 / drawn.size
    bias = special.ndtri(min(max(below, edge), 1 - edge))
    pull = _acceleration(ordered, q)
    tail = special.ndtri((1 - CONFIDENCE) / 2)
    levels: list[float] = []
    for z in (tail, -tail):
        shifted = bias + (bias + z) / (1 - pull * (bias + z))
        levels.append(float(special.ndtr(shifted)))
    low, high = np.quantile(drawn, levels)
    return float(low), float(high)


def _acceleration(ordered: NDArray[np.float64], q: float) -> float:
    """Skew of the jackknife: without one sample a quantile takes one of three values."""
    n = ordered.size
    below, part = divmod((n - 2) * q, 1.0)
    lo = int(below)
    hi = min(lo + 1, n - 2)

    def value(without: int) -> float:
        a = ordered[lo if lo < without else lo + 1]
        b = ordered[hi if hi < without else hi + 1]
        return float(a + (b - a) * part)

    values = np.array([value(0), value(lo + 1), value(n - 1)])
    counts = np.array([lo + 1, 1, n - lo - 2], dtype=np.float64)
    spread = values - values[0]
    largest = float(np.abs(spread).max())
    if largest == 0.0:
        return 0.0
    spread /= largest  # skew has no unit; squares of large numbers would overflow
    spread = (spread * counts).sum() / n - spread
    down = math.pow(float((counts * spread ** 2).sum()), 1.5)
    return float((counts * spread ** 3).sum()) / (6 * down) if down > 0 else 0.0


def summarize(samples: ArrayLike, seed: int = SEED) -> Summary:
    """ValueError as `checked`. The median's interval is a seeded BCa bootstrap (Efron 1987).

    The same samples and seed give the same digits on every machine. Samples of
    one run are resampled as one set: the blocks are interleaved, so drift
    between them widens the interval instead of hiding in it.
    """
    ordered = np.sort(checked(samples))  # once: all of it is made from the order
    interval = None
    if ordered.size >= LEAST_FOR_INTERVAL:
        interval = _bca(ordered, 0.5,
                        bootstrap_quantile(ordered, 0.5, np.random.default_rng(seed)))
    median = ordered[(ordered.size - 1) // 2]
    median += (ordered[ordered.size // 2] - median) / 2
    return Summary(
        n=int(ordered.size),
        median=float(median),
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        p90=_quantile(ordered, 0.9),
        p99=_quantile(ordered, 0.99),
        p999=_quantile(ordered, 0.999),
        max=float(ordered[-1]),
    )
