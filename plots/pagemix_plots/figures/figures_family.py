# SPDX-License-Identifier: Apache-2.0
"""The figure of any family: cost against each axis, a panel for each."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from ..run import names
from ..stats.stats import Summary
from ..tables.tables import LAYOUT_WORDS, n_words
from ..tables.tables_family import Family, Panel
from . import figures
from .figures import on_log
from .figures_use import LINES
from .svg import INK, STYLE

TALL = 3.2  # inches of a panel with numbers on its axis, without its legend
LEAST_STEP = 0.12  # of the axis, between two values that are both written
LOG = 8  # numbers that differ by this factor stand on a log axis


def draw(family: Family, label: str) -> Figure:
    """A figure of a panel for each axis, beneath each other."""
    heights = [_height(panel) for panel in family.panels]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(figures.WIDTH, sum(heights)), layout="constrained")
        axes = figure.subplots(len(heights), 1, squeeze=False,
                               gridspec_kw={"height_ratios": heights}).flat
    for index, (ax, one) in enumerate(zip(axes, family.panels, strict=True)):
        by = f" by {one.axis.key}" if one.axis.key else ""
        panel(ax, one, f"{family.name}{by}{'' if index else f': {label}'}")
    return figure


def _height(one: Panel) -> float:
    rows = len(one.axis.values) * max(1.0, 0.2 * len(one.lines))
    return (TALL if one.axis.numeric else figures.row_height(0) + 0.4 * rows) + _legend(one) * 0.25


def _named(one: Panel) -> list[str]:
    return [mix for mix in one.mixes if mix] if len(one.mixes) > 1 else []


def _legend(one: Panel) -> int:
    """Lines of the legend: mixes, then layouts."""
    return math.ceil(len(_named(one)) / _columns(one)) + (len(one.layouts) > 1)


def _columns(one: Panel) -> int:
    """As many names as fit beside each other."""
    longest = max(map(len, [*_named(one), *(_words(name) for name in one.layouts)]), default=0)
    return 4 if longest <= 7 else 3 if longest <= 12 else 2 if longest <= 20 else 1


def _words(layout: str) -> str:
    return LAYOUT_WORDS.get(layout, layout)


def panel(ax: Axes, one: Panel, title: str) -> None:
    """Cost (log) against numbers, or with a row for each word: a line or mark for each mix and
    layout."""
    with matplotlib.rc_context(STYLE):
        (_numbers if one.axis.numeric else _rows)(ax, one)
        handles = _handles(one)
        if handles:
            ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.01, 1.0),
                      ncols=_columns(one), borderaxespad=0.2, handlelength=1.4,
                      handletextpad=0.5, columnspacing=1.2)
        known = sum(point.low is not None for point in one.points)
        interval = ("95 % interval" if known == len(one.points) else "too few for an interval"
                    if not known else "95 % interval where n allows")
        figures.titles(ax, title, f"{one.note or f'median, {interval}'}, "
                       f"{n_words({p.n for p in one.points})} a point", legend=bool(handles),
                       lines=_legend(one))


def _style(one: Panel, line: tuple[str, str]) -> dict[str, Any]:
    """Colour and marker by mix; filled and solid in the first layout."""
    colour, marker, _, _ = LINES[one.mixes.index(line[0]) % len(LINES)]
    first = line[1] == one.layouts[0]
    return {"color": colour, "marker": marker, "linestyle": "-" if first else "--",
            "linewidth": 1.4, "markersize": 6, "markeredgewidth": 1.3,
            "markerfacecolor": colour if first else "none"}


def _handles(one: Panel) -> list[Line2D]:
    """Mixes in rows, then layouts in a row of their own; matplotlib fills columns."""
    found = [Line2D([], [], label=mix, **{**_style(one, (mix, one.layouts[0])),
                                          "linestyle": "none"}) for mix in _named(one)]
    layouts = [Line2D([], [], label=_words(layout), color=INK, marker="o",
                      linestyle="none" if not one.axis.numeric else "--" if place else "-",
                      linewidth=1.2, markersize=6,
                      markerfacecolor="none" if place else INK)
               for place, layout in enumerate(one.layouts)] if len(one.layouts) > 1 else []
    blank = Line2D([], [], linestyle="none", label=" ")
    columns = _columns(one)
    along = [handle for part in (found, layouts)
             for handle in part + [blank] * (-len(part) % columns)]
    return [handle for column in range(columns) for handle in along[column::columns]]


def _numbers(ax: Axes, one: Panel) -> None:
    for line, points in one.lines.items():
        x = [float(value) for value in points]
        ax.plot(x, [on_log(p.median) for p in points.values()], label=" ".join(line).strip() or "_",
                **_style(one, line))
        for place, point in zip(x, points.values(), strict=True):
            _interval(ax, one, line, point, place, vertical=True)
    ax.set_yscale("log")
    ax.set_ylim(figures.limits(one.points))
    figures.log_ticks(ax.yaxis)
    ax.set_ylabel(one.unit)
    _scale(ax, one, [float(v) for v in one.axis.values if any(v in p for p in one.lines.values())])
    ax.set_xlabel(one.axis.key + _held(one))
    ax.grid(axis="y")


def _held(one: Panel) -> str:
    """What the axis' label goes on with: the values of the other axes."""
    return "\n" + textwrap.fill(f"({one.held})", 46) if one.held else ""


