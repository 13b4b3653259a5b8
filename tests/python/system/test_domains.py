# SPDX-License-Identifier: Apache-2.0
"""Domain modes switched in a boot of smmuv3: what the SMMU was told, and what it cost.

Expected counts follow from Linux 6.12's sources, given beside them. A boot a size:
a lazy domain maps at ever new addresses, and a 2 MiB block over the empty table
that a smaller buffer left there costs a command of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
from boots import Boot, Run
from conftest import PROFILES, load
from quick_entries import Entry

MODES = ("strict", "lazy", "identity")
FAMILIES = ("map_sgtable", "unmap_sgtable", "attach_map")
MIB = 1 << 20
# A table that the unmapped range fills is freed, and told to the SMMU, at once in
# every mode (io_pgtable_tlb_flush_walk() in __arm_lpae_unmap()): 10 MiB of 4 KiB
# leaves fill five tables of 2 MiB, a block has none, 1 MiB fills none.
TABLES = {("order0", 10 * MIB): 5, ("order4", 10 * MIB): 5, ("order9", 10 * MIB): 0,
          ("order0", MIB): 0, ("order8", MIB): 0}
BUFFERS = list(TABLES)


@pytest.fixture(scope="module")
def run_of(boot: Callable[..., Boot]) -> Callable[[int], Run]:
    """run_of(bytes): run.json of the boot with buffers of this size."""
    return functools.cache(lambda size: load(boot("smmuv3", [
        "pagemix", "run", "--config", f"{PROFILES}/domains.ini", "--bytes", str(size),
        "--families", " ".join((*FAMILIES, "iommu_map", "sample_cost"))]).out))


def find(run: Run, family: str, mix: str, size: int, mode: str) -> list[Entry]:
    name = f"{family}/mix:{mix}/layout:scattered/bytes:{size}/domain:{mode}"
    found = [e for e in run["benchmarks"] if e["run_type"] == "iteration" and e["name"] == name]
    assert len(found) == 2, name
    return found


def test_what_was_switched_is_told(run_of: Callable[[int], Run]) -> None:
    run = run_of(MIB)
    iommu = run["context"]["pagemix"]["iommu"]
    assert iommu["domain_modes"] == list(MODES)
    assert iommu["domain_mode"] == iommu["domain_found"] == "strict"
    assert [item["what"] for item in run["context"]["pagemix"]["skipped"]] == ["order9 of 1 MiB"]


def test_a_domain_of_its_own_has_no_mode(run_of: Callable[[int], Run]) -> None:
    names = {e["name"] for e in run_of(10 * MIB)["benchmarks"]}
    assert f"iommu_map/mix:order0/layout:scattered/bytes:{10 * MIB}" in names
    assert not any(name.startswith(("iommu_", "sample_")) and "domain:" in name for name in names)


# iommu_dma_unmap_sg() with arm_smmu_iotlb_sync(): one command for the gathered range.
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("mix", "size"), BUFFERS)
def test_strict_is_told_of_every_unmap(run_of: Callable[[int], Run], family: str, mix: str,
        size: int) -> None:
    for entry in find(run_of(size), family, mix, size, "strict"):
        commands = TABLES[mix, size] + 1
        assert (entry["smmu_cmd_tlbi"], entry["smmu_cmd_sync"]) == (commands, commands)
        assert (entry["tlbi_predicted"], entry["sync_predicted"]) == (commands, commands)


# What is left of a lazy unmap: freed tables at once, all else when the flush queue
# is full (256 entries) or 10 ms old (IOVA_FQ_TIMEOUT), by one command for all of them.
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("mix", "size"), BUFFERS)
def test_lazy_is_told_of_tables_only(run_of: Callable[[int], Run], family: str, mix: str,
        size: int) -> None:
    for entry in find(run_of(size), family, mix, size, "lazy"):
        tables = TABLES[mix, size]
        assert (entry["tlbi_predicted"], entry["sync_predicted"]) == (tables, tables)
        flushes = entry["smmu_cmd_tlbi"] - tables
        assert 0 <= flushes and entry["smmu_cmd_sync"] - tables == pytest.approx(flushes)
        if tables == 0:
            assert entry["smmu_cmd_tlbi"] < 0.1, entry["name"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("mix", "size"), BUFFERS)
def test_identity_tells_nothing(run_of: Callable[[int], Run], family: str, mix: str,
        size: int) -> None:
    for entry in find(run_of(size), family, mix, size, "identity"):
        assert (entry["smmu_cmd_tlbi"], entry["smmu_cmd_sync"]) == (0, 0)
        assert (entry["tlbi_predicted"], entry["sync_predicted"]) == (0, 0)
        assert entry["map_calls"] == entry["unmap_calls"] == 0
        assert not any(key.startswith("leaves_") for key in entry)


def median(run: Run, family: str, mix: str, size: int, mode: str) -> float:
    return max(float(entry["median"]) for entry in find(run, family, mix, size, mode))


def test_a_map_without_translation_costs_less_than_a_tenth(
        run_of: Callable[[int], Run]) -> None:
    for size in (MIB, 10 * MIB):
        strict = median(run_of(size), "map_sgtable", "order0", size, "strict")
        assert median(run_of(size), "map_sgtable", "order0", size, "identity") < strict / 10


# Switched there and back, strict costs what it costs in a boot that is never switched.
@pytest.mark.parametrize(("family", "cost"), [("map_sgtable", 1747392), ("unmap_sgtable", 10752)])
def test_strict_costs_what_is_known(run_of: Callable[[int], Run], family: str, cost: int) -> None:
    for entry in find(run_of(10 * MIB), family, "order0", 10 * MIB, "strict"):
        assert entry["median"] == pytest.approx(cost, rel=0.05)


def test_a_lazy_unmap_of_a_range_without_tables_is_cheaper(run_of: Callable[[int], Run]) -> None:
    for mix, size in (("order9", 10 * MIB), ("order0", MIB)):
        assert median(run_of(size), "unmap_sgtable", mix, size, "lazy") < median(
            run_of(size), "unmap_sgtable", mix, size, "strict")
