# SPDX-License-Identifier: Apache-2.0
"""Where a curve over working sets leaves its flat part: the IOTLB's reach.

The model is flat up to the knee k and rises as 1 - (k/w)^p above it:

    y(w) = a                          for w <= k
    y(w) = a + b * (1 - (k/w)^p)      for w > k, b >= 0

p = 1 is what random accesses make of a cache of k bytes: of the working set w
the part k/w is cached, the rest misses. p = infinity is a step, which is what
a cache makes that is emptied when it overflows. Real curves lie between and
around them (walk caches, second-level TLBs), so p is fitted from SHAPES.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 1000
CONFIDENCE = 0.95
SEED = 1
SHAPES = (0.25, 0.5, 1.0, 2.0, 4.0, math.inf)
STEPS = 24  # candidates for k between two neighbouring windows
LEAST_WINDOWS = 5
# A rise counts from this part of the flat level, and from so many times the scatter.
LEAST_RISE = 0.02
SCATTER = 4.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Knee:
    """In the unit of the windows (bytes) and of the values.

    `low` and `high` bound the knee at 95 % and are never closer than the
    windows around it: a sweep cannot place a step between two of its windows.
    `low` is 0 when only the smallest window was flat, so that the knee may lie
    below the sweep.
    """

    at: float
    low: float
    high: float
    flat: float  # level up to the knee
    raised: float  # fitted level of the largest window


def find(windows: ArrayLike, values: Sequence[ArrayLike], *, least_rise: float = 0.0,
         seed: int = SEED) -> Knee | None:
    """The knee of `values` over ascending `windows`, None where the curve stays flat.

    values[i] holds the samples of windows[i], or one number. `least_rise` is
    the smallest rise that matters, in the unit of the values. ValueError on
    fewer than LEAST_WINDOWS windows, on windows that do not ascend and on
    numbers that are not finite.
    """
    w, samples = _checked(windows, values)
    y = np.array([np.median(s) for s in samples])
    model = _Model.over(w)
    pick = model.best(y[np.newaxis])[0]
    a, b = model.level(y, pick)
    fitted = a + b * model.rises[pick]
    k = _centre(model, y, pick)
    scatter = _scatter(y - fitted, samples)
    need = max(LEAST_RISE * abs(a), least_rise, SCATTER * scatter)
    raised = np.flatnonzero(y > a + need)
    if fitted[-1] - a <= need or not raised.size:
        return None
    drawn = _bootstrap(model, y, fitted, samples, np.random.default_rng(seed))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, (tail, 1 - tail))
    first = int(raised[0])
    below = float(w[first - 1]) if first > 1 else 0.0
    return Knee(at=float(k), low=float(min(low, below, k)),
                high=float(max(high, w[first], k)), flat=float(a), raised=float(fitted[-1]))


def _checked(windows: ArrayLike, values: Sequence[ArrayLike]) -> tuple[Floats, list[Floats]]:
    w = np.asarray(windows, dtype=np.float64)
    samples = [np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in values]
    if w.ndim != 1 or w.size != len(samples):
        raise ValueError(f"{w.size} windows, but values of {len(samples)}")
    if w.size < LEAST_WINDOWS:
        raise ValueError(f"{w.size} windows: want at least {LEAST_WINDOWS} to find a knee")
    if not np.all(np.isfinite(w)) or w[0] <= 0 or np.any(np.diff(w) <= 0):
        raise ValueError("windows: want positive numbers that ascend")
    for window, sample in zip(w, samples, strict=True):
        if sample.ndim != 1 or not sample.size or not np.all(np.isfinite(sample)):
            raise ValueError(f"window {window:g}: want a row of finite numbers")
    return w, samples


@dataclass(frozen=True)
class _Model:
    """Every candidate (k, p) as its rise over the windows."""

    knees: Floats  # of each candidate
    rises: Floats  # candidate x window
    centred: Floats
    norms: Floats  # of `centred`, squared

    @staticmethod
    def over(w: Floats) -> _Model:
        # At least the two largest windows are to lie on the rise.
        inner = [np.geomspace(w[i], w[i + 1], STEPS, endpoint=False) for i in range(w.size - 2)]
        k = np.concatenate(inner)
        knees = np.tile(k, len(SHAPES))
        rises = np.concatenate([_rise(w, k, p) for p in SHAPES])
        centred = rises - rises.mean(axis=1, keepdims=True)
        return _Model(knees, rises, centred, (centred ** 2).sum(axis=1))

    def gains(self, y: Floats) -> Floats:
        """Row x candidate: what each candidate takes off the sum of squares."""
        slope = np.maximum((y - y.mean(axis=1, keepdims=True)) @ self.centred.T, 0.0)
        found: Floats = slope ** 2 / self.norms
        return found

    def best(self, y: Floats) -> NDArray[np.intp]:
        found: NDArray[np.intp] = np.argmax(self.gains(y), axis=1)
        return found

    def level(self, y: Floats, pick: int) -> tuple[float, float]:
        b = max(0.0, float(self.centred[pick] @ y / self.norms[pick]))
        return float(y.mean() - b * self.rises[pick].mean()), b


def _rise(w: Floats, k: Floats, p: float) -> Floats:
    ratio = k[:, np.newaxis] / w[np.newaxis]
    above = ratio < 1
    return np.where(above, 1.0 if math.isinf(p) else 1 - np.minimum(ratio, 1) ** p, 0.0)


def _centre(model: _Model, y: Floats, pick: int) -> float:
    """The middle of all candidates that fit as well as the best: a step fits anywhere in a gap."""
    gains = model.gains(y[np.newaxis])[0]
    total = float(((y - y.mean()) ** 2).sum())
    as_good = model.knees[gains >= gains[pick] - 1e-9 * max(total, 1e-300)]
    return float(math.sqrt(as_good.min() * as_good.max()))


def _scatter(residuals: Floats, samples: list[Floats]) -> float:
    """How far a window's value strays: by the fit, or by its own samples where that is more."""
    fit = math.sqrt(float((residuals ** 2).sum()) / max(1, residuals.size - 4))
    own = [float(np.std(s, ddof=1)) / math.sqrt(s.size) for s in samples if s.size > 1]
    return max(fit, float(np.median(own)) if own else 0.0)


def _bootstrap(model: _Model, y: Floats, fitted: Floats, samples: list[Floats],
               generator: np.random.Generator) -> Floats:
    """Knees of resampled curves: each window's own samples, or the fit's residuals without them."""
    if all(s.size > 1 for s in samples):
        drawn = np.stack([np.median(generator.choice(s, (RESAMPLES, s.size)), axis=1)
                          for s in samples], axis=1)
    else:
        residuals = (y - fitted) * math.sqrt(y.size / max(1, y.size - 4))
        drawn = fitted + generator.choice(residuals, (RESAMPLES, y.size))
    return model.knees[model.best(drawn)]
