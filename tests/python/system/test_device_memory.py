# SPDX-License-Identifier: Apache-2.0
"""Memory allocated for a device, a boot a machine, against counts worked out from the kernel's
source (drivers/iommu/dma-iommu.c, iova.c, mm/dmapool.c; Linux 6.12)."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
from boots import Boot, Run
from conftest import PROFILES, load
from quick_entries import Entry, entries

PROFILE = ["pagemix", "run", "--config", f"{PROFILES}/device-memory.ini"]
SIZES = (4096, 65536, 2560 << 10, 10 << 20, 32 << 20)
ATTRS = ("default", "single_pages", "no_kernel_mapping", "zero")
ORDERS = ("in_order", "reversed", "random")
PAGES = (1, 100, 1000)
BLOCKS = (16, 256, 4096)


@pytest.fixture(scope="module")
def run(boot: Callable[..., Boot]) -> Callable[[str], Run]:
    return functools.cache(lambda machine: load(boot(machine, PROFILE).out))


def one(run: Run, name: str) -> Entry:
    found = [entry for entry in entries(run, name) if entry["name"] == name]
    assert found, name
    return found[0]


def coherent(run: Run, size: int, attrs: str = "default", op: str = "alloc") -> Entry:
    return one(run, f"coherent/bytes:{size}/attrs:{attrs}/op:{op}")


def pool(run: Run, block: int, pages: int, free: str, op: str, state: str = "") -> Entry:
    return one(run, f"dma_pool/block:{block}/align:{block}/pages:{pages}/free:{free}/op:{op}{state}")


def test_nothing_is_skipped(run: Callable[[str], Run]) -> None:
    for machine in ("smmuv3", "virtio-iommu"):
        assert run(machine)["context"]["pagemix"]["skipped"] == []


# The IOVA is aligned to the size rounded up to a power of two, so the core unmaps
# by one call for each bit of the size. Of a size with several bits the driver may
# remove more than the first call asked for, a mapping that lies across its end
# (pages in a row that are not aligned to their address: viommu_del_mappings()).
# Nothing may be left then, or a rest, unaligned, that takes up to two calls a bit.
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("attrs", ATTRS)
def test_a_free_unmaps_by_powers_of_two(run: Callable[[str], Run], size: int, attrs: str) -> None:
    unmaps = coherent(run("virtio-iommu"), size, attrs, "free")["viommu_unmap"]
    if size.bit_count() == 1:
        assert unmaps == 1
    else:
        assert 1 <= unmaps <= 2 * (size // 4096).bit_length()


def test_a_page_is_mapped_by_one_request(run: Callable[[str], Run]) -> None:
    for attrs in ATTRS:
        assert coherent(run("virtio-iommu"), 4096, attrs)["viommu_map"] == 1


# 2 MiB pages are tried first: five leaves, the range alone is invalidated. Single
# pages fill five tables, each dropped with a command of its own.
@pytest.mark.parametrize(("attrs", "commands"), [("default", 1), ("single_pages", 6)])
def test_single_pages_are_small_leaves(run: Callable[[str], Run], attrs: str,
                                       commands: int) -> None:
    entry = coherent(run("smmuv3"), 10 << 20, attrs, "free")
    assert (entry["smmu_cmd_tlbi"], entry["smmu_cmd_sync"]) == (commands, commands)


# iommu_dma_alloc() zeroes whatever it is asked for and makes the kernel mapping
# whatever it is asked for: neither attribute leaves anything out. What either costs
# depends on what was allocated before, on how free blocks lie and on which tables of
# the kernel's mapping are there; the work on each page does not. Writing the entry of
# a page is more than ten instructions; what is left out is no call at all, 0.
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("attrs", ["default", "zero", "no_kernel_mapping"])
def test_attributes_that_an_iommu_ignores(run: Callable[[str], Run], attrs: str,
                                          size: int) -> None:
    entry = coherent(run("smmuv3"), size, attrs)
    assert entry["stage_kernel_mapping"] >= 10 * size / 4096
    assert entry["stage_page_allocation"] >= 0.95 * entry["stage_zeroing"]


# Not so a free: the pages of a large block are split, and merge again one by one.
@pytest.mark.parametrize("size", SIZES[2:])
def test_single_pages_cost_more_to_allocate(run: Callable[[str], Run], size: int) -> None:
    assert (coherent(run("smmuv3"), size, "single_pages")["median"]
            > 1.2 * coherent(run("smmuv3"), size)["median"])


@pytest.mark.parametrize("size", SIZES)
def test_stages_add_up_and_tracing_only_adds(run: Callable[[str], Run], size: int) -> None:
    for attrs in ATTRS:
        entry = coherent(run("smmuv3"), size, attrs)
        parts = sum(entry[f"stage_{part}"] for part in (
            "page_allocation", "cache_maintenance", "iova", "map", "kernel_mapping", "other"))
        assert parts == pytest.approx(entry["stage_total"])
        assert entry["stage_total"] >= entry["median"]
        for part in ("page_allocation", "iova", "map", "kernel_mapping"):
            assert entry[f"stage_{part}"] > 0, part
        # A coherent device needs none.
        assert entry["stage_cache_maintenance"] == 0


# Where large blocks are free; where they are not, the search for pages is dearer.
def test_zeroing_is_most_of_a_large_page_allocation(run: Callable[[str], Run]) -> None:
    large = [coherent(run("smmuv3"), size) for size in SIZES[2:]]
    assert any(0.5 * entry["stage_page_allocation"] < entry["stage_zeroing"] for entry in large)
    for entry in large:
        assert entry["stage_zeroing"] <= 1.05 * entry["stage_page_allocation"]


def test_a_device_that_does_not_snoop_has_its_caches_cleaned(boot: Callable[..., Boot]) -> None:
    run = load(boot("smmuv3-noncoherent", [*PROFILE, "--families=coherent",
                                           "--coherent_bytes=4K,2560K",
                                           "--coherent_attrs=default"]).out)
    small, large = coherent(run, 4096), coherent(run, 2560 << 10)
    assert 0 < small["stage_cache_maintenance"] < large["stage_cache_maintenance"]
    assert run["context"]["pagemix"]["target"]["coherent"] is False


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("pages", PAGES)
def test_blocks_of_a_pool(run: Callable[[str], Run], block: int, pages: int) -> None:
    for free in ORDERS:
        for op in ("alloc", "free"):
            assert pool(run("smmuv3"), block, pages, free, op)["blocks"] == pages * 4096 / block


# Pages are mapped when the pool grows, and unmapped when it is destroyed.
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("pages", PAGES)
def test_only_a_new_pool_maps(run: Callable[[str], Run], block: int, pages: int) -> None:
    cold = pool(run("virtio-iommu"), block, pages, "in_order", "alloc", "/state:cold")
    assert (cold["viommu_map"], cold["viommu_unmap"]) == (pages, pages)
    warm = pool(run("virtio-iommu"), block, pages, "random", "alloc")
    assert warm["median"] < cold["median"]
    assert warm.get("viommu_map", 0) * warm["iterations"] == pages  # the warm-up is a run of its own


# Since 6.3 a pool is a stack of blocks: neither its size nor the order counts.
# The list of pages before cost more with every page.
@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_costs_the_same_in_every_pool(run: Callable[[str], Run], block: int) -> None:
    for op in ("alloc", "free"):
        costs = [pool(run("smmuv3"), block, pages, free, op)["block_cost"]
                 for pages in (100, 1000) for free in ORDERS]
        assert max(costs) <= 1.1 * min(costs), (op, costs)
