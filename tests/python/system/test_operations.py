# SPDX-License-Identifier: Apache-2.0
"""Mapping paths below and beside dma_map_sgtable(), a boot a machine, against known counts."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
from boots import Boot, Run
from conftest import PROFILES, load
from quick_entries import Entry

BYTES = 10 << 20
ORDERS = {"order0": 0, "order4": 4, "order8": 8, "order9": 9}
BY_CHUNK = ("map_page", "map_single", "unmap_page")
WHOLE = ("map_sgtable", "attach_map", "iommu_map", "iommu_map_sg", "iommu_unmap")


@pytest.fixture(scope="module")
def operations(boot: Callable[..., Boot]) -> Callable[[str], Run]:
    return functools.cache(lambda machine: load(
        boot(machine, ["pagemix", "run", "--config", f"{PROFILES}/operations.ini"]).out))


def find(run: Run, family: str, mix: str) -> Entry:
    name = f"{family}/mix:{mix}/layout:scattered/bytes:{BYTES}"
    found = [e for e in run["benchmarks"] if e["run_type"] == "iteration" and e["name"] == name]
    assert found, name
    return found[0]


# A chunk unmapped alone is one range inside a table, or one block: a command for
# it, and a sync (arm_smmu_tlb_inv_range_domain(), with range invalidation).
@pytest.mark.parametrize("mix", ORDERS)
@pytest.mark.parametrize("family", BY_CHUNK)
def test_a_chunk_at_a_time_is_invalidated_chunk_by_chunk(
        operations: Callable[[str], Run], family: str, mix: str) -> None:
    entry = find(operations("smmuv3"), family, mix)
    chunks = BYTES >> 12 + ORDERS[mix]
    assert (entry["smmu_cmd_tlbi"], entry["smmu_cmd_sync"]) == (chunks, chunks)


# The IOVA of a chunk is aligned to its size, so that it is one page of a virtio-iommu.
@pytest.mark.parametrize("mix", ORDERS)
@pytest.mark.parametrize("family", BY_CHUNK)
def test_a_chunk_at_a_time_is_a_request_each(
        operations: Callable[[str], Run], family: str, mix: str) -> None:
    entry = find(operations("virtio-iommu"), family, mix)
    chunks = BYTES >> 12 + ORDERS[mix]
    assert (entry["viommu_map"], entry["viommu_unmap"]) == (chunks, chunks)


@pytest.mark.parametrize("mix", ORDERS)
@pytest.mark.parametrize("family", WHOLE)
def test_requests_are_predicted_on_every_path(operations: Callable[[str], Run], family: str,
                                              mix: str) -> None:
    entry = find(operations("virtio-iommu"), family, mix)
    assert (entry["viommu_map"], entry["viommu_unmap"]) == (entry["map_calls"],
                                                            entry["unmap_calls"])


@pytest.mark.parametrize("mix", ORDERS)
def test_an_importer_invalidates_as_the_dma_api(operations: Callable[[str], Run],
                                                mix: str) -> None:
    entry = find(operations("smmuv3"), "attach_map", mix)
    assert (entry["smmu_cmd_tlbi"], entry["smmu_cmd_sync"]) == (entry["tlbi_predicted"],
                                                                entry["sync_predicted"])


# 10 MiB at a multiple of 2 MiB: five tables dropped and the range, or the range
# alone. A run's domain adds one TLBI as it goes (io_pgtable_tlb_flush_all()), and
# the syncs of attaching and detaching, the same for every buffer.
def test_a_domain_of_the_modules_own_is_invalidated_as_the_dma_apis(
        operations: Callable[[str], Run]) -> None:
    more = set()
    for family in ("iommu_map", "iommu_map_sg", "iommu_unmap"):
        for mix in ORDERS:
            entry = find(operations("smmuv3"), family, mix)
            each = 1 if mix == "order9" else 6
            more.add(tuple(round((entry[key] - each) * entry["iterations"], 6)
                           for key in ("smmu_cmd_tlbi", "smmu_cmd_sync")))
    assert len(more) == 1, more
    assert more.pop()[0] == 1


@pytest.mark.parametrize(("mix", "leaves"), [("order0", {"leaves_4096": 2560}),
                                             ("order9", {"leaves_2097152": 5})])
def test_leaves_of_a_domain_of_the_modules_own(operations: Callable[[str], Run], mix: str,
                                               leaves: dict[str, int]) -> None:
    for family in ("iommu_map", "iommu_map_sg", "iommu_unmap"):
        entry = find(operations("smmuv3"), family, mix)
        assert {key: entry[key] for key in entry if key.startswith("leaves_")} == leaves


# Each path does what the one below it does, and something more: page tables; with
# IOVAs and the table's DMA addresses; with the table itself.
@pytest.mark.parametrize("machine", ["smmuv3", "virtio-iommu"])
@pytest.mark.parametrize("mix", ORDERS)
def test_each_layer_adds_cost(operations: Callable[[str], Run], machine: str, mix: str) -> None:
    cost = {family: find(operations(machine), family, mix)["median"] for family in WHOLE}
    assert cost["iommu_map_sg"] < cost["map_sgtable"] < cost["attach_map"]
