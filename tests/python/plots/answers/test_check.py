# SPDX-License-Identifier: Apache-2.0
"""Predicted against counted: equal, different, not comparable."""

from __future__ import annotations

import pathlib
from typing import Any

import make_run
import pytest
from pagemix_plots.answers import headline
from pagemix_plots.answers.check import check_run
from pagemix_plots.run.load import Run, load_run

NAME = "map_sgtable/mix:order9/layout:scattered/bytes:10485760"


def changed(folder: pathlib.Path, machine: str, block: int, *, name: str = NAME,
            options: dict[str, Any] | None = None, **counters: float | None) -> Run:
    """A run with counters of one entry replaced (None removes)."""
    document, arrays = make_run.build(make_run.Options(machine=machine, **(options or {})))
    entry = next(e for e in document["benchmarks"]
                 if e["name"] == name and e["repetition_index"] == block)
    for key, value in counters.items():
        if value is None:
            del entry[key]
        else:
            entry[key] = value
    return load_run(make_run.write(folder, document, arrays))


@pytest.mark.parametrize("machine, pairs", [
    ("smmuv3", ["tlbi_predicted", "sync_predicted"]),
    ("virtio-iommu", ["map_calls", "unmap_calls"])])
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


def test_a_run_without_a_prediction_has_no_check_of_it(run: Any) -> None:
    """Such as one recorded before the prediction was."""
    loaded = run(families=("map_sgtable",))
    for benchmark in loaded.benchmarks.values():
        for block in benchmark.blocks:
            block.counters.pop("sync_predicted", None)
    assert [check.predicted for check in check_run(loaded)] == ["tlbi_predicted"]


def test_an_entry_without_prediction_is_not_compared(tmp_path: pathlib.Path) -> None:
    loaded = changed(tmp_path, "smmuv3", 0, tlbi_predicted=None)
    check = check_run(loaded)[0]
    assert check.compared == 127 and check.passed


def test_a_prediction_without_count_is_no_pass(tmp_path: pathlib.Path) -> None:
    check = check_run(changed(tmp_path, "smmuv3", 0, smmu_cmd_tlbi=None))[0]
    assert check.compared == 127 and check.uncounted == 1 and not check.passed
    assert check.words.endswith("1 more have a prediction but no count.")


COLD: dict[str, Any] = {"mixes": ("order0", "order9"), "families": ("map_sgtable",),
                        "layouts": ("scattered",), "states": ("warm", "cold")}


@pytest.mark.parametrize("sizes, name, counted, explained", [
    # Five leaves of 2 MiB: at most five emptied tables, left by the buffers of 1 MiB.
    ((10 << 20, 1 << 20), NAME + "/state:cold", 1.32, True),
    ((10 << 20, 1 << 20), NAME + "/state:cold", 6.0, True),
    ((10 << 20, 1 << 20), NAME + "/state:cold", 6.5, False),
    ((10 << 20, 1 << 20), NAME + "/state:cold", 0.5, False),
    ((10 << 20, 1 << 20), NAME, 1.32, False),
    ((10 << 20, 1 << 20), NAME.replace("order9", "order0") + "/state:cold", 6.32, False),
    ((10 << 20, 64 << 20), NAME + "/state:cold", 1.32, False)])
def test_tables_that_large_leaves_replace(tmp_path: pathlib.Path, sizes: tuple[int, ...],
                                          name: str, counted: float, explained: bool) -> None:
    loaded = changed(tmp_path, "smmuv3", 1, name=name, options={**COLD, "sizes": sizes},
                     smmu_cmd_tlbi=counted)
    check, _ = check_run(loaded)
    assert (len(check.replaced), len(check.mismatches)) == ((1, 0) if explained else (0, 1))
    assert check.passed == explained
    assert bool(headline.headline(loaded).warnings) != explained
    if explained:
        more = "0.32" if counted == 1.32 else "5"
        assert f"are equal in {check.compared - 1} of {check.compared} entries that carry both. " \
            f"1 cold entries count up to {more} more: a large leaf" in check.words
