# SPDX-License-Identifier: Apache-2.0
"""Comparison and verdict on real runs: boots of the same thing do not differ, a shift is found."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pagemix_plots.answers import compare, noise
from pagemix_plots.run.load import Run, load_run
from pagemix_plots.stats import pairs

RESAMPLINGS = 200


@pytest.fixture(scope="module")
def boots(quick_folder: Callable[[str, int], Path]) -> list[Run]:
    """Boots of the same thing; the third is compared with the first, and tells nothing of the
    floor."""
    return [load_run(quick_folder("smmuv3", n)) for n in (1, 2, 3)]


@pytest.fixture(scope="module")
def floor(boots: list[Run]) -> noise.Floor:
    return noise.within(boots[:2]).join(noise.between(boots[:2]))


def resampled(run: Run, random: np.random.Generator) -> Run:
    """Each block's samples drawn anew, as if it had been measured once more."""
    return dataclasses.replace(run, benchmarks={
        text: dataclasses.replace(b, samples=np.concatenate([
            random.choice(samples, samples.size) for _, samples in b.by_block()]))
        for text, b in run.benchmarks.items()})


def test_two_boots_do_not_differ(boots: list[Run], floor: noise.Floor) -> None:
    random = np.random.default_rng(1)
    first, _, third = boots
    clean = 0
    for _ in range(RESAMPLINGS):
        found = compare.runs(resampled(first, random), resampled(third, random), "a", "b", floor)
        assert len(found.rows) > 100
        clean += {row.verdict for row in found.rows} == {compare.SAME}
    assert clean >= 0.95 * RESAMPLINGS


def test_a_shift_of_two_percent_is_found(boots: list[Run], floor: noise.Floor) -> None:
    """A thousand samples drawn from a real benchmark, and as many that cost 2 % more."""
    random = np.random.default_rng(2)
    for text, family in (("map_sgtable/mix:order0/layout:scattered/bytes:10485760", "map_sgtable"),
                         ("unmap_sgtable/mix:order0/layout:scattered/bytes:10485760",
                          "unmap_sgtable")):
        benchmark = boots[0].benchmarks[text]
        found = 0
        for _ in range(RESAMPLINGS):
            base, other = (random.choice(benchmark.samples, 1000) for _ in "ab")
            (row,) = compare.judge(
                [(benchmark.name, benchmark.name, pairs.compare(base, other * 1.02))], floor)
            found += row.verdict == compare.WORSE
        assert found >= 0.95 * RESAMPLINGS, family
