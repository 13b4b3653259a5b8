# SPDX-License-Identifier: Apache-2.0
"""Shift, significance and correction, against worked answers and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from pagemix_plots.stats import pairs


def test_shift_by_hand() -> None:
    """Differences of {1,2,4} and {3,5}: 2 1 -1 4 3 1, in order -1 1 1 2 3 4."""
    found = pairs.compare([1, 2, 4], [3, 5])
    assert found.shift == 1.5
    assert (found.base_median, found.other_median) == (2, 4)
    assert found.superiority == pytest.approx(5 / 6)
    assert found.low is None and found.high is None
    assert found.part(found.shift) == 0.75


def test_ties_count_half() -> None:
    assert pairs.compare([1, 1], [1, 2]).superiority == 0.75


def test_constant_samples() -> None:
    same = pairs.compare([5.0] * 10, [5.0] * 10)
    assert (same.shift, same.low, same.high, same.p) == (0, 0, 0, 1)
    other = pairs.compare([5.0] * 10, [6.0] * 10)
    assert (other.shift, other.low, other.high) == (1, 1, 1)
    assert other.p < 0.001 and other.superiority == 1


def test_a_base_of_zero_has_no_part() -> None:
    assert pairs.compare([0.0] * 6, [1.0] * 6).part(1.0) is None


@pytest.mark.parametrize("n", [5, 8, 30, 200])
def test_p_is_scipy_s(n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.normal(0, 1, n).round(1), rng.normal(0.4, 1, n + 3).round(1)
    mine = pairs.compare(a, b)
    theirs = scipy.stats.mannwhitneyu(b, a, method="asymptotic")
    assert mine.p == pytest.approx(theirs.pvalue, rel=1e-9)
    assert mine.superiority == pytest.approx(theirs.statistic / (a.size * b.size))


def test_interval_holds_the_shift_as_often_as_it_claims() -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(300):
        found = pairs.compare(rng.exponential(1, 15), rng.exponential(1, 25) + 0.3)
        hits += (found.low or 0) <= 0.3 <= (found.high or 0)
    assert 276 <= hits <= 297


def test_thinned_differences_are_close() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.gamma(2, 50, 60_000), rng.gamma(2, 50, 60_000) * 1.02
    whole = pairs.compare(a, b)
    part = pairs.compare(a[::30], b[::30])
    assert whole.shift == pytest.approx(np.median(rng.choice(b, 10**6) - rng.choice(a, 10**6)),
                                        abs=0.5)
    assert part.low is not None and part.low < whole.shift < (part.high or 0)
    assert (whole.high or 0) - (whole.low or 0) < 0.4 * ((part.high or 0) - part.low)


def test_holm_by_hand() -> None:
    """0.01 * 4, 0.02 * 3, then no smaller: 0.03 * 2 and 0.2 * 1."""
    assert pairs.holm([0.03, 0.01, 0.2, 0.02]) == pytest.approx([0.06, 0.04, 0.2, 0.06])
    assert pairs.holm([0.9, 0.8]) == [1.0, 1.0]
    assert pairs.holm([]) == []


@pytest.mark.parametrize("base", [[], [float("nan")] * 5, [1.0, float("inf")]])
def test_unusable_samples(base: list[float]) -> None:
    with pytest.raises(ValueError):
        pairs.compare(base, [1.0])
    with pytest.raises(ValueError):
        pairs.compare([1.0], base)
