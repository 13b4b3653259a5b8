# SPDX-License-Identifier: Apache-2.0
"""Reach curves, frame parts and access costs of the use families."""

from __future__ import annotations

import pathlib
import xml.etree.ElementTree as ET

import pytest
from make_use import ORDERS, WINDOWS, make_use_run
from pagemix_plots.figures import gallery_use, svg
from pagemix_plots.pages import report
from pagemix_plots.run.load import Run, load_run
from pagemix_plots.tables import tables_use


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(make_use_run(tmp_path_factory.mktemp("use") / "run"))


def texts(figure: gallery_use.Figure) -> list[str]:
    root = ET.fromstring(svg.standalone(figure.svg))
    return ["".join(e.itertext()) for e in root.iter() if e.tag.endswith(("text", "title", "desc"))]


def test_counts_and_costs_are_those_of_one_access(used: Run) -> None:
    (table,) = tables_use.reach(used)
    assert [curve.mix for curve in table.curves] == list(ORDERS)
    curve = table.curves[0]
    assert [point.window for point in curve.points] == WINDOWS
    assert [point.misses for point in curve.points] == [0] * 9 + [1] * 6
    assert curve.points[0].cost.median == pytest.approx(900)
    assert curve.points[-1].cost.median == pytest.approx(1180)


def test_knees_of_misses_and_cost_agree(used: Run) -> None:
    (table,) = tables_use.reach(used)
    for curve in table.curves[:3]:
        for found in (curve.by_misses, curve.by_cost):
            assert found is not None
            assert (found.low, found.high) == (1 << 20, 1152 << 10)
    assert table.curves[3].by_misses is None and table.curves[3].by_cost is None


def test_reach_in_words(used: Run) -> None:
    (table,) = tables_use.reach(used)
    assert "order9: no misses up to 8 MiB" in table.words
    assert "order0: misses rise from 1.06 MiB (1 MiB to 1.12 MiB)" in table.words


def test_without_counts_the_cost_has_the_knee(tmp_path: pathlib.Path) -> None:
    run = load_run(make_use_run(tmp_path / "r", counted=False, noise=0.01, clock="hardware-ns"))
    (table,) = tables_use.reach(run)
    assert not table.counted and table.curves[0].by_misses is None
    assert "order0: cost rises from" in table.words
    assert "order9: cost without a knee up to 8 MiB" in table.words
    slugs = [f.slug for g in gallery_use.groups([run], ["m"]) for f in g.figures]
    assert "reach-cost-m" in slugs and "reach-misses-m" not in slugs


def test_pipeline_parts_add_up(used: Run) -> None:
    ((layout, table),) = tables_use.pipeline(used)
    assert layout == "scattered"
    assert table.part_names == ("map", "dma", "sync", "unmap")
    assert len(table.bars) == 8
    by_label = {bar.label: bar for bar in table.bars}
    bar = by_label["order0, mapped each frame"]
    assert bar.parts == {"map": 1_700_000, "dma": 900_000, "sync": 4_000, "unmap": 10_752}
    assert bar.rest == pytest.approx(1000)
    assert by_label["order0, kept mapped"].parts["map"] == 0


def test_access_cost_by_order(used: Run) -> None:
    tables = tables_use.cost_by_order(used, tables_use.COLUMN, "frame", str)
    ((frame, table),) = tables
    assert frame == "1920x1080-nv12"
    assert table.categories == ("0", "4", "8", "9")
    assert [p.median for p in table.series[0].points.values()] == [1100, 1100, 1100, 800]


def test_figures_of_a_board_carry_unit_n_and_words(tmp_path: pathlib.Path) -> None:
    board = load_run(make_use_run(tmp_path / "r", clock="hardware-ns", noise=0.01))
    made = {f.slug: f for g in gallery_use.groups([board], ["m"]) for f in g.figures}
    assert set(made) == {"reach-misses-m", "reach-cost-m", "pipeline-m", "column-cost-m",
                         "random-cost-m", "stream-cost-m", "column-misses-m", "stream-misses-m"}
    for slug, figure in made.items():
        words = texts(figure)
        assert any("n = 6" in w for w in words), slug
        assert any(w in ("ns", "ns per access", "IOTLB misses per access") for w in words), slug
        assert len(figure.rows) >= 2 and len(set(map(len, figure.rows))) == 1, slug
    assert "working set" in texts(made["reach-misses-m"])
    assert {"order0", "order9"} <= set(texts(made["reach-misses-m"]))
    assert {"map", "dma", "sync", "unmap"} <= set(texts(made["pipeline-m"]))


def test_instructions_are_no_device_cost(used: Run) -> None:
    """Under -icount a use is the program's polling: its events are shown, its cost is not."""
    made = {f.slug: f for g in gallery_use.groups([used], ["m"]) for f in g.figures}
    assert set(made) == {"reach-misses-m", "pipeline-m", "column-misses-m", "stream-misses-m"}
    assert any("dma is polling" in w for w in texts(made["pipeline-m"]))
    assert {w for w in texts(made["column-misses-m"])} >= {"0.25", "0", "order0", "order9"}
    for figure in made.values():
        assert not any(" ns" in w for w in texts(figure))


def test_report_of_a_run_without_maps(used: Run, tmp_path: pathlib.Path) -> None:
    page = report.write([used], tmp_path).read_text(encoding="utf-8")
    assert "IOTLB reach: misses" in page
    assert (tmp_path / "plots" / "reach-misses-smmuv3.svg").exists()
    assert (tmp_path / "plots" / "reach-misses-smmuv3.csv").read_text().startswith("mix,layout,")
