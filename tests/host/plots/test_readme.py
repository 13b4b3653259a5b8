# SPDX-License-Identifier: Apache-2.0
"""The README's table holds the medians of the published runs, and no others."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median

import pytest

SOURCE = Path(__file__).resolve().parents[3]
README = (SOURCE / "README.md").read_text(encoding="utf-8")


def published(machine: str) -> list[dict]:
    folders = sorted((SOURCE / "results").glob(f"*-{machine}-*-quick"))
    assert folders, f"no published quick run of {machine}"
    return json.loads((folders[-1] / "run.json").read_text(encoding="utf-8"))["benchmarks"]


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
    entries = published(machine)
    for mix, shown in zip(("order0", "order4", "order8", "order9"), row(label), strict=True):
        name = f"{family}/mix:{mix}/layout:scattered/bytes:10485760"
        values = [entry[key] for entry in entries if entry["name"] == name]
        assert values
        # Two blocks: their medians may differ by a few instructions.
        assert shown == pytest.approx(median(values), rel=0.002)
