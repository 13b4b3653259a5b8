# SPDX-License-Identifier: Apache-2.0
"""Summaries on samples whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from numpy.typing import ArrayLike
from pagemix_plots.stats import stats


def interval(samples: ArrayLike, seed: int = stats.SEED) -> tuple[float, float]:
    found = stats.summarize(samples, seed)
    assert found.low is not None and found.high is not None
    return found.low, found.high


def test_known_answers() -> None:
    summary = stats.summarize(np.arange(1, 1002, dtype=float))
    assert summary.n == 1001
    assert summary.median == 501
    assert summary.p90 == pytest.approx(901)
    assert summary.p99 == pytest.approx(991)
    assert summary.p999 == pytest.approx(1000)
    assert summary.max == 1001


def test_order_of_samples_does_not_matter_for_quantiles() -> None:
    data = np.arange(100, dtype=float)
    shuffled = np.random.default_rng(3).permutation(data)
    one, other = stats.summarize(data), stats.summarize(shuffled)
    assert (one.median, one.p90, one.p99) == (other.median, other.p90, other.p99)
    assert one.max == other.max


def test_constant_samples_have_an_interval_without_width() -> None:
    summary = stats.summarize(np.full(40, 10752.0))
    assert (summary.low, summary.median, summary.high) == (10752, 10752, 10752)


def test_too_few_samples_have_no_interval() -> None:
    assert stats.summarize([5.0]).low is None
    assert stats.summarize([5.0] * 4).high is None
    assert stats.summarize([5.0] * 5).low == 5.0
    assert stats.summarize([5.0]).median == 5.0


def test_quantiles_need_a_sample_beyond_them() -> None:
    nine, ten = stats.summarize(np.arange(9.0)), stats.summarize(np.arange(10.0))
    assert nine.p90 is None and ten.p90 is not None
    assert stats.summarize(np.arange(99.0)).p99 is None
    assert stats.summarize(np.arange(100.0)).p99 is not None
    assert stats.summarize(np.arange(999.0)).p999 is None
    assert stats.summarize(np.arange(1000.0)).p999 is not None


def test_interval_holds_the_median_and_repeats() -> None:
    data = np.random.default_rng(5).normal(1000, 50, 200)
    low, high = interval(data)
    assert low < np.median(data) < high
    assert 980 < low and high < 1020
    assert interval(data) == (low, high)
    assert interval(data, seed=2) != (low, high)


def test_interval_covers_the_true_median_about_as_often_as_it_claims() -> None:
    generator = np.random.default_rng(11)
    hits = 0
    for _ in range(200):
        low, high = interval(generator.exponential(1.0, 50))
        hits += low <= np.log(2) <= high
    assert 180 <= hits <= 199


@pytest.mark.parametrize("n", [5, 6, 20, 41, 400])
def test_interval_is_scipy_s_bca(n: int) -> None:
    """scipy draws every resample and leaves every sample out in turn; the answer is the same."""
    data = np.random.default_rng(n).exponential(1.0, n)
    theirs = scipy.stats.bootstrap((data,), np.median, method="BCa", n_resamples=9999,
                                   random_state=1).confidence_interval
    low, high = interval(data)
    spread = theirs.high - theirs.low
    # Ends are order statistics: where few samples lie, one further is a wide step.
    assert low == pytest.approx(theirs.low, abs=0.25 * spread)
    assert high == pytest.approx(theirs.high, abs=0.25 * spread)


def test_resampled_quantiles_are_those_of_drawn_resamples() -> None:
    """Their distribution, against resamples that are drawn."""
    data = np.sort(np.random.default_rng(5).normal(1000, 50, 30))
    generator = np.random.default_rng(6)
    for q in (0.5, 0.9):
        mine = stats.bootstrap_quantile(data, q, generator, 20_000)
        drawn = np.quantile(generator.choice(data, (20_000, data.size)), q, axis=1)
        levels = (0.025, 0.25, 0.5, 0.75, 0.975)
        assert np.quantile(mine, levels) == pytest.approx(np.quantile(drawn, levels), rel=0.005)


@pytest.mark.parametrize("samples, message", [
    ([], "no samples"),
    ([1.0, float("nan")], "sample 1 is nan"),
    ([float("inf")] * 9, "sample 0 is inf"),
    ([[1.0], [2.0]], "2 dimensions"),
])
def test_unusable_samples(samples: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stats.summarize(samples)
