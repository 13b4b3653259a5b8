# SPDX-License-Identifier: Apache-2.0
"""Every family of a run has a table and a figure, also one that nothing here knows."""

from __future__ import annotations

import csv
import pathlib
import re
from xml.etree import ElementTree

import make_family
import make_run
import pytest
from make_family import make_family_run
from make_use import make_use_run
from page_words import words_of
from pagemix_plots.figures import gallery_family
from pagemix_plots.pages import report
from pagemix_plots.run.load import Run, load_run
from pagemix_plots.tables import tables_family
from pagemix_plots.tables.tables_family import Family

GOLDEN = make_family.golden()
BASE = "/mix:order0/layout:scattered/bytes:4096"


def families(run: Run) -> dict[str, Family]:
    return {family.name: family for family in tables_family.of_run(run)}


def of_names(folder: pathlib.Path, *names: str, **counters: float) -> Family:
    (family,) = tables_family.of_run(load_run(make_family_run(folder / "run", names, **counters)))
    return family


def axes(family: Family) -> list[str]:
    return [panel.axis.key for panel in family.panels]


def test_a_family_that_only_this_test_knows(tmp_path: pathlib.Path) -> None:
    """24 names: costs are 1000 and more in steps of 10, samples 0 to 5 on top."""
    names = [f"only_test_knows/mix:{mix}/layout:{layout}/bytes:{size}/flavour:{flavour}"
             for mix in ("order0", "8-4-0") for layout in ("scattered", "buddy")
             for size in (65536, 1048576) for flavour in ("plain", "mint", "lime")]
    run = load_run(make_family_run(tmp_path / "run", names, new_event=7.0))
    page = report.write([run], tmp_path / "out").read_text()
    words = words_of(page)
    assert "Family only_test_knows" in words
    # The sixth name: 1050 to 1055. Words sort by the alphabet: lime, mint, plain.
    row = page[page.index("<td>order0</td><td>scattered</td><td>1 MiB</td><td>lime</td>"):]
    assert words_of(row[:row.index("</tr>")]).split()[:6] == [
        "order0", "scattered", "1", "MiB", "lime", "1,052"]
    assert "Counts of a sample that are the same in every row: new_event 7." in words
    svg = (tmp_path / "out" / "plots" / "family-only-test-knows-smmuv3.svg").read_text()
    assert svg.count("by bytes") >= 1 and svg.count("by flavour") >= 1
    assert "n = 6 a point" in svg and "guest instructions" in svg and "mint" in svg
    with (tmp_path / "out" / "plots" / "family-only-test-knows-smmuv3.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(names)
    assert {row["flavour"] for row in rows} == {"plain", "mint", "lime"}
    assert rows[0]["median guest instructions"] == "1022.5"  # order0, scattered, 64 KiB, lime


@pytest.mark.parametrize("names", [names for _, names in GOLDEN],
                         ids=[f"{index}" for index in range(len(GOLDEN))])
def test_every_name_of_every_profile_is_in_a_table_and_its_family_drawn(
        names: list[str], tmp_path: pathlib.Path) -> None:
    run = load_run(make_family_run(tmp_path / "run", names))
    found = families(run)
    assert set(found) == {name.split("/")[0] for name in names}
    listed = [entry.benchmark.name.text for family in found.values() for entry in family.entries]
    assert sorted(listed) == sorted(run.benchmarks)
    for family in found.values():
        assert family.panels and all(panel.points for panel in family.panels)
        for axis in family.axes:  # a panel for each, but for those that tell lines apart
            assert axis.key in ("mix", "layout") or axis.key in axes(family), family.name
        rows = [tuple(entry.values[axis.key] for axis in family.axes) for entry in family.entries]
        assert len(set(rows)) == len(rows), f"{family.name}: rows that look alike"


def test_the_families_of_the_golden_names_are_drawn(tmp_path: pathlib.Path) -> None:
    """The list of options that has them all, cut to the first names of each family."""
    full = max((names for _, names in GOLDEN), key=lambda names: len(
        {name.split("/")[0] for name in names}))
    kept: dict[str, list[str]] = {}
    for name in full:
        kept.setdefault(name.split("/")[0], []).append(name)
    assert set(kept) == {name.split("/")[0] for _, names in GOLDEN for name in names}
    few = [name for part in kept.values() for name in part[:8]]
    run = load_run(make_family_run(tmp_path / "run", few))
    groups = {group.title: group for group in gallery_family.groups([run], ["guest"])}
    for family in kept:
        group = groups[f"Family {family}"]
        assert [figure.slug for figure in group.figures] == [
            f"family-{family.replace('_', '-')}-guest"]
        assert "n = 6" in group.figures[0].svg
        assert group.tables[0].family.entries


def test_an_axis_is_what_takes_several_values(tmp_path: pathlib.Path) -> None:
    family = of_names(tmp_path, *(f"f{BASE}/window:{w}/way:there" for w in (4096, 65536, 8192)))
    assert axes(family) == ["window"]
    assert family.fixed == "mix order0, layout scattered, bytes 4 KiB, way there"
    (panel,) = family.panels
    assert panel.axis.sizes and panel.axis.values == ("4096", "8192", "65536")
    assert [point.median for point in panel.lines["order0", "scattered"].values()] == [
        1002.5, 1022.5, 1012.5]


@pytest.mark.parametrize("values, numeric, sizes", [
    (("1", "2", "64"), True, False), (("4096", "8192"), True, True), (("0", "4096"), True, False),
    (("8", "x"), False, False), (("-1", "2"), False, False), (("9" * 30, "2"), False, False),
    (("²", "2"), False, False)])
def test_numbers_and_words(values: tuple[str, ...], numeric: bool, sizes: bool) -> None:
    axis = tables_family.Axis("key", values)
    assert (axis.numeric, axis.sizes) == (numeric, sizes)


def test_a_panel_holds_the_other_axes_where_most_was_measured(tmp_path: pathlib.Path) -> None:
    """Threads were varied with cold buffers only; sizes with both."""
    family = of_names(tmp_path, *(f"f{BASE}/state:cold/threads:{n}" for n in (2, 4, 8)),
                      f"f{BASE}/state:cold", f"f{BASE}", "f/mix:order0/layout:scattered/bytes:8192")
    by = {panel.axis.key: panel for panel in family.panels}
    assert by["threads"].held == "bytes 4 KiB, state cold"
    assert by["threads"].axis.values == ("1", "2", "4", "8")  # no part in the name: one thread
    assert [p.median for p in by["threads"].points] == [1032.5, 1002.5, 1012.5, 1022.5]
    assert by["bytes"].held == "state warm, threads 1"
    assert by["state"].held == "bytes 4 KiB, threads 1"


def test_the_buffer_size_that_leads_is_held(tmp_path: pathlib.Path) -> None:
    family = of_names(tmp_path, *(f"f/mix:order0/layout:buddy/bytes:{size}/op:{op}"
                                  for size in (65536, 10 << 20, 64 << 20) for op in ("a", "b")))
    assert {panel.axis.key: panel.held for panel in family.panels} == {
        "bytes": "op a", "op": "bytes 10 MiB"}


def test_what_follows_from_the_axis_is_not_held(tmp_path: pathlib.Path) -> None:
    """A frame decides its bytes: no two frames are of one size."""
    family = of_names(tmp_path, *(f"f/mix:order0/layout:buddy/bytes:{size}/frame:{frame}"
                                  for size, frame in ((4096, "small"), (8192, "large"))))
    assert [(panel.axis.key, panel.held, len(panel.points)) for panel in family.panels] == [
        ("bytes", "", 2), ("frame", "", 2)]


def test_without_an_axis_the_mixes_are_the_rows(tmp_path: pathlib.Path) -> None:
    family = of_names(tmp_path, *(f"f/mix:{mix}/layout:{layout}/bytes:4096"
                                  for mix in ("8-4-0", "order9", "order0")
                                  for layout in ("buddy", "scattered")))
    (panel,) = family.panels
    assert panel.axis.key == "mix" and panel.axis.values == ("order0", "order9", "8-4-0")
    assert panel.layouts == ("scattered", "buddy") and len(panel.points) == 6


@pytest.mark.parametrize("name", ["f", "f/only:one"])
def test_a_family_of_one_benchmark_has_one_row(tmp_path: pathlib.Path, name: str) -> None:
    family = of_names(tmp_path, name)
    (panel,) = family.panels
    assert panel.axis.values == ("f",) and len(panel.points) == 1
    run = load_run(tmp_path / "run")
    (group,) = gallery_family.groups([run], ["guest"])
    assert "1,002" in words_of(group.figures[0].svg)


def test_allocations_one_after_another_are_one_benchmark(tmp_path: pathlib.Path) -> None:
    family = of_names(tmp_path, *(f"alloc_series/mix:order0/memory:low/bytes:4096/allocation:{i}"
                                  for i in (1, 2, 3)))
    (entry,) = family.entries
    assert entry.cost.n == 18 and family.axes == ()


def test_counts_are_columns_where_they_differ(tmp_path: pathlib.Path) -> None:
    document, arrays = make_run.build(make_run.Options(families=("map_sgtable",),
                                                       mixes=("order0", "order9")))
    family = families(load_run(make_run.write(tmp_path / "run", document, arrays)))["map_sgtable"]
    assert {"smmu_cmd_tlbi", "smmu_cmd_sync", "leaves_4096", "runs"} <= set(family.counts)
    assert not {"median", "p90", "p99", "max", "iova"} & set(family.counts)
    assert not re.search(r"\biova\b|iotlb_hit", family.common)  # an address; a count of none
    tlbi = family.rows()[0].index("smmu_cmd_tlbi")
    assert {row[0]: row[tlbi] for row in family.rows()[1:] if row[1] == "scattered"} == {
        "order0": "6", "order9": "1"}


def test_any_characters_of_a_name_are_drawn_as_they_are(tmp_path: pathlib.Path) -> None:
    names = [f"f/mix:{mix}/way:{way}" for mix in ("$x_{$", "a<b>&") for way in ("²", "$\\frac$")]
    run = load_run(make_family_run(tmp_path / "run", names, **{"n²": 1.0, "n10": 2.0}))
    page = report.write([run], tmp_path / "out").read_text()
    assert "$\\frac$" in words_of(page) and "<b>" not in page
    svg = (tmp_path / "out" / "plots" / "family-f-smmuv3.svg").read_text()
    assert {"$x_{$", "a<b>&", "²", "$\\frac$"} <= {
        "".join(text.itertext()) for text in ElementTree.fromstring(svg).iter()}


@pytest.mark.parametrize("clock, polled", [("instructions", True), ("hardware-ns", False)])
def test_polling_is_not_called_the_devices_work(tmp_path: pathlib.Path, clock: str, polled: bool
                                                ) -> None:
    run = load_run(make_use_run(tmp_path / "run", clock=clock))
    drawn = {g.title: g.figures[0].svg for g in gallery_family.groups([run], ["guest"])}
    words = {name: tables_family.POLLING in svg for name, svg in drawn.items()}
    assert words == {"Family sample_cost": False, **{f"Family use_{kind}": polled for kind in (
        "column", "pipeline", "random", "stream")}}


def test_a_report_of_families_without_a_special_figure(tmp_path: pathlib.Path) -> None:
    """Nothing was allocated, mapped with map_sgtable or pinned: there is a page all the same."""
    run = load_run(make_family_run(tmp_path / "run", [f"iommu_map{BASE}", f"attach_map{BASE}"]))
    page = report.write([run], tmp_path / "out").read_text()
    assert "Family iommu_map" in page and "Family attach_map" in page


def test_runs_of_a_report_stand_beside_each_other(tmp_path: pathlib.Path) -> None:
    runs = [load_run(make_family_run(tmp_path / name, names)) for name, names in (
        ("a", ["f/k:1", "f/k:2"]), ("b", ["f/k:1", "g"]))]
    groups = gallery_family.groups(runs, ["a", "b"])
    assert [(g.title, [f.slug for f in g.figures]) for g in groups] == [
        ("Family f", ["family-f-a", "family-f-b"]), ("Family g", ["family-g-b"])]
