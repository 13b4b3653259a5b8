# SPDX-License-Identifier: Apache-2.0
"""Device DMA by QEMU's NVMe drive, CPU access and imports against answers known before.

Three boots. Expected values follow from QEMU 7.2's and Linux 6.12's sources,
named beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Run = dict[str, Any]
Entry = dict[str, Any]

MIXES = ("order0", "order4", "order8", "order9", "8-4-0", "8-4-0-mid", "8-0-0", "9-4-0")
PURE = ("order0", "order4", "order8", "order9")
BYTES = 10 << 20
PAGE = 4096
LINES = BYTES // 64  # cache lines of a buffer: CTR_EL0 of QEMU's cortex-a72 says 64 bytes
REACH = ("--families=use_random use_pipeline use_column use_stream", "--mixes=" + " ".join(MIXES),
         "--layouts=scattered", "--bytes=10M", "--windows=16K 512K 960K 2M 10M", "--maps=each",
         "--pipeline_frame=1920x1080-rgba", "--frames=1920x1080-nv12", "--columns=1",
         "--depths=1 32", "--iterations=1", "--blocks=1", "--warmup=1")
SYNC = ("--families=sync import", "--mixes=order0 order4 order9", "--layouts=scattered",
        "--bytes=10M", "--iterations=3", "--blocks=1", "--warmup=1")
DISPLAY = ("--target", "edu nvme cirrus", "--module", "vgem", "--module", "cirrus")


def find(run: Run, family: str, mix: str, **parts: object) -> Entry:
    """The only entry of a family and mix with these parts in its name."""
    wanted = {f"{key}:{value}" for key, value in {"mix": mix, **parts}.items()}
    found = [e for e in run["benchmarks"] if e["run_type"] == "iteration"
             and e["name"].split("/")[0] == family and wanted <= set(e["name"].split("/"))]
    assert len(found) == 1, f"{family} {wanted}: {len(found)} entries"
    return found[0]


def window(run: Run, mix: str, pages: int) -> Entry:
    entry = find(run, "use_random", mix, window=pages * PAGE)
    assert entry["accesses"] == pages
    return entry


@pytest.fixture(scope="module")
def smmuv3(use_run: Callable[..., Run]) -> Run:
    return use_run("smmuv3", *REACH)


@pytest.fixture(scope="module")
def viommu(use_run: Callable[..., Run]) -> Run:
    return use_run("virtio-iommu", *REACH)


@pytest.fixture(scope="module")
def coherent(use_run: Callable[..., Run]) -> Run:
    return use_run("smmuv3", *SYNC, guest=DISPLAY)


@pytest.fixture(scope="module")
def noncoherent(use_run: Callable[..., Run]) -> Run:
    return use_run("smmuv3-noncoherent", *SYNC, guest=DISPLAY)


# QEMU's IOTLB holds SMMU_IOTLB_MAX_SIZE = 256 entries and is emptied when a 257th
# comes (smmu_iotlb_insert() in hw/arm/smmu-common.c). The queues take a few.
@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("pages", [4, 128, 240])
def test_a_window_that_fits_has_no_miss(smmuv3: Run, mix: str, pages: int) -> None:
    assert window(smmuv3, mix, pages)["iotlb_miss"] == 0
    assert window(smmuv3, mix, pages)["iotlb_hit"] >= pages


@pytest.mark.parametrize("mix", ["order0", "order4", "order8"])
def test_512_pages_miss_where_leaves_are_pages(smmuv3: Run, mix: str) -> None:
    entry = window(smmuv3, mix, 512)
    assert entry["iotlb_miss"] >= 500
    assert entry["iotlb_insert_level3"] == entry["iotlb_miss"]
    assert entry["iotlb_insert_level1"] == entry["iotlb_insert_level2"] == 0


def test_512_pages_of_order9_are_one_leaf(smmuv3: Run) -> None:
    assert window(smmuv3, "order9", 512)["iotlb_miss"] == 0


def test_2560_pages_of_order9_are_five_leaves(smmuv3: Run) -> None:
    entry = window(smmuv3, "order9", 2560)
    assert entry["leaves_2097152"] == 5
    assert entry["iotlb_miss"] <= 5


# use_pipeline maps each frame anew, so that its DMA has to fill the IOTLB: a
# frame of 2025 pages in 2048 leaves of level 3 or 4 of level 2. Two chunks of
# order 8 may lie side by side by chance and make a leaf of level 2.
@pytest.mark.parametrize(("mix", "level"), [("order0", 3), ("order4", 3), ("order8", 3),
                                            ("order9", 2)])
def test_level_of_the_leaves_that_dma_meets(smmuv3: Run, mix: str, level: int) -> None:
    entry = find(smmuv3, "use_pipeline", mix, map="each")
    blocks = entry.get("leaves_2097152", 0)
    assert entry["iotlb_insert_level1"] == 0
    if level == 3:
        assert blocks <= 1 if mix == "order8" else blocks == 0
        assert entry["iotlb_insert_level3"] >= 2025 - 512 * blocks
        assert (entry["iotlb_insert_level2"] > 0) == (blocks > 0)
    else:
        assert blocks == 4
        assert entry["iotlb_insert_level2"] == 4
        assert entry["iotlb_insert_level3"] <= 4  # the queues' pages


@pytest.mark.parametrize("mix", PURE)
def test_parts_of_a_frame_make_up_its_cost(smmuv3: Run, mix: str) -> None:
    entry = find(smmuv3, "use_pipeline", mix, map="each")
    parts = [entry[f"part_{name}"] for name in ("map", "dma", "unmap", "sync")]
    assert all(part > 0 for part in parts)
    assert sum(parts) <= entry["median"]
    assert sum(parts) > 0.99 * entry["median"]


def test_a_column_reads_each_line_of_its_tiles(smmuv3: Run) -> None:
    for mix in MIXES:
        assert find(smmuv3, "use_column", mix, frame="1920x1080-nv12")["accesses"] == 1080 + 540


# At 128 KiB a command the buffer is 80 commands, four times over at depth 32.
def test_a_stream_covers_the_buffer(smmuv3: Run) -> None:
    for depth, times in ((1, 1), (32, 4)):
        entry = find(smmuv3, "use_stream", "order0", depth=depth)
        assert (entry["accesses"], entry["dma_bytes"]) == (80 * times, BYTES * times)
        assert "bytes_per_second" not in entry  # instructions are not time


def test_drive_and_absent_counters_are_recorded(smmuv3: Run) -> None:
    context = smmuv3["context"]["pagemix"]
    assert context["drive"]["device"] == "0000:00:03.0"
    assert context["drive"]["block_bytes"] == 512
    assert [item["what"] for item in context["skipped"]] == ["iommu counters"]


def test_a_virtio_iommu_tells_translations_and_says_what_it_cannot(viommu: Run) -> None:
    for mix in MIXES:
        for pages in (4, 128, 240, 512, 2560):
            entry = window(viommu, mix, pages)
            # At least the command, its data and its completion.
            assert entry["viommu_translate"] >= 3 * pages
            assert not any(key.startswith("iotlb_") for key in entry)
        each = find(viommu, "use_pipeline", mix, map="each")
        assert (each["viommu_map"], each["viommu_unmap"]) == (each["map_calls"],
                                                              each["unmap_calls"])
    whats = [item["what"] for item in viommu["context"]["pagemix"]["skipped"]]
    assert whats == ["iommu counters", "iotlb_hit, iotlb_miss, iotlb_insert_level<k>"]


# iommu_dma_sync_sg_for_cpu() and _for_device() return at once for a coherent
# device, and clean or invalidate line by line for another: at least one
# instruction a line. To a device nothing is invalidated at the begin, and from
# a device nothing needs cleaning but arm64 cleans all the same (dcache_clean_poc()
# in arch_sync_dma_for_device()).
@pytest.mark.parametrize("mix", ["order0", "order9"])
@pytest.mark.parametrize(("op", "direction", "works"), [
    ("begin", "bidirectional", True), ("begin", "to_device", False),
    ("begin", "from_device", True), ("end", "bidirectional", True),
    ("end", "to_device", True), ("end", "from_device", True)])
def test_sync_touches_lines_of_noncoherent_devices_only(
        coherent: Run, noncoherent: Run, mix: str, op: str, direction: str, works: bool) -> None:
    cheap = find(coherent, "sync", mix, op=op, direction=direction)
    dear = find(noncoherent, "sync", mix, op=op, direction=direction)
    assert (cheap["coherent"], dear["coherent"]) == (1, 0)
    assert cheap["median"] < 2000
    if works:
        assert dear["median"] > LINES
    else:
        assert dear["median"] < LINES


# drm_gem_prime_import_dev() attaches and maps for the driver's device: cirrus'
# is behind the SMMU, vgem's is no bus device.
@pytest.mark.parametrize(("driver", "translated"), [("vgem", 0), ("cirrus", 1)])
def test_importers_map_at_import(coherent: Run, driver: str, translated: int) -> None:
    for mix in ("order0", "order4", "order9"):
        for op in ("import", "release"):
            entry = find(coherent, "import", mix, driver=driver, op=op)
            assert (entry["attached"], entry["mapped"], entry["translated"]) == (1, 1, translated)
            # Five tables of 2 MiB and the range, or the range alone; see test_known_answers.py.
            commands = 0 if not translated else 1 if mix == "order9" else 6
            assert entry["smmu_cmd_tlbi"] == entry["smmu_cmd_sync"] == commands


def test_an_import_behind_an_iommu_costs_by_leaves(coherent: Run) -> None:
    cost = {mix: find(coherent, "import", mix, driver="cirrus", op="import")["median"]
            for mix in ("order0", "order4", "order9")}
    assert cost["order0"] > 5 * cost["order4"] > 5 * cost["order9"]
