# SPDX-License-Identifier: Apache-2.0
"""Two quick runs of smmuv3 and one of virtio-iommu against answers known before.

Where an expected value is written here, it follows from Linux 6.12's sources
(given beside it) or was measured on another kernel build with another program.
"""

from __future__ import annotations

import pytest

from quick_entries import LAYOUTS, MAP_FAMILIES, MIXES, QuickRun, Run, entries, warm

EVENTS = ("smmu_cmd_tlbi", "smmu_cmd_sync", "iotlb_hit", "iotlb_miss", "viommu_map", "viommu_unmap")


@pytest.fixture(scope="module")
def smmuv3(quick_run: QuickRun) -> Run:
    return quick_run("smmuv3", 1)


@pytest.fixture(scope="module")
def viommu(quick_run: QuickRun) -> Run:
    return quick_run("virtio-iommu", 1)


# One TLBI + SYNC for each of the five 2 MiB tables freed (io_pgtable_tlb_flush_walk
# in __arm_lpae_unmap) and one for the gathered range; 2 MiB leaves have no tables.
@pytest.mark.parametrize(("mix", "layout", "commands"), [
    ("order0", "scattered", 6), ("order0", "buddy", 6), ("order4", "scattered", 6),
    ("order8", "scattered", 6), ("order9", "scattered", 1), ("order9", "buddy", 1)])
def test_smmu_commands_per_unmap(smmuv3: Run, mix: str, layout: str, commands: int) -> None:
    for family in ("map_sgtable", "unmap_sgtable"):
        for entry in warm(smmuv3, family, mix, layout):
            assert entry["smmu_cmd_tlbi"] == commands
            assert entry["smmu_cmd_sync"] == commands


@pytest.mark.parametrize("mix", ["order0", "order4", "order9"])
def test_leaves_of_a_10_mib_buffer(smmuv3: Run, mix: str) -> None:
    for entry in warm(smmuv3, "map_sgtable", mix, "scattered"):
        if mix == "order9":
            assert entry["leaves_2097152"] == 5
            assert "leaves_4096" not in entry or entry["leaves_4096"] == 0
        else:
            assert entry["leaves_4096"] == 2560
            assert entry.get("leaves_2097152", 0) == 0


@pytest.mark.parametrize("family", MAP_FAMILIES)
def test_prediction_equals_what_the_smmu_was_told(smmuv3: Run, family: str) -> None:
    for entry in entries(smmuv3, family + "/"):
        assert entry["smmu_cmd_tlbi"] == entry["tlbi_predicted"], entry["name"]
        assert entry["smmu_cmd_sync"] == entry["sync_predicted"], entry["name"]


@pytest.mark.parametrize("family", MAP_FAMILIES)
def test_prediction_equals_what_the_virtio_iommu_was_asked(viommu: Run, family: str) -> None:
    for entry in entries(viommu, family + "/"):
        assert entry["viommu_map"] == entry["map_calls"], entry["name"]
        assert entry["viommu_unmap"] == entry["unmap_calls"], entry["name"]


def test_every_mix_and_layout_was_predicted_and_counted(smmuv3: Run, viommu: Run) -> None:
    for family in MAP_FAMILIES:
        for mix in MIXES:
            for layout in LAYOUTS:
                for run, counter in ((smmuv3, "smmu_cmd_sync"), (viommu, "viommu_map")):
                    for entry in warm(run, family, mix, layout):
                        assert entry[counter] > 0, entry["name"]


# Guest instructions of another build (6.12.95, 62.5 MHz counter, best of 5).
# Its order 9 buffer was one run; five separate ones take four more map calls.
@pytest.mark.parametrize(("family", "mix", "instructions"), [
    ("map_sgtable", "order0", 1747392), ("map_sgtable", "order4", 171168),
    ("map_sgtable", "order8", 73616), ("unmap_sgtable", "order0", 10752),
    ("unmap_sgtable", "order4", 10768), ("unmap_sgtable", "order8", 10752),
    ("unmap_sgtable", "order9", 2432)])
def test_cost_of_scattered_buffers(smmuv3: Run, family: str, mix: str, instructions: int) -> None:
    for entry in warm(smmuv3, family, mix, "scattered"):
        assert entry["median"] == pytest.approx(instructions, rel=0.05)


def test_cost_of_order9_as_allocated(smmuv3: Run) -> None:
    for entry in warm(smmuv3, "map_sgtable", "order9", "buddy"):
        assert entry["median"] == pytest.approx(2768, rel=0.05)


def test_chunks_are_those_of_the_mix(smmuv3: Run) -> None:
    whole = {"order0": (0, 2560), "order4": (4, 160), "order8": (8, 10), "order9": (9, 5),
             "8-4-0": (8, 10), "8-0-0": (8, 10), "8-4-0-mid": (8, 10)}
    for mix, (order, chunks) in whole.items():
        for entry in warm(smmuv3, "alloc", mix, "buddy"):
            assert entry[f"chunks_order{order}"] == chunks
    for entry in warm(smmuv3, "alloc", "9-4-0", "buddy"):
        assert entry["chunks_order9"] == 5


def test_two_runs_agree(quick_run: QuickRun, smmuv3: Run) -> None:
    first = {(e["name"], e["repetition_index"]): e for e in entries(smmuv3, "")}
    second = {(e["name"], e["repetition_index"]): e for e in entries(quick_run("smmuv3", 2), "")}
    assert first.keys() == second.keys()
    for key, entry in first.items():
        for event in EVENTS:
            assert entry.get(event) == second[key].get(event), (key, event)
        assert entry["median"] == pytest.approx(second[key]["median"], rel=0.001), key


def test_run_is_labelled_with_its_clock(smmuv3: Run) -> None:
    clock = smmuv3["context"]["pagemix"]["clock"]
    assert clock["kind"] == "instructions"
    assert 0 < clock["overhead"] < 100
    for entry in entries(smmuv3, ""):
        assert entry["label"] == "clock:instructions"
    assert smmuv3["context"]["pagemix"]["complete"] is True
    assert smmuv3["context"]["pagemix"]["skipped"] == []


def test_cost_of_a_sample_is_measured(smmuv3: Run) -> None:
    for timer in ("kernel", "user"):
        for entry in entries(smmuv3, f"sample_cost/timer:{timer}"):
            assert 0 < entry["median"] < 1000
