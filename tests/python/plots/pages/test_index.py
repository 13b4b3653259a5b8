# SPDX-License-Identifier: Apache-2.0
"""The index of published runs, and what may not be published."""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from pagemix_plots.pages import index
from pagemix_plots.run.fields import RunError

Folder = Callable[..., pathlib.Path]
SMALL: dict[str, Any] = {"mixes": ("order0", "8-4-0"), "families": ("map_sgtable",)}


def test_index_lists_the_newest_first(folder: Folder, tmp_path: pathlib.Path,
                                      program: pathlib.Path) -> None:
    folder("r/2026-01-31-smmuv3", **SMALL)
    folder("r/2026-02-01-virtio", machine="virtio-iommu", started="2026-02-01T00:00:00Z", **SMALL)
    folder("r/2025-board", clock="hardware-ns", guest=False, started="2025-05-05T00:00:00Z",
           **SMALL)
    (tmp_path / "r" / ".hidden").mkdir()
    (tmp_path / "r" / "README.md").write_text("former content")
    result = subprocess.run([program, "index", tmp_path / "r"], capture_output=True, text=True,
                            check=True)
    assert result.stdout.strip() == str(tmp_path / "r" / "README.md")
    text = (tmp_path / "r" / "README.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    assert rows[0] == ("| [2026-02-01-virtio](2026-02-01-virtio/) | virtio-iommu | "
                       "6.12.95+deb12-arm64 | guest instructions | 2026-02-01 | "
                       "quick: 10 MiB; order0, 8-4-0 |")
    assert ["smmuv3" in rows[1], "hardware-ns" in rows[2], len(rows)] == [True, True, 3]
    assert "former content" not in text
    index.write(tmp_path / "r")
    assert (tmp_path / "r" / "README.md").read_text() == text


@pytest.mark.parametrize("options, message", [
    ({"clock": "emulated-ns"}, "clock emulated-ns is noise and is not published"),
    ({"complete": False}, "was interrupted and is not published")])
def test_index_refuses(folder: Folder, tmp_path: pathlib.Path, program: pathlib.Path,
                       options: dict[str, Any], message: str) -> None:
    folder("r/good", **SMALL)
    bad = folder("r/bad", **options, **SMALL)
    result = subprocess.run([program, "index", tmp_path / "r"], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith(f"pagemix-report: {bad}: ") and message in result.stderr
    assert not (tmp_path / "r" / "README.md").exists()


def test_index_of_nothing(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RunError, match="not a folder"):
        index.write(tmp_path / "none")
    (tmp_path / "r" / "empty").mkdir(parents=True)
    with pytest.raises(RunError, match="empty/run.json"):
        index.write(tmp_path / "r")


def test_a_folder_name_cannot_break_the_table(folder: Folder, tmp_path: pathlib.Path) -> None:
    folder("r/a|b c", **SMALL)
    text = index.write(tmp_path / "r").read_text()
    assert "| [a\\|b c](a%7Cb%20c/) | smmuv3 |" in text
