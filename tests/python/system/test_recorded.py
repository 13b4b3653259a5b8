# SPDX-License-Identifier: Apache-2.0
"""What the program writes now is what it wrote when the runs of tests/data/runs were
recorded: names, fields and exact counts. What is published is read for years."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from boots import Run
from conftest import SOURCE, load

RECORDED = SOURCE / "tests" / "data" / "runs"
# Of the kernel, the build or the day: their fields are compared, not what they hold.
EXACT = ("leaves_", "chunks_order", "smmu_cmd_", "tlbi_predicted", "sync_predicted", "map_calls",
         "unmap_calls", "blocks", "accesses", "dma_bytes")


def fields(value: Any) -> Any:
    """The keys of an object and of those in it; of a list, those of its first element. What
    is in meminfo and buddyinfo is the kernel's."""
    if isinstance(value, dict):
        return {key: None if key.startswith(("meminfo", "buddyinfo")) else fields(item)
                for key, item in value.items()}
    if isinstance(value, list) and value:
        return [fields(value[0])]
    return None


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """The recorded run and one of now."""
    out = tmp_path_factory.mktemp("recorded")
    done = subprocess.run([SOURCE / "scripts" / "record-runs", out, "families"], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout)
    done.check_returncode()
    return load(RECORDED / "families"), load(Path(out) / "families")


def names(run: Run) -> list[tuple[str, int]]:
    return sorted((entry["name"], entry["repetition_index"]) for entry in run["benchmarks"])


def test_names_stay(runs: tuple[Run, Run]) -> None:
    before, now = runs
    assert names(now) == names(before)


def by_name(run: Run) -> dict[tuple[str, int], dict[str, Any]]:
    return {(entry["name"], entry["repetition_index"]): entry for entry in run["benchmarks"]}


# What the kernel did under pressure is counted only where it did something.
def test_fields_stay(runs: tuple[Run, Run]) -> None:
    before, now = runs
    assert fields(now["context"]) == fields(before["context"])
    found = by_name(now)
    for name, entry in by_name(before).items():
        if not name[0].startswith(("alloc_series/", "order_speed/")):
            assert set(found[name]) == set(entry), name


def test_exact_counts_stay(runs: tuple[Run, Run]) -> None:
    before, now = runs
    found, compared = by_name(now), 0
    for name, entry in by_name(before).items():
        if name[0].startswith(("alloc_series/", "order_speed/")):
            continue
        for key in entry:
            if key.startswith(EXACT):
                assert found[name][key] == entry[key], (name, key)
                compared += 1
    assert compared > 500
