# SPDX-License-Identifier: Apache-2.0
"""Operations that need a later kernel than the guests' own, or a kernel's own test.

A kernel that is not in the cache is skipped with the reason; scripts/test fetches
Debian's, guest/kernel builds `base`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import pytest
from boots import Boot, Run
from conftest import PROFILES, load
from pagemix_guest import kernel
from pagemix_guest.errors import UsageError
from quick_entries import BYTES, Entry, entries

IOVA = ("iova_link", "iova_unlink")


def need(version: str) -> tuple[str, str]:
    try:
        kernel.find("arm64", version)
    except UsageError as error:
        pytest.skip(str(error))
    return "--kernel", version


@pytest.fixture(scope="module")
def linked(boot: Callable[..., Boot]) -> Callable[[str], Run]:
    return functools.cache(lambda machine: load(boot(
        machine, ["pagemix", "run", "--config", f"{PROFILES}/operations.ini",
                  f"--families=map_sgtable {' '.join(IOVA)}", "--states=warm cold"],
        need("7.3")).out))


# One call a run, as the DMA API's call of the whole table maps and unmaps.
@pytest.mark.parametrize("family", IOVA)
def test_linked_ranges_are_invalidated_as_mapped_tables(linked: Callable[[str], Run],
                                                        family: str) -> None:
    for entry in entries(linked("smmuv3"), family + "/"):
        assert entry["smmu_cmd_tlbi"] == entry["tlbi_predicted"], entry["name"]
        assert entry["smmu_cmd_sync"] == entry["sync_predicted"], entry["name"]
    for entry in entries(linked("virtio-iommu"), family + "/"):
        assert entry["viommu_map"] == entry["map_calls"], entry["name"]
        assert entry["viommu_unmap"] == entry["unmap_calls"], entry["name"]


def test_linked_ranges_have_the_leaves_of_mapped_tables(linked: Callable[[str], Run]) -> None:
    for mix, leaves in (("order0", {"leaves_4096": 2560}), ("order9", {"leaves_2097152": 5})):
        for family in IOVA:
            name = f"{family}/mix:{mix}/layout:scattered/bytes:{BYTES}"
            for entry in entries(linked("smmuv3"), name):
                assert {k: v for k, v in entry.items() if k.startswith("leaves_")} == leaves


# mm/dmapool_test.c: bytes and alignment, and as many pages as its blocks take.
SHAPES = {16: (16, 32), 64: (64, 128), 256: (256, 512), 1024: (1024, 512), 4096: (4096, 1024),
          68: (32, 196)}
CYCLES = 100  # NR_TESTS there


@pytest.fixture(scope="module")
def pools(boot: Callable[..., Boot]) -> tuple[dict[int, float], Run]:
    """Cost of a block's cycle by size: of the kernel's module; and ours, without an IOMMU in
    between as there."""
    only = "|".join(f"{size}/align:{align}/pages:{pages}"
                    for size, (align, pages) in SHAPES.items())
    done = boot("smmuv3", [
        "pagemix", "run", "--config", f"{PROFILES}/device-memory.ini", "--families=dma_pool",
        "--pool_blocks=16 64 256 1K 4K 68@32", "--pool_frees=in_order",
        f"--pool_pages={' '.join(sorted({str(pages) for _, pages in SHAPES.values()}))}",
        f"--benchmark_filter=dma_pool/block:({only})/", "--then",
        "sh", "-c", "dmesg | grep 'dmapool test:' >/out/dmapool.txt"],
        (*need("base"), "--module", "dmapool_test", "--append", "iommu.passthrough=1"))
    lines = re.findall(r"size:(\d+) +align:\d+ +blocks:(\d+) +time:(\d+)",
                       (done.out / "dmapool.txt").read_text(encoding="utf-8"))
    theirs = {int(size): int(usec) * 1000 / CYCLES / int(blocks) for size, blocks, usec in lines}
    assert set(theirs) == set(SHAPES)
    return theirs, load(done.out)


def test_pools_cost_what_the_kernels_own_test_says(pools: tuple[dict[int, float], Run]) -> None:
    theirs, run = pools
    ours: dict[int, float] = {}
    for size, (align, pages) in SHAPES.items():
        name = f"dma_pool/block:{size}/align:{align}/pages:{pages}/free:in_order/op:"

        def cost(half: str, name: str = name) -> float:
            entry: Entry = next(e for e in entries(run, name) if e["name"] == name + half)
            return float(entry["block_cost"])

        # The pages come in the first of its cycles.
        ours[size] = (cost("alloc/state:cold") + (CYCLES - 1) * cost("alloc")) / CYCLES \
            + cost("free")
    print("size: kernel's test, ours:", {size: (round(theirs[size], 1), round(ours[size], 1))
                                         for size in SHAPES})
    for size in SHAPES:
        assert ours[size] == pytest.approx(theirs[size], rel=0.1), size
    for one in SHAPES:
        for other in SHAPES:
            assert ours[one] / ours[other] == pytest.approx(theirs[one] / theirs[other], rel=0.1)
            if theirs[one] > 1.1 * theirs[other]:
                assert ours[one] > ours[other], (one, other)
