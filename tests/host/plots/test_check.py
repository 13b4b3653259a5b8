# SPDX-License-Identifier: Apache-2.0
"""Predicted against counted: equal, different, not comparable."""

from __future__ import annotations

import pathlib
from typing import Any

import make_run
import pytest
from pagemix_plots import headline
from pagemix_plots.check import check_run
from pagemix_plots.load import Run, load_run

NAME = "map_sgtable/mix:order9/layout:scattered/bytes:10485760"


def changed(folder: pathlib.Path, machine: str, block: int, **counters: float | None) -> Run:
    """A run with counters of one entry replaced (None removes)."""
    document, arrays = make_run.build(make_run.Options(machine=machine))
    entry = next(e for e in document["benchmarks"]
                 if e["name"] == NAME and e["repetition_index"] == block)
    for key, value in counters.items():
        if value is None:
            del entry[key]
        else:
            entry[key] = value
    return load_run(make_run.write(folder, document, arrays))


@pytest.mark.parametrize("machine, pairs", [
    ("smmuv3", ["tlbi_predicted"]), ("virtio-iommu", ["map_calls", "unmap_calls"])])
def test_equal(run: Any, machine: str, pairs: list[str]) -> None:
    checks = check_run(run(machine=machine))
    assert [check.predicted for check in checks] == pairs
    for check in checks:
        assert check.passed and check.compared == 2 * 8 * 2 * 4
        assert check.words.endswith("are equal in all 128 entries that carry both.")


@pytest.mark.parametrize("machine, key, wrong", [
    ("smmuv3", "smmu_cmd_tlbi", 6.0), ("smmuv3", "smmu_cmd_tlbi", 1.05),
    ("smmuv3", "tlbi_predicted", 0.0), ("virtio-iommu", "viommu_map", 4.0),
    ("virtio-iommu", "viommu_unmap", 2.0)])
def test_one_different_entry_is_found(tmp_path: pathlib.Path, machine: str, key: str,
                                      wrong: float) -> None:
    loaded = changed(tmp_path, machine, 2, **{key: wrong})
    bad = [check for check in check_run(loaded) if check.mismatches]
    assert len(bad) == 1 and not bad[0].passed
    assert len(bad[0].mismatches) == 1
    assert bad[0].mismatches[0].name == NAME and bad[0].mismatches[0].block == 2
    assert bad[0].words.startswith("MISMATCH: ")
    assert bad[0].words.endswith("differ in 1 of 128 entries that carry both, in "
                                 "map_sgtable (warm).")
    warning = headline.headline(loaded).warnings[0]
    assert warning.startswith(f"{machine}: MISMATCH: ") and NAME in warning


def test_the_other_iommus_commands_are_found_too(tmp_path: pathlib.Path) -> None:
    """An SMMU that sends virtio-iommu requests is not overlooked."""
    loaded = changed(tmp_path, "smmuv3", 0, viommu_map=3.0)
    assert [c.predicted for c in check_run(loaded) if c.mismatches] == ["map_calls"]


def test_nothing_counted_is_not_a_pass(run: Any) -> None:
    for check in check_run(run(guest=False)):
        assert check.compared == 0 and not check.passed
        assert "nothing was checked" in check.words


def test_an_entry_without_prediction_is_not_compared(tmp_path: pathlib.Path) -> None:
    loaded = changed(tmp_path, "smmuv3", 0, tlbi_predicted=None)
    check = check_run(loaded)[0]
    assert check.compared == 127 and check.passed


def test_a_prediction_without_count_is_no_pass(tmp_path: pathlib.Path) -> None:
    check = check_run(changed(tmp_path, "smmuv3", 0, smmu_cmd_tlbi=None))[0]
    assert check.compared == 127 and check.uncounted == 1 and not check.passed
    assert check.words.endswith("1 more have a prediction but no count.")
