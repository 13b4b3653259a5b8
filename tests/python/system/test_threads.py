# SPDX-License-Identifier: Apache-2.0
"""Threads that map at once, in a guest of two CPUs. QEMU runs these with real threads and no
instruction counter, so that counts are evidence there and times are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from boots import Boot, Run
from conftest import PROFILES, load
from quick_entries import entries

FAMILIES = ("map_sgtable", "unmap_sgtable", "map_page", "unmap_page", "attach_map")


@pytest.fixture(scope="module")
def run(boot: Callable[..., Boot]) -> Run:
    return load(boot("smmuv3", ["pagemix", "run", "--config", f"{PROFILES}/operations.ini",
                                f"--families={' '.join(FAMILIES)} iova_link",
                                "--mixes=order0 order9", "--threads=1 2 3", "--iterations=50"],
                     ("--cpus", "2", "--clock", "emulated")).out)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mix", ["order0", "order9"])
def test_both_threads_are_measured(run: Run, family: str, mix: str) -> None:
    name = f"{family}/mix:{mix}/layout:scattered/bytes:{10 << 20}"
    plain, both = (next(entry for entry in entries(run, name) if entry["name"] == text)
                   for text in (name, f"{name}/threads:2"))
    assert plain["iterations"] == 50
    assert (both["iterations"], both["samples_alone"]) == (2 * 50, 0)
    assert min(both["thread0_median"], both["thread1_median"]) <= both["median"]
    assert both["median"] <= max(both["thread0_median"], both["thread1_median"])


# Each thread unmaps for itself, with the commands of a thread alone.
@pytest.mark.parametrize("mix", ["order0", "order9"])
def test_commands_a_cycle_are_those_of_one_thread(run: Run, mix: str) -> None:
    for family in FAMILIES:
        name = f"{family}/mix:{mix}/layout:scattered/bytes:{10 << 20}"
        counts = {entry["name"]: (entry["smmu_cmd_tlbi"], entry["smmu_cmd_sync"])
                  for entry in entries(run, name)}
        assert counts[name] == counts[f"{name}/threads:2"], family


def test_what_cannot_be_measured_says_why(run: Run) -> None:
    skipped = {item["what"]: item["why"] for item in run["context"]["pagemix"]["skipped"]}
    assert skipped["threads:3"] == "2 CPUs may be used here, one for each thread"
    assert "Linux 6.16" in skipped["iova_link"]
    assert not [entry for entry in run["benchmarks"] if "threads:3" in entry["name"]]
