# SPDX-License-Identifier: Apache-2.0
"""Summaries of raw samples. A bare mean appears nowhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


def quantile(samples: ArrayLike, q: float) -> float | None:
    """The q-quantile (linear interpolation), None if n * (1 - q) < 1."""
    data = checked(samples)
    if not 0 < q < 1:
        raise ValueError(f"quantile {q}: want a number between 0 and 1")
    if round(data.size * (1 - q), 9) < 1:
        return None
    return float(np.quantile(data, q))


def median_interval(samples: ArrayLike, seed: int = SEED) -> tuple[float, float] | None:
    """Seeded percentile bootstrap of the median, None for too few samples.

    The same samples and seed give the same digits on every machine. Samples of
    one run are resampled as one set: the blocks are interleaved, so drift
    between them widens the interval instead of hiding in it.
    """
    data = checked(samples)
    if data.size < LEAST_FOR_INTERVAL:
        return None
    if np.all(data == data[0]):  # the usual case under -icount
        return float(data[0]), float(data[0])
    generator = np.random.default_rng(seed)
    medians = np.empty(RESAMPLES)
    rows = max(1, min(RESAMPLES, 1_000_000 // data.size))  # at once, to bound the memory
    for start in range(0, RESAMPLES, rows):
        count = min(rows, RESAMPLES - start)
        picks = generator.integers(0, data.size, (count, data.size))
        medians[start:start + count] = np.median(data[picks], axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians, (tail, 1 - tail))
    return float(low), float(high)


def summarize(samples: ArrayLike, seed: int = SEED) -> Summary:
    """ValueError as `checked`."""
    data = checked(samples)
    interval = median_interval(data, seed)
    return Summary(
        n=int(data.size),
        median=float(np.median(data)),
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        p90=quantile(data, 0.9),
        p99=quantile(data, 0.99),
        p999=quantile(data, 0.999),
        max=float(data.max()),
    )
