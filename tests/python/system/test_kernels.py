# SPDX-License-Identifier: Apache-2.0
"""Other kernels and page sizes against answers known before.

Debian's 7.3.4, measured with another program: guest instructions of map and
unmap of 10 MiB, scattered. What is not in the cache is skipped; scripts/test
fetches it while Debian has it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import boots
import pytest
from conftest import PROFILES, load
from pagemix_guest import kernel
from pagemix_guest.errors import UsageError
from quick_entries import BYTES, MAP_FAMILIES, Run, entries, warm


@dataclass(frozen=True)
class Known:
    """A machine, its kernel, and map and unmap by mix."""

    machine: str
    kernel: str
    page: int
    costs: dict[str, tuple[int | None, int]]


# Unmaps of as many leaves are one work, whatever the order of their chunks. What
# order 9 costs to map depends on how many runs the buffer is: 1 to 5.
KNOWN = {
    "7.3": Known("smmuv3", "7.3", 4096, {"order0": (1927568, 14560), "order4": (173808, 14560),
                                         "order8": (64640, 14560), "order9": (None, 2912)}),
    "16k": Known("smmuv3-16k", "7.3-16k", 16384,
                 {"order0": (481360, 43280), "order4": (41536, 43280)}),
}


@pytest.fixture(scope="module")
def run_of(boot: Callable[..., boots.Boot]) -> Callable[[Known], Run]:
    @functools.cache
    def start(machine: str, version: str, mixes: str) -> Run:
        try:
            kernel.find("arm64", version)
        except UsageError as error:
            pytest.skip(str(error))
        return load(boot(machine, ["pagemix", "run", "--config", f"{PROFILES}/quick.ini",
                                   f"--mixes={mixes}"], ("--kernel", version)).out)

    return lambda known: start(known.machine, known.kernel, " ".join(known.costs))


@pytest.mark.parametrize("name", KNOWN)
def test_map_and_unmap_cost_what_they_did(run_of: Callable[[Known], Run], name: str) -> None:
    known = KNOWN[name]
    run = run_of(known)
    for mix, costs in known.costs.items():
        for family, instructions in zip(("map_sgtable", "unmap_sgtable"), costs, strict=True):
            for entry in warm(run, family, mix, "scattered") if instructions else ():
                assert entry["median"] == pytest.approx(instructions, rel=0.05), entry["name"]


@pytest.mark.parametrize("name", KNOWN)
def test_leaves_have_the_page_size(run_of: Callable[[Known], Run], name: str) -> None:
    known = KNOWN[name]
    run = run_of(known)
    assert run["context"]["pagemix"]["iommu"]["granule"] == known.page
    for entry in warm(run, "map_sgtable", "order0", "scattered"):
        assert entry[f"leaves_{known.page}"] == BYTES // known.page


@pytest.mark.parametrize("name", KNOWN)
def test_commands_are_those_predicted(run_of: Callable[[Known], Run], name: str) -> None:
    run = run_of(KNOWN[name])
    for family in MAP_FAMILIES:
        for entry in entries(run, family + "/"):
            assert entry["smmu_cmd_tlbi"] == entry["tlbi_predicted"], entry["name"]
            assert entry["smmu_cmd_sync"] == entry["sync_predicted"], entry["name"]


def test_without_an_iommu_what_needs_one_is_skipped_and_the_rest_measured(
        boot: Callable[..., boots.Boot]) -> None:
    families = ["map_sgtable", "map_single", "iommu_map", "vfio_map"]
    run = load(boot("no-iommu", ["pagemix", "run", "--config", f"{PROFILES}/quick.ini",
                                 "--device", "0000:00:02.0", "--mixes=order0",
                                 "--layouts=scattered", f"--families={' '.join(families)}"]).out)
    skipped = {entry["what"]: entry["why"] for entry in run["context"]["pagemix"]["skipped"]}
    assert set(skipped) == {"iommu_map", "vfio_map"}
    assert "behind no IOMMU" in skipped["iommu_map"]
    for entry in warm(run, "map_sgtable", "order0", "scattered"):
        # dma_direct_map_sg(): no page table, no invalidation, a physical address each.
        assert not [name for name in entry if name.startswith(("leaves_", "smmu_", "viommu_"))]
        assert entry["median"] < 1927568 / 10
