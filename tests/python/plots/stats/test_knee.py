# SPDX-License-Identifier: Apache-2.0
"""The knee finder on curves whose knee is known, and on published ones."""

from __future__ import annotations

import csv
import pathlib

import numpy as np
import pytest
from pagemix_plots.stats import knee

DATA = pathlib.Path(__file__).resolve().parents[3] / "data"
KIB = 1024.0
WINDOWS = np.array([16, 32, 64, 128, 192, 256, 384, 512, 640, 768, 896, 1024, 1152, 1280, 1536,
                    1792, 2048, 3072, 4096, 8192, 16384, 65536]) * KIB


def pcie_bench() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Windows, and nanoseconds per read with the IOMMU off and on."""
    with (DATA / "pcie-bench-2018.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    off, on = (1e9 / np.array([float(row[c]) for row in rows]) for c in ("iommu_off", "iommu_4k"))
    return np.array([float(row["window"]) for row in rows]), off, on


def test_published_losses() -> None:
    """What the paper's data is cited for: 31 % at 512 KiB, 63 % at 2 MiB, none at 256 KiB."""
    windows, off, on = pcie_bench()
    loss = {int(w): 1 - a / b for w, a, b in zip(windows, off, on, strict=True)}
    assert loss[512 << 10] == pytest.approx(0.31, abs=0.005)
    assert loss[2 << 20] == pytest.approx(0.63, abs=0.005)
    assert abs(loss[256 << 10]) < 0.005


def test_published_knee_lies_between_256_and_512_kib() -> None:
    windows, _, on = pcie_bench()
    found = knee.find(windows, list(on))
    assert found is not None
    assert 256 * KIB <= found.low <= found.at <= found.high <= 512 * KIB
    assert found.flat == pytest.approx(15.9, abs=0.3)  # ns a read
    assert found.raised == pytest.approx(52, abs=3)


def test_without_iommu_only_the_processor_cache_shows() -> None:
    """That Xeon's last-level cache has 25 MiB: reads slow down between 16 and 32 MiB."""
    windows, off, _ = pcie_bench()
    found = knee.find(windows, list(off))
    assert found is not None and found.high <= 32 << 20 and found.at >= 8 << 20


@pytest.mark.parametrize("entries", [64, 100, 256, 512])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_replacement_curve(entries: int, seed: int) -> None:
    """Random access to w pages through `entries` leaves misses 1 - entries/w times."""
    reach = entries * 4 * KIB
    rng = np.random.default_rng(seed)
    rise = np.where(WINDOWS > reach, 1 - reach / WINDOWS, 0)
    found = knee.find(WINDOWS, [100 + 40 * r + rng.normal(0, 2, 20) for r in rise])
    assert found is not None
    assert found.low <= reach <= found.high
    assert found.high / found.low < 2.1
    assert found.at == pytest.approx(reach, rel=0.3)
    assert found.raised == pytest.approx(140, abs=3)


def test_interval_holds_the_knee_about_as_often_as_it_claims() -> None:
    rng = np.random.default_rng(7)
    reach = 700 * KIB  # between two windows
    rise = np.where(WINDOWS > reach, 1 - reach / WINDOWS, 0)
    hits = 0
    for _ in range(60):
        found = knee.find(WINDOWS, [100 + 30 * r + rng.normal(0, 4, 12) for r in rise])
        hits += found is not None and found.low <= reach <= found.high
    assert hits >= 56


def test_a_step_is_placed_in_the_gap_and_no_closer() -> None:
    found = knee.find(WINDOWS, [0.0 if w <= 1024 * KIB else 1.0 for w in WINDOWS])
    assert found is not None
    assert (found.low, found.high) == (1024 * KIB, 1152 * KIB)
    assert found.low < found.at < found.high
    assert (found.flat, found.raised) == (0, 1)


def test_flat_curves_have_no_knee() -> None:
    assert knee.find(WINDOWS, [0.0] * WINDOWS.size) is None
    assert knee.find(WINDOWS, [1.0] * WINDOWS.size) is None
    rng = np.random.default_rng(2)
    assert not any(knee.find(WINDOWS, [rng.normal(100, 5, 20) for _ in WINDOWS])
                   for _ in range(40))
    assert not any(knee.find(WINDOWS, list(rng.normal(100, 5, WINDOWS.size))) for _ in range(40))


def test_falling_curves_have_no_knee() -> None:
    assert knee.find(WINDOWS, list(np.linspace(100, 10, WINDOWS.size))) is None


def test_small_rises_do_not_count() -> None:
    values = [0.001 if w <= 1024 * KIB else 0.011 for w in WINDOWS]
    assert knee.find(WINDOWS, values) is not None
    assert knee.find(WINDOWS, values, least_rise=0.02) is None


def test_a_knee_at_the_sweep_s_start_is_open_below() -> None:
    found = knee.find(WINDOWS, [0.0] + [1.0] * (WINDOWS.size - 1))
    assert found is not None and found.low == 0


def test_the_same_seed_gives_the_same_digits() -> None:
    windows, _, on = pcie_bench()
    assert knee.find(windows, list(on)) == knee.find(windows, list(on))


@pytest.mark.parametrize("windows, values, message", [
    ([1, 2, 3, 4], [1, 1, 1, 1], "4 windows: want at least 5"),
    ([1, 2, 3, 4, 5], [1, 1, 1, 1], "5 windows, but values of 4"),
    ([1, 2, 2, 4, 5], [1] * 5, "ascend"),
    ([0, 1, 2, 4, 5], [1] * 5, "positive"),
    ([1, 2, 3, 4, 5], [1, 1, float("nan"), 1, 1], "window 3: want a row of finite numbers"),
    ([1, 2, 3, 4, 5], [[1], [], [1], [1], [1]], "window 2"),
])
def test_unusable_curves(windows: list[float], values: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        knee.find(windows, values)
