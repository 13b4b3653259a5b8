# SPDX-License-Identifier: Apache-2.0
"""A boot of each x86 machine against answers known before.

Guest instructions were measured with another program on Linux 6.12.95. Counts
follow from Linux 6.12's drivers, named beside them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import boots
import pytest
from conftest import PROFILES, load
from quick_entries import LAYOUTS, MAP_FAMILIES, MIXES, Entry, Run, entries, warm

MACHINES = ("intel-iommu", "amd-iommu", "q35-virtio-iommu")
# Map and unmap of a scattered buffer. That of order 8 held one pair of chunks in
# the right order and place for a leaf of 2 MiB, as seen by VT-d's unmap: 4,062
# instructions instead of the 4,632 of buffers in 4 KiB leaves only. A virtio-iommu
# is asked for nine ranges then, whatever their leaves.
KNOWN = {
    "intel-iommu": {"order0": (1425126, 4644), "order4": (158955, 4632), "order8": (65882, 4062)},
    "amd-iommu": {"order0": (1507523, 363157), "order4": (129873, 32067), "order8": (36068, 5835)},
    "q35-virtio-iommu": {"order0": (6561515, 828171), "order4": (364940, 50831),
                         "order8": (19331, 5623)},
}
# So order 8 is measured with several seeds: some shuffle puts such a pair together,
# which one depends on where the boot's free memory lies.
SEEDS = tuple(range(1, 17))
UNSAFE = "/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts"
COUNTER = {"intel-iommu": "vtd_inv_iotlb", "amd-iommu": "amd_inv_pages",
           "q35-virtio-iommu": "viommu_unmap"}


@dataclass
class Boot:
    """The quick profile, and order 8 with each of SEEDS."""

    out: Path
    quick: Run
    seeds: list[Run]

    def paired(self, machine: str, family: str) -> list[Entry]:
        """Entries of a scattered buffer of order 8 as the known one was."""
        of_seeds = [entry for run in self.seeds
                    for entry in warm(run, family, "order8", "scattered")]
        if machine == "q35-virtio-iommu":
            return [entry for entry in of_seeds if entry["map_calls"] == 9]
        return [entry for entry in of_seeds if entry.get("leaves_2097152") == 1]


@pytest.fixture(scope="module")
def booted(boot: Callable[..., boots.Boot]) -> Callable[[str], Boot]:
    @functools.cache
    def of(machine: str) -> Boot:
        words = ["pagemix", "run", "--config", f"{PROFILES}/quick.ini"]
        for seed in SEEDS:
            # Markers of names that were marked already would spoil their counts.
            words += ["--then", *words[:4], "--seed", str(seed), "--out", f"/out/seed-{seed}",
                      "--marker", "/dev/null", "--blocks", "1",
                      "--benchmark_filter=map_sgtable/mix:order8/layout:scattered/bytes:10485760$"]
        if machine == "q35-virtio-iommu":
            words += ["--then", "sh", "-c", f"echo 0 >{UNSAFE}", "--then", *words[:4], "--out",
                      "/out/unsafe", "--marker", "/dev/null", "--blocks", "1", "--mixes=order9",
                      "--layouts=buddy", "--states=warm"]
        out = boot(machine, words).out
        return Boot(out, load(out), [load(out / f"seed-{seed}") for seed in SEEDS])

    return of


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def intel(booted: Callable[[str], Boot]) -> Run:
    return booted("intel-iommu").quick


@pytest.fixture
def viommu(booted: Callable[[str], Boot]) -> Run:
    return booted("q35-virtio-iommu").quick


@pytest.mark.parametrize(("family", "part"), [("map_sgtable", 0), ("unmap_sgtable", 1)])
def test_cost_of_scattered_buffers(machine: str, booted: Callable[[str], Boot], family: str,
                                   part: int) -> None:
    # The virtio-iommu driver keeps each mapping in a tree, from a slab whose state
    # the boot decides: six boots mapped order 0 at 3.3 to 5.1 % above the known
    # answer, order 4 at 2.0 to 2.6 %, order 8 at 0.9 %.
    within = 0.08 if (machine, family) == ("q35-virtio-iommu", "map_sgtable") else 0.05
    boot = booted(machine)
    for mix, answers in KNOWN[machine].items():
        cases = boot.paired(machine, family) if mix == "order8" else warm(boot.quick, family, mix,
                                                                          "scattered")
        for entry in cases:
            assert entry["median"] == pytest.approx(answers[part], rel=within), (mix, family)
    if not boot.paired(machine, family):
        pytest.skip(f"order 8: no pair of chunks as in the known buffer with the seeds {SEEDS}")


def test_nothing_is_skipped_and_all_is_counted(machine: str,
                                               booted: Callable[[str], Boot]) -> None:
    run = booted(machine).quick
    assert run["context"]["pagemix"]["skipped"] == []
    for family in MAP_FAMILIES:
        for mix in MIXES:
            for layout in LAYOUTS:
                for entry in warm(run, family, mix, layout):
                    assert entry[COUNTER[machine]] > 0, entry["name"]


# One tick an instruction: the module's counter is the TSC, which QEMU ticks at a
# gigahertz under -icount, and the kernel knows that exactly.
def test_clock_is_instructions(machine: str, booted: Callable[[str], Boot]) -> None:
    clock = booted(machine).quick["context"]["pagemix"]["clock"]
    assert clock["kind"] == "instructions"
    assert clock["source"].startswith("counter of the CPU at 1000000000 Hz")
    assert 0 < clock["overhead"] < 100


def test_leaves_of_vt_d(intel: Run) -> None:
    for entry in warm(intel, "map_sgtable", "order4", "scattered"):
        assert entry["leaves_4096"] == 2560  # VT-d has no 64 KiB leaf
    for entry in warm(intel, "map_sgtable", "order9", "scattered"):
        assert entry["leaves_2097152"] == 5 and "leaves_4096" not in entry


# intel_iommu_tlb_sync(): a whole buffer is one gathered range and so one
# invalidation, whatever its leaves; each is waited for.
@pytest.mark.parametrize("mix", ["order0", "order4", "order8", "order9"])
def test_one_invalidation_an_unmap_on_vt_d(intel: Run, mix: str) -> None:
    for entry in warm(intel, "unmap_sgtable", mix, "scattered"):
        assert (entry["vtd_inv_iotlb"], entry["vtd_inv_wait"]) == (1, 1)


@pytest.mark.parametrize("family", MAP_FAMILIES)
def test_prediction_equals_what_vt_d_was_told(intel: Run, family: str) -> None:
    for entry in entries(intel, family + "/"):
        assert entry["vtd_inv_iotlb"] == entry["vtd_inv_predicted"], entry["name"]


@pytest.mark.parametrize("family", MAP_FAMILIES)
def test_prediction_equals_what_the_virtio_iommu_was_asked(viommu: Run, family: str) -> None:
    for entry in entries(viommu, family + "/"):
        assert entry["viommu_map"] == entry["map_calls"], entry["name"]
        assert entry["viommu_unmap"] == entry["unmap_calls"], entry["name"]


# A virtio-iommu remaps no interrupts. Without leave to do without, type1 answers
# EPERM: the run goes on with the other families and says what to do.
def test_vfio_without_interrupt_remapping_is_skipped(booted: Callable[[str], Boot]) -> None:
    run = load(booted("q35-virtio-iommu").out / "unsafe")
    reasons = {item["what"]: item["why"] for item in run["context"]["pagemix"]["skipped"]}
    assert set(reasons) == {"vfio_map", "vfio_unmap"}
    for why in reasons.values():
        assert "EPERM: the platform has no interrupt remapping" in why and UNSAFE in why
    measured = {entry["name"].split("/")[0] for entry in entries(run, "")}
    assert measured == {"alloc", "free", "map_sgtable", "unmap_sgtable", "sample_cost"}
