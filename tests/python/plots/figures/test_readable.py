# SPDX-License-Identifier: Apache-2.0
"""Figures are readable: units and clock on every axis, n on every chart, colours that stay apart
without colour vision. Every figure function is drawn and looked at."""

from __future__ import annotations

import inspect
import pathlib
import re
import types
from collections.abc import Iterator

import pytest
from colour_vision import VISIONS, contrast, distance, nearest
from make_series import TABLE, series_run
from make_use import make_use_run
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator
from pagemix_plots.figures import figures, figures_alloc, figures_family, figures_use, svg
from pagemix_plots.pages import report
from pagemix_plots.run.load import load_run
from pagemix_plots.tables import alloc_series

MODULES = (figures, figures_use, figures_alloc, figures_family)
# What may stand on an axis with numbers: a clock, or a thing that is counted.
UNITS = re.compile(r"guest instructions|\bns\b|\bus\b|IOTLB misses per access|"
                   r"\Abytes\b|\Awindow\b|"  # parts of a name, whose values have their units
                   r"commands of one map/unmap cycle|order of the chunks|working set|% of bytes|"
                   r"allocation; chunks by order|allocations|"
                   r"MiB; at the end of a bar the number of (leaves|chunks)")
PAGES = ("#ffffff", "#14171a")  # of report.css, light and dark


def figure_functions() -> dict[str, types.FunctionType]:
    """Public functions that draw on an axes."""
    found: dict[str, types.FunctionType] = {}
    for module in MODULES:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            first = next(iter(inspect.signature(function).parameters.values()), None)
            draws = first is not None and first.annotation == "Axes"
            if draws and function.__module__ == module.__name__ and not name.startswith("_"):
                found[f"{module.__name__.split('.')[-1]}.{name}"] = function
    return found


HELPERS = {"figures.rows_axis", "figures.legend_above", "figures.names_at_ends", "figures.titles"}


class Drawn:
    """Figures as they are when they are rendered, and which functions drew them."""

    def __init__(self) -> None:
        self.figures: dict[str, Figure] = {}
        self.used: set[str] = set()


