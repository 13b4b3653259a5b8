# SPDX-License-Identifier: Apache-2.0
"""The README's table holds the medians of the published runs, and no others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[3]
README = (SOURCE / "README.md").read_text(encoding="utf-8")


def published(machine: str) -> Path:
    folders = sorted((SOURCE / "results").glob(f"*-{machine}-*-quick"))
    assert folders, f"no published quick run of {machine}"
    return folders[-1]


def published_value(folder: Path, name: str, key: str) -> float:
    """Median of all blocks' samples, or a counter that is the same in all of them."""
    if key == "median":
        with np.load(folder / "samples.npz") as samples:
            return float(np.median(samples[name]))
    entries = json.loads((folder / "run.json").read_text(encoding="utf-8"))["benchmarks"]
    (value,) = {entry[key] for entry in entries if entry["name"] == name}
    return value


def row(label: str) -> list[int]:
    found = re.search(rf"^\| {re.escape(label)} \|(.*)\|$", README, re.MULTILINE)
    assert found, f"README has no row '{label}'"
    return [int(cell.split("+")[0].replace(",", "")) for cell in found[1].split("|")]


@pytest.mark.parametrize(("label", "machine", "family", "key"), [
    ("smmuv3: map", "smmuv3", "map_sgtable", "median"),
    ("smmuv3: unmap", "smmuv3", "unmap_sgtable", "median"),
    ("smmuv3: TLBI + SYNC commands per unmap", "smmuv3", "unmap_sgtable", "smmu_cmd_tlbi"),
    ("virtio-iommu: map", "virtio-iommu", "map_sgtable", "median"),
    ("virtio-iommu: unmap", "virtio-iommu", "unmap_sgtable", "median"),
    ("virtio-iommu: MAP requests per map", "virtio-iommu", "map_sgtable", "viommu_map")])
def test_readme_row_is_published(label: str, machine: str, family: str, key: str) -> None:
    for mix, shown in zip(("order0", "order4", "order8", "order9"), row(label), strict=True):
        name = f"{family}/mix:{mix}/layout:scattered/bytes:10485760"
        assert shown == round(published_value(published(machine), name, key))