def _scale(ax: Axes, one: Panel, values: list[float]) -> None:
    """Sizes and wide ranges are log; few values are written as they are."""
    low, high = min(values), max(values)
    log = low > 0 and high > low and (one.axis.sizes or high >= LOG * low)
    if log:
        ax.set_xscale("log", base=2)
        pad = (high / low) ** 0.06
        ax.set_xlim(low / pad, high * pad)
    else:
        pad = 0.06 * (high - low) or 1.0
        ax.set_xlim(low - pad, high + pad)
    shown = [math.log2(v) if log else v for v in values]
    steps = [b - a for a, b in zip(shown, shown[1:], strict=False)]
    if all(step >= LEAST_STEP * (shown[-1] - shown[0]) for step in steps):
        ax.xaxis.set_major_locator(FixedLocator(values))
    elif log:
        ax.xaxis.set_major_locator(LogLocator(2 ** max(1, math.ceil(math.log2(high / low) / 5)),
                                              numticks=12))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(
        lambda v, _: names.bytes_words(round(v)) if one.axis.sizes else names.short_words(v)))


def _rows(ax: Axes, one: Panel) -> None:
    step = 0.7 / len(one.lines)
    for index, (line, points) in enumerate(one.lines.items()):
        y = [one.axis.values.index(value) + (index - (len(one.lines) - 1) / 2) * step
             for value in points]
        ax.plot([on_log(p.median) for p in points.values()], y,
                label=" ".join(line).strip() or "_", **{**_style(one, line), "linestyle": "none"})
        for place, point in zip(y, points.values(), strict=True):
            _interval(ax, one, line, point, place, vertical=False)
            if len(one.lines) == 1:
                ax.annotate(names.short_words(point.median), (on_log(point.high or point.median),
                                                              place),
                            va="center", fontsize=8.5, xytext=(7, -0.5),
                            textcoords="offset points")
    ax.set_xscale("log")
    ax.set_xlim(figures.limits(one.points))
    figures.log_ticks(ax.xaxis)
    ax.set_xlabel(one.unit + _held(one))
    figures.rows_axis(ax, [one.axis.words(value) for value in one.axis.values])


def _interval(ax: Axes, one: Panel, line: tuple[str, str], point: Summary, place: float, *,
              vertical: bool) -> None:
    if point.low is None or point.high is None or point.low == point.high:
        return
    ends, places = [on_log(point.low), on_log(point.high)], [place, place]
    ax.plot(*((places, ends) if vertical else (ends, places)), linewidth=1.2, markersize=5,
            marker="_" if vertical else "|", color=_style(one, line)["color"])