@pytest.fixture(scope="module")
def drawn(both: list[pathlib.Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drawn]:
    """Every kind of figure, of a guest and of a board."""
    seen = Drawn()
    patch = pytest.MonkeyPatch()
    render = svg.render

    def looked_at(figure: Figure, slug: str, *rest: str) -> str:
        seen.figures[f"{len(seen.figures)} {slug}"] = figure
        return render(figure, slug, *rest)

    def counted(name: str, function: types.FunctionType) -> object:
        def call(*args: object, **kwargs: object) -> object:
            seen.used.add(name)
            return function(*args, **kwargs)
        return call

    patch.setattr(svg, "render", looked_at)
    for name, function in figure_functions().items():
        module, attribute = name.split(".")
        patch.setattr(next(m for m in MODULES if m.__name__.endswith("." + module)), attribute,
                      counted(name, function))
    base = tmp_path_factory.mktemp("readable")
    runs = [*map(load_run, both), load_run(make_use_run(base / "guest")),
            load_run(make_use_run(base / "board", clock="hardware-ns", noise=0.02,
                                  machine="board")), series_run(base / "series")]
    for number, run in enumerate(runs):
        report.write([run], base / f"out{number}", report.alloc_series.published(TABLE)
                     if number == 0 else [])
    report.write([load_run(f) for f in both], base / "overview")
    patch.undo()
    yield seen


def test_every_figure_function_is_drawn(drawn: Drawn) -> None:
    assert drawn.used == set(figure_functions())
    assert HELPERS < drawn.used and len(drawn.used - HELPERS) >= 9


def _named_rows(axis: Axis) -> bool:
    """Ticks at fixed places with names: mixes, bars."""
    return isinstance(axis.get_major_locator(), FixedLocator) and any(
        re.search("[a-z]", text.get_text()) for text in axis.get_ticklabels())


def numbered(ax: Axes) -> list[tuple[str, str]]:
    """(which, label) of the axes whose ticks are numbers and are shown."""
    shared = any(other.get_position().y0 < ax.get_position().y0
                 for other in ax.get_shared_x_axes().get_siblings(ax))
    return [(which, axis.get_label_text()) for which, axis in (("x", ax.xaxis), ("y", ax.yaxis))
            if not _named_rows(axis) and not (which == "x" and shared)]


def test_every_axis_has_its_unit(drawn: Drawn) -> None:
    for slug, figure in drawn.figures.items():
        for ax in figure.axes:
            for which, label in numbered(ax):
                assert UNITS.search(label), f"{slug}: {which} axis is '{label}'"


def test_every_chart_has_its_n(drawn: Drawn) -> None:
    for slug, figure in drawn.figures.items():
        words = [text.get_text() for ax in figure.axes for text in ax.texts]
        panels = sum(1 for ax in figure.axes if ax.texts and ax.get_ylabel() != "% of bytes")
        assert sum(bool(re.search(r"\bn = [\d,]+", text)) for text in words) == max(1, panels), slug


def test_series_are_named(drawn: Drawn) -> None:
    """By a legend, or beside the line where there are few."""
    beside = 0
    for slug, figure in drawn.figures.items():
        for ax in figure.axes:
            labels = {line.get_label() for line in ax.lines
                      if not str(line.get_label()).startswith("_")}
            if len(labels) < 2 or ax.get_legend() is not None:
                continue
            beside += 1
            words = " ".join(text.get_text() for text in ax.texts)
            assert all(str(label).split(" ")[0] in words for label in labels), slug
    assert beside > 0


FILLS = [colour for colour, _ in figures.FILLS]
LINES = [colour for colour, *_ in figures_use.LINES]


@pytest.mark.parametrize("vision", VISIONS)
def test_fills_stay_apart(vision: str) -> None:
    """Any two of the six, side by side in a bar: of CIELAB's unit 2.3 is just noticeable."""
    assert nearest(FILLS, vision) >= (7.5 if vision == "grey" else 15)
    assert len({hatch for _, hatch in figures.FILLS}) == len(figures.FILLS)


@pytest.mark.parametrize("vision", VISIONS)
def test_two_series_stay_apart(vision: str) -> None:
    """Figures with two series have these two colours, and no others."""
    assert {mark[0] for mark in figures.MARKS.values()} == {figures.BLUE, figures.VERMILLION}
    assert distance(figures.BLUE, figures.VERMILLION, vision) >= 7


def test_lines_differ_without_colour() -> None:
    """Each has a marker of its own, neighbours another dash."""
    assert len({marker for _, marker, _, _ in figures_use.LINES}) == len(figures_use.LINES)
    assert all(a[3] != b[3] for a, b in zip(figures_use.LINES, figures_use.LINES[1:], strict=False))


@pytest.mark.parametrize("vision", ["full", "protanopia", "deuteranopia"])
def test_the_first_four_lines_stay_apart(vision: str) -> None:
    """More lines repeat colours; markers and dashes tell those apart."""
    assert nearest(LINES[:4], vision) >= 7


@pytest.mark.parametrize("page", PAGES)
def test_colours_show_on_both_pages(page: str) -> None:
    """WCAG 2 wants 3:1 of graphics; fills have an edge."""
    for colour in {*LINES, figures.BLUE, figures.VERMILLION}:
        assert contrast(colour, page) >= 2, colour
    assert svg.NEUTRAL_INK and contrast(svg.NEUTRAL_INK, page) >= 4


def test_all_parts_of_an_allocation_have_a_fill_of_their_own() -> None:
    fills = figures_use._part_fills(alloc_series.PARTS)
    assert len(set(fills[part] for part in alloc_series.PARTS)) == len(alloc_series.PARTS)


@pytest.mark.parametrize("fill", FILLS)
def test_hatches_show_on_their_fills(fill: str) -> None:
    assert contrast(figures.HATCH, fill) >= 3


def test_the_vision_model_is_known() -> None:
    """White, black and mid grey keep their lightness; red and green of equal luminance become
    alike without red or green cones, blue and yellow do not."""
    for vision in VISIONS:
        assert distance("#ffffff", "#000000", vision) == pytest.approx(100, abs=0.5)
    assert distance("#d01000", "#6a6a00", "protanopia") < distance("#d01000", "#6a6a00") / 2
    assert distance("#0000ff", "#ffff00", "deuteranopia") > 100
    assert distance("#ff0000", "#4b4b4b", "grey") < 35
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
