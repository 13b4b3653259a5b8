# SPDX-License-Identifier: Apache-2.0
"""The README says what the published runs say, and nothing else; scripts/refresh-results writes
it."""

from __future__ import annotations

import pathlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pagemix_plots.figures import svg
from pagemix_plots.pages import index, readme
from pagemix_plots.run import published_runs
from pagemix_plots.run.fields import RunError

SOURCE = pathlib.Path(__file__).resolve().parents[4]
README = (SOURCE / "README.md").read_text(encoding="utf-8")
MIXES = ("order0", "order4", "order8", "order9", "8-4-0", "9-4-0")
Folder = Callable[..., pathlib.Path]


@pytest.fixture(scope="module")
def views() -> list[readme.View]:
    return readme.chosen(published_runs.load(SOURCE / "results"))


def words_of(picture: str) -> list[str]:
    """All text of an SVG: numbers, axes, title, description."""
    return ["".join(e.itertext()) for e in ET.fromstring(picture.encode()).iter()
            if e.tag.endswith(("text", "title", "desc"))]


def test_the_readme_is_that_of_the_published_runs(views: list[readme.View]) -> None:
    assert f"{readme.BEGIN}\n{readme.block(views)}{readme.END}\n" in README


def test_the_figure_is_that_of_the_published_runs(views: list[readme.View]) -> None:
    """Its words: matplotlib's versions draw the same curve by other digits."""
    made = svg.standalone(readme.figure(views).svg)
    assert words_of((SOURCE / readme.FIGURE).read_text(encoding="utf-8")) == words_of(made)


def test_the_index_is_that_of_the_published_runs() -> None:
    text = (SOURCE / "results" / "README.md").read_text(encoding="utf-8")
    assert text == index.page(published_runs.load(SOURCE / "results"))


def test_published_folders_are_small() -> None:
    for folder in (SOURCE / "results").iterdir():
        if folder.is_dir():
            size = sum(file.stat().st_size for file in folder.rglob("*"))
            assert size <= published_runs.MOST_BYTES, folder


@pytest.mark.parametrize("family, words", [("map_sgtable", "map"), ("unmap_sgtable", "unmap")])
def test_a_row_by_hand(views: list[readme.View], family: str, words: str) -> None:
    """Medians read from samples.npz without any of the code that writes the README."""
    for view in views:
        found = re.search(rf"^\| {view.label}: {words} \|(.*)\|$", README, re.MULTILINE)
        assert found, f"no row of {view.label}: {words}"
        shown = [int(cell.replace(",", "")) for cell in found[1].split("|")]
        with np.load(view.run.folder / "samples.npz") as samples:
            assert shown == [round(float(np.median(samples[
                f"{family}/mix:order{order}/layout:scattered/bytes:10485760"])))
                for order in (0, 4, 8, 9)]


def write(folder: Folder, tmp_path: pathlib.Path, **options: Any) -> str:
    """The README made of one run more; its text."""
    folder("results/two", mixes=MIXES, **options)
    page = tmp_path / "README.md"
    page.write_text(f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n")
    readme.write(tmp_path / "results", page)
    return page.read_text()


def test_the_marked_lines_are_replaced(folder: Folder, tmp_path: pathlib.Path) -> None:
    """Costs of the model in make_run.py, by hand: 900 + 2,560 leaves * 26 + 2,557 runs * 620."""
    text = write(folder, tmp_path)
    assert text.startswith(f"before\n{readme.BEGIN}\n\n- For a 10 MiB buffer")
    assert text.endswith(f"{readme.END}\nafter\n") and "old" not in text
    assert "| smmuv3: map | 1,652,800 | 166,660 | 73,660 | 4,130 |" in text
    assert "| smmuv3: TLBI + SYNC of a map/unmap cycle | 6 + 6 | 6 + 6 | 6 + 6 | 1 + 1 |" in text
    assert "| smmuv3: leaves | 2,560 x 4 KiB | 2,560 x 4 KiB | 2,560 x 4 KiB | 5 x 2 MiB |" in text
    assert (tmp_path / "docs" / "map-cost.svg").read_text().count("<svg") == 1
    assert write(folder, tmp_path) == text


def test_a_machine_is_shown_once_by_its_most_samples(folder: Folder, tmp_path: pathlib.Path
                                                     ) -> None:
    folder("results/one", mixes=MIXES, iterations=100, cost=lambda f, m, l: 5.0)
    text = write(folder, tmp_path, started="2027-01-01T00:00:00Z")
    assert "| smmuv3: map | 5 | 5 | 5 | 5 |" in text and "1,652,800" not in text
    assert "n = 400 a median: [results](results/one/)" in " ".join(text.split())


def test_clocks_do_not_share_the_table(folder: Folder, tmp_path: pathlib.Path) -> None:
    folder("results/guest", machine="virtio-iommu", mixes=MIXES)
    text = write(folder, tmp_path, machine="board", clock="hardware-ns", guest=False)
    assert "board: map" in text and "virtio-iommu" not in text and "*ns*" in text


@pytest.mark.parametrize("options, page, message", [
    ({}, "no markers", r"README.md: want the lines"),
    ({}, f"{readme.BEGIN}\n", r"README.md: want the lines"),
    ({}, None, "README.md: .*No such file"),
    ({"mixes": ("order0",)}, readme.BEGIN, "results: no run maps 10 MiB of orders 0, 4, 8 and 9"),
    ({"complete": False}, readme.BEGIN, "two: the run was interrupted and is not published")])
def test_what_cannot_be_written(folder: Folder, tmp_path: pathlib.Path, options: dict[str, Any],
                                page: str | None, message: str) -> None:
    folder("results/two", **{"mixes": MIXES, **options})
    file = tmp_path / "README.md"
    if page is not None:
        file.write_text(page)
    with pytest.raises(RunError, match=message):
        readme.write(tmp_path / "results", file)
    assert not (tmp_path / "docs").exists()
    assert page is None or file.read_text() == page
