# SPDX-License-Identifier: Apache-2.0
"""Figures: the clock is on the axis, n is stated, the same run gives the same bytes."""

from __future__ import annotations

import pathlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest
from pagemix_plots.figures import figures, gallery, svg
from pagemix_plots.run.load import Run, load_run
from pagemix_plots.tables import tables

Load = Callable[..., Run]
KINDS = {"map-cost", "unmap-cost", "leaves", "commands", "alloc-cost", "chunks", "vfio-cost"}
COST_KINDS = {"map-cost", "unmap-cost", "alloc-cost", "vfio-cost"}
TIME_WORDS = re.compile(r"\b(ns|us|ms|(nano|micro|milli)?seconds?)\b", re.I)


def drawn(*runs: Run) -> dict[str, gallery.Figure]:
    views = tables.views(list(runs), [f"m{i}" for i in range(len(runs))])
    return {f.slug: f for group in gallery.groups(views) for f in group.figures + group.others}


def texts(figure: gallery.Figure) -> list[str]:
    root = ET.fromstring(svg.standalone(figure.svg))
    return ["".join(e.itertext()) for e in root.iter() if e.tag.endswith(("text", "title", "desc"))]


def kind(slug: str) -> str:
    return slug.split("-m")[0]


@pytest.fixture(scope="module")
def made(both: list[pathlib.Path]) -> dict[str, gallery.Figure]:
    """Every figure of both machines, drawn once: drawing takes the time."""
    return drawn(*map(load_run, both))


@pytest.mark.parametrize("clock, label", [
    ("instructions", "guest instructions"), ("hardware-ns", "ns"),
    ("emulated-ns", "emulated ns (noise)")])
def test_axes_carry_the_clock(run: Load, clock: str, label: str) -> None:
    made = drawn(run(clock=clock))
    assert {kind(slug) for slug in made} == KINDS
    for slug, figure in made.items():
        words = texts(figure)
        assert (label in words) == (kind(slug) in COST_KINDS), slug
        if clock == "instructions":
            assert not [w for w in words if TIME_WORDS.search(w)], slug
        else:
            assert not [w for w in words if "instruction" in w], slug


def test_every_figure_states_n(run: Load) -> None:
    for slug, figure in drawn(run(blocks=3, iterations=7)).items():
        assert any("n = 21" in text for text in texts(figure)), slug
    for slug, figure in drawn(run("few", blocks=1, iterations=2)).items():
        words = " ".join(texts(figure))
        assert "n = 2" in words, slug
        assert "95 % interval" not in words, slug


def test_title_and_description_hold_the_data(made: dict[str, gallery.Figure]) -> None:
    figure = made["map-cost-m0"]
    root = ET.fromstring(figure.svg)
    assert root.attrib["role"] == "img"
    assert root[0].text == "Mapping, by order: m0, 10 MiB, warm"
    assert "scattered: 0 1,652,800, 4 166,660" in (root[1].text or "")


def test_svg_is_self_contained_and_follows_the_page(made: dict[str, gallery.Figure]) -> None:
    for figure in made.values():
        assert "http" not in figure.svg and "<style" not in figure.svg
        assert "currentColor" in figure.svg
        assert svg.INK not in figure.svg and svg.GRID not in figure.svg
        assert not re.search(r"#000000|fill: #ffffff|DejaVu Sans', ?;", figure.svg)
        alone = svg.standalone(figure.svg)
        assert alone.count("http") == 1 and 'xmlns="http://www.w3.org/2000/svg"' in alone
        ids = re.findall(r'\bid="([^"]+)"', figure.svg)
        assert len(ids) == len(set(ids))
        used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', figure.svg))
        assert used and used <= set(ids)


def test_ids_do_not_collide_on_one_page(made: dict[str, gallery.Figure]) -> None:
    ids = [i for figure in made.values() for i in re.findall(r'\bid="([^"]+)"', figure.svg)]
    assert len(ids) == len(set(ids))


def test_the_same_run_gives_the_same_bytes(both: list[pathlib.Path],
                                           made: dict[str, gallery.Figure]) -> None:
    again = drawn(*map(load_run, both))
    assert {s: f.svg for s, f in again.items()} == {s: f.svg for s, f in made.items()}


def test_series_differ_by_more_than_colour() -> None:
    for pair in (("scattered", "buddy"), ("map_sgtable", "vfio_map"), ("TLBI", "SYNC"),
                 ("MAP", "UNMAP")):
        first, second = figures.MARKS[pair[0]], figures.MARKS[pair[1]]
        assert all(a != b for a, b in zip(first, second, strict=True))
    hatches = [hatch for _, hatch in figures.FILLS]
    assert len(set(hatches)) == len(hatches)


def test_a_size_has_one_colour_in_all_figures(made: dict[str, gallery.Figure]) -> None:
    green = figures.FILLS[3][0].lower()  # 2 MiB is the fourth size of both machines together
    assert all(green in made[f"leaves-m{i}"].svg for i in (0, 1))


def test_clocks_never_share_a_scale(run: Load) -> None:
    views = tables.views([run(), run("b", clock="hardware-ns", cost=lambda f, m, l: 1e9)],
                         ["a", "b"])
    found = [(v, t) for v in views if (t := tables.cost_by_order(v, "map_sgtable"))]
    assert gallery._shared_limits(found, views[0])[1] < 1e8
    assert gallery._shared_limits(found, views[1])[0] > 1e8


def test_overview_needs_two_machines(run: Load) -> None:
    first, second = run(), run("b", machine="virtio-iommu")
    assert gallery.overview(tables.views([first], ["a"])) is None
    both = gallery.overview(tables.views([first, second], ["a", "b"]))
    assert both is not None and {"map, a, 10 MiB, warm", "map, b, 10 MiB, warm"} <= set(texts(both))


@pytest.mark.parametrize("options, missing", [
    ({"families": ("map_sgtable",)}, {"unmap-cost", "alloc-cost", "vfio-cost"}),
    ({"guest": False}, {"commands"}),
    ({"mixes": ("8-4-0",)}, {"map-cost", "unmap-cost"}),
    ({"families": ("alloc",)}, KINDS - {"alloc-cost", "chunks"}),
])
def test_figures_without_data_are_left_out(run: Load, options: dict[str, object],
                                           missing: set[str]) -> None:
    assert {kind(slug) for slug in drawn(run(**options))} == KINDS - missing


def test_zero_cost_and_single_points_can_be_drawn(run: Load) -> None:
    made = drawn(run(mixes=("order0",), layouts=("buddy",), iterations=1, blocks=1,
                     cost=lambda f, m, l: 0.0))
    assert "map-cost-m0" in made


def test_sizes_and_states_have_their_own_figures(run: Load) -> None:
    made = drawn(run(sizes=(1 << 20, 10 << 20), states=("warm", "cold"),
                     mixes=("order0", "order4"), families=("map_sgtable",)))
    # Leaves and commands do not tell warm from cold: one figure a size.
    assert set(made) == {
        "map-cost-m0", "map-cost-m0-10485760-cold", "map-cost-m0-1048576-warm",
        "map-cost-m0-1048576-cold", "leaves-m0", "leaves-m0-1048576-warm", "commands-m0",
        "commands-m0-1048576-warm", "chunks-m0", "chunks-m0-1048576-warm"}
