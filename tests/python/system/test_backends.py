# SPDX-License-Identifier: Apache-2.0
"""VFIO's backends side by side on a kernel of our own that has IOMMUFD, a boot a machine.

`guest/kernel build base` makes it; without it in the cache these are skipped.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import pytest
from boots import Boot, Run
from conftest import PROFILES, load
from pagemix_guest import kernel
from pagemix_guest.errors import UsageError
from quick_entries import Entry, entries

BACKENDS = ("type1", "iommufd", "iommufd-4k")
SOURCES = {"shmem": None, "hugetlb-64K": 64 << 10, "hugetlb-2M": 2 << 20, "hugetlb-32M": 32 << 20}
SIZES = (10 << 20, 32 << 20)
MACHINES = ("smmuv3", "virtio-iommu")


@pytest.fixture(scope="module")
def run_of(boot: Callable[..., Boot]) -> Callable[[str], Run]:
    @functools.cache
    def start(machine: str) -> Run:
        try:
            kernel.find("arm64", "base")
        except UsageError as error:
            pytest.skip(str(error))
        return load(boot(machine, [
            "pagemix", "run", "--config", f"{PROFILES}/quick.ini", "--layouts", "scattered",
            "--mixes", "order0 order8 order9", "--backend", " ".join(BACKENDS), "--families",
            "vfio_map vfio_unmap file_map file_unmap sample_cost", "--bytes",
            " ".join(map(str, SIZES)), "--sources", " ".join(SOURCES), "--blocks", "1"],
            ("--kernel", "base")).out)

    return start


def of_backend(run: Run, backend: str) -> Iterator[Entry]:
    """Entries of buffers and files mapped by a backend."""
    for family in ("vfio_", "file_"):
        if family != "file_" or backend != "type1":
            yield from (e for e in entries(run, family) if e["name"].endswith(f":{backend}"))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_case_is_there(run_of: Callable[[str], Run], machine: str, backend: str) -> None:
    # Mixes and sizes; files of each source and size, but 10 MiB are no whole 32 MiB.
    buffers, files = 3 * len(SIZES), len(SOURCES) * len(SIZES) - 1
    assert len(list(of_backend(run_of(machine), backend))) == 2 * (
        buffers + (0 if backend == "type1" else files))


@pytest.mark.parametrize("backend", BACKENDS)
def test_commands_are_those_predicted(run_of: Callable[[str], Run], backend: str) -> None:
    for entry in of_backend(run_of("smmuv3"), backend):
        assert entry["smmu_cmd_tlbi"] == entry["tlbi_predicted"] > 0, entry["name"]
        assert entry["smmu_cmd_sync"] == entry["sync_predicted"] > 0, entry["name"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_requests_are_those_predicted(run_of: Callable[[str], Run], backend: str) -> None:
    for entry in of_backend(run_of("virtio-iommu"), backend):
        assert entry["viommu_map"] == entry["map_calls"] > 0, entry["name"]
        assert entry["viommu_unmap"] == entry["unmap_calls"] > 0, entry["name"]


def leaves(entry: Entry) -> dict[int, int]:
    return {int(key.removeprefix("leaves_")): int(entry[key])
            for key in entry if key.startswith("leaves_")}


# iommu_map() of each page alone (batch_iommu_map_small() of drivers/iommu/iommufd).
@pytest.mark.parametrize("machine", MACHINES)
def test_without_huge_pages_every_leaf_is_a_page(run_of: Callable[[str], Run],
                                                 machine: str) -> None:
    for entry in of_backend(run_of(machine), "iommufd-4k"):
        size = int(entry["name"].partition("/bytes:")[2].split("/")[0])
        assert leaves(entry) == {4096: size // 4096}, entry["name"]
        assert entry["map_calls"] == size // 4096, entry["name"]


# A huge page is one run: a virtio-iommu maps it whole, the SMMU in blocks of 2 MiB
# where it is as large, in pages where it is not.
@pytest.mark.parametrize(("source", "page"), [(s, p) for s, p in SOURCES.items() if p])
def test_leaves_of_huge_pages(run_of: Callable[[str], Run], source: str, page: int) -> None:
    name = f"file_map/source:{source}/bytes:{32 << 20}/backend:iommufd"
    smmu = next(entries(run_of("smmuv3"), name))
    leaf = 2 << 20 if page >= 2 << 20 else 4096
    assert leaves(smmu) == {leaf: (32 << 20) // leaf}
    assert min(leaves(next(entries(run_of("virtio-iommu"), name)))) >= page


def test_iommufd_unmaps_at_once_what_type1_unmaps_by_runs(run_of: Callable[[str], Run]) -> None:
    run = run_of("smmuv3")
    calls = {backend: next(entries(run, f"vfio_unmap/mix:order0/layout:scattered/"
                                        f"bytes:{10 << 20}/backend:{backend}"))["unmap_calls"]
             for backend in BACKENDS}
    assert calls["iommufd"] == calls["iommufd-4k"] < 10 < 1000 < calls["type1"]
