# SPDX-License-Identifier: Apache-2.0
"""Summaries on samples whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest
from pagemix_plots import stats


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
    low, high = stats.median_interval(data) or (0.0, 0.0)
    assert low < np.median(data) < high
    assert 980 < low and high < 1020
    assert stats.median_interval(data) == (low, high)
    assert stats.median_interval(data, seed=2) != (low, high)


def test_interval_covers_the_true_median_about_as_often_as_it_claims() -> None:
    generator = np.random.default_rng(11)
    hits = 0
    for _ in range(200):
        low, high = stats.median_interval(generator.exponential(1.0, 50)) or (0.0, 0.0)
        hits += low <= np.log(2) <= high
    assert 180 <= hits <= 199


def test_interval_is_the_same_in_slices() -> None:
    """Many samples are resampled in several slices; the answer may not depend on it."""
    data = np.random.default_rng(5).normal(1000, 50, 3000)  # 333 rows at a time
    low, high = stats.median_interval(data) or (0.0, 0.0)
    generator = np.random.default_rng(stats.SEED)
    medians = [np.median(data[generator.integers(0, data.size, data.size)])
               for _ in range(stats.RESAMPLES)]
    assert (low, high) == tuple(np.quantile(medians, (0.025, 0.975)))


@pytest.mark.parametrize("samples, message", [
    ([], "no samples"),
    ([1.0, float("nan")], "sample 1 is nan"),
    ([float("inf")] * 9, "sample 0 is inf"),
    ([[1.0], [2.0]], "2 dimensions"),
])
def test_unusable_samples(samples: list[float], message: str) -> None:
    for function in (stats.summarize, stats.median_interval):
        with pytest.raises(ValueError, match=message):
            function(samples)


@pytest.mark.parametrize("q", [0, 1, -0.5, 99])
def test_quantile_out_of_range(q: float) -> None:
    with pytest.raises(ValueError, match=f"quantile {q}"):
        stats.quantile([1.0, 2.0], q)
