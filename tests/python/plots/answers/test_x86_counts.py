# SPDX-License-Identifier: Apache-2.0
"""Counts of the x86 IOMMUs: checked against predictions and shown as commands."""

import pathlib
from typing import Any

import pytest

import make_run
from pagemix_plots.answers.check import check_run
from pagemix_plots.run.load import Run, load_run
from pagemix_plots.tables import tables

KEY = tables.BufferKey("order0", "scattered", 10 << 20, "warm")
SMMU = ("smmu_cmd_tlbi", "smmu_cmd_sync", "tlbi_predicted", "sync_predicted", "map_calls",
        "unmap_calls")


def x86_run(folder: pathlib.Path, driver: str, counters: dict[str, float]) -> Run:
    """A run of smmuv3 whose IOMMU is another and counted these, in every entry that maps."""
    document, arrays = make_run.build(make_run.Options(machine="smmuv3"))
    document["context"]["pagemix"]["iommu"]["driver"] = driver
    for entry in document["benchmarks"]:
        if "smmu_cmd_tlbi" in entry:
            for key in SMMU:
                entry.pop(key, None)
            entry |= counters
    return load_run(make_run.write(folder, document, arrays))


@pytest.mark.parametrize(("driver", "counters", "words"), [
    ("intel-iommu", {"vtd_inv_iotlb": 1.0, "vtd_inv_wait": 1.0}, "1 IOTLB_INV + 1 INV_WAIT"),
    ("amd-iommu", {"amd_inv_pages": 4.0, "amd_completion_wait": 2.0},
     "4 INVALIDATE_PAGES + 2 COMPLETION_WAIT")])
def test_commands_have_the_names_of_their_specification(
        tmp_path: pathlib.Path, driver: str, counters: dict[str, float], words: str) -> None:
    run = x86_run(tmp_path, driver, counters)
    assert tables.commands_words(tables.commands(run, KEY)) == words


@pytest.mark.parametrize(("counted", "passed"), [(1.0, True), (2.0, False)])
def test_invalidations_of_vt_d_are_checked(tmp_path: pathlib.Path, counted: float,
                                           passed: bool) -> None:
    counters: dict[str, Any] = {"vtd_inv_iotlb": counted, "vtd_inv_predicted": 1.0}
    check, = check_run(x86_run(tmp_path, "intel-iommu", counters))
    assert (check.predicted, check.counted) == ("vtd_inv_predicted", "vtd_inv_iotlb")
    assert check.passed is passed


def test_a_prediction_without_a_count_does_not_pass(tmp_path: pathlib.Path) -> None:
    check, = check_run(x86_run(tmp_path, "intel-iommu", {"vtd_inv_predicted": 1.0}))
    assert not check.passed
