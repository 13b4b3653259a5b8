# SPDX-License-Identifier: Apache-2.0
"""Allocation series: the published rows, a run's entries, their figures."""

from __future__ import annotations

import csv
import pathlib
import subprocess
import xml.etree.ElementTree as ET

import make_run
import pytest
from make_series import DATA, TABLE, series_run
from pagemix_plots.figures import gallery_alloc, svg
from pagemix_plots.pages import report
from pagemix_plots.run.fields import RunError
from pagemix_plots.run.load import Run, load_run
from pagemix_plots.tables import alloc_series

HEAD = "orders,gfp,memory,set,allocation,usec,order8,order4,order0\n"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return series_run(tmp_path_factory.mktemp("series") / "run")


def test_published_rows() -> None:
    series = alloc_series.published(TABLE)
    assert sum(len(s.all) for s in series) == 128
    assert {(s.policy, s.memory, len(s.sets)) for s in series} == {
        ("8-4-0-mid", "enough", 1), ("8-0-0", "enough", 1), ("8-4-0-mid", "low", 2),
        ("8-0-0", "low", 2), ("8-4-0", "low", 2)}
    assert all(len(one) == 16 for s in series for one in s.sets)
    assert {s.unit for s in series} == {"us"}
    first = next(s for s in series if (s.policy, s.memory) == ("8-4-0-mid", "enough"))
    assert first.all[0].cost == 665 and first.all[0].chunks == {4: 160}


def test_published_buffers_are_whole() -> None:
    """Every row's chunks add up to 10 MiB."""
    for series in alloc_series.published(TABLE):
        for allocation in series.all:
            assert sum(n * (1 << order) for order, n in allocation.chunks.items()) == 2560


def test_published_ranges_are_those_of_the_mail() -> None:
    """10 MiB: 0.5 to 100 ms with reclaim by order 4, 0.5 to 2.6 ms without."""
    low = {s.policy: s.costs for s in alloc_series.published(TABLE) if s.memory == "low"}
    with TABLE.open(encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if r["memory"] == "low"]
    by_hand = {gfp: [int(r["usec"]) for r in rows if (r["orders"], r["gfp"]) == ("8,4,0", gfp)]
               for gfp in ("high,mid,low", "high,high,low")}
    assert sorted(low["8-4-0-mid"]) == sorted(by_hand["high,mid,low"])
    assert low["8-4-0-mid"].max() > 50_000 and low["8-4-0"].max() <= 2_700


@pytest.mark.parametrize("text, message", [
    ("", "line 1: want the columns orders,"),
    ("a,b\n", "line 1: want the columns"),
    (HEAD, "holds no allocation"),
    (HEAD + "1,2\n", "line 2: want 9 columns, found 2"),
    (HEAD + '"8,4","high,mid,low",low,1,1,5,0,0,0\n', "line 2: orders '8,4' and gfp"),
    (HEAD + '"8,4,0","high,top,low",low,1,1,5,0,0,0\n', "line 2: gfp class 'top': want one of"),
    (HEAD + '"8,4,0","high,mid,low",low,1,1,x,0,0,0\n', "line 2: usec: want a whole number"),
    (HEAD + '"8,4,0","high,mid,low",low,1,1,5,0,0,0\n' * 2, "line 3: allocation: 1 twice in set 1"),
])
def test_bad_tables_are_named(tmp_path: pathlib.Path, text: str, message: str) -> None:
    file = tmp_path / "table.csv"
    file.write_text(text)
    with pytest.raises(RunError, match=message):
        alloc_series.published(file)


def test_series_of_a_run(measured: Run) -> None:
    series = alloc_series.of_run(measured, "guest")
    assert [(s.policy, s.memory) for s in series] == [
        ("8-4-0", "fresh"), ("8-4-0-mid", "fresh"), ("8-4-0", "fragmented"),
        ("8-4-0-mid", "fragmented")]
    worst = series[3]
    assert [len(one) for one in worst.sets] == [16, 16]
    assert worst.all[0].cost == 2_601_000 and worst.all[16].cost == 2_601_001
    assert worst.all[0].chunks == {4: 100, 0: 960}
    assert worst.all[0].parts["compaction"] == 1_500_000
    assert alloc_series.unexplained(worst) == pytest.approx(0.01)


def test_what_others_did_is_told_by_who_they_were() -> None:
    parts = {"part_other": 100.0, "part_rest": 5.0}
    assert alloc_series._parts({**parts, "off_kswapd": 90.0, "off_idle": 10.0}) == {
        "kswapd": 90, "idle": 10, "rest": 5}
    assert alloc_series._parts({**parts, "off_kswapd": 50.0}) == {"other": 100, "rest": 5}


def test_the_cost_of_tracing() -> None:
    def series(cost: float, traced: bool) -> alloc_series.Series:
        one = (alloc_series.Allocation(1, cost, {0: 2560.0}, {}),)
        return alloc_series.Series("8-4-0", "fresh", "pagemix", (one,), "ns", "m", traced)

    ((of, part),) = alloc_series.tracing_cost([series(103, True), series(100, False)])
    assert of.traced and part == pytest.approx(0.03)
    assert alloc_series.tracing_cost([series(103, True)]) == []
    assert series(1, False).title.endswith("not traced")


def test_attribution_is_the_mean_of_the_allocations(measured: Run) -> None:
    table = alloc_series.attribution(alloc_series.of_run(measured, "guest"))
    assert table is not None
    assert table.part_names == ("compaction", "reclaim", "zero", "other", "rest")
    assert table.bars[3].parts["reclaim"] == 500_000
    assert table.bars[0].parts["compaction"] == 0
    assert alloc_series.attribution(alloc_series.published(TABLE)) is None


def test_figures_stand_side_by_side(measured: Run) -> None:
    groups = gallery_alloc.groups([measured], ["guest"], alloc_series.published(TABLE))
    made = {f.slug: f for g in groups for f in g.figures}
    assert {"alloc-series-guest-8-4-0-mid-pagemix-fragmented", "alloc-series-published-8-0-0-low",
            "alloc-ecdf-guest-fragmented", "alloc-ecdf-published-low",
            "alloc-parts-guest-fragmented"} <= set(made)
    assert len(made) == 4 + 5 + 2 + 2 + 2
    for slug, figure in made.items():
        root = ET.fromstring(svg.standalone(figure.svg))
        words = [" ".join(e.itertext()) for e in root.iter() if e.tag.endswith("text")]
        assert any("n = " in w for w in words), slug
        unit = "us" if "published" in slug else "guest instructions"
        assert any(w == unit or w == f"{unit} per allocation" for w in words), slug


def test_report_with_the_published_table(measured: Run, tmp_path: pathlib.Path,
                                         program: pathlib.Path) -> None:
    done = subprocess.run([program, "report", measured.folder, "--out", tmp_path / "out",
                           "--published", TABLE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Allocation under pressure" in (tmp_path / "out" / "report.html").read_text()
    done = subprocess.run([program, "trace", DATA / "heap-alloc-2023.trace"], capture_output=True,
                          text=True)
    assert "12.606 ms direct compaction, 4.973 ms direct reclaim, 209 pages" in done.stdout


def test_pages_without_series_have_no_group(tmp_path: pathlib.Path) -> None:
    page = report.write([load_run(make_run.make_run(tmp_path / "r", mixes=("order0",)))],
                        tmp_path / "out").read_text()
    assert "Allocation under pressure" not in page
