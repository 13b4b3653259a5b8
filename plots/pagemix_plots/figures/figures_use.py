# SPDX-License-Identifier: Apache-2.0
"""Figures of used buffers: reach curves and stacked parts of a cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from ..run import names
from ..stats import knee
from ..tables import tables_use
from ..tables.tables import CountTable, n_words
from ..tables.tables_use import BarTable, Curve, ReachTable
from . import figures
from .figures import BLUE, FILLS, GREEN, HATCH, ORANGE, PURPLE, SKY, VERMILLION
from .svg import STYLE

# A line for each mix: colour, marker, filled, dashes. Lines that lie on each
# other stay apart by marker size and dashes.
LINES: tuple[tuple[str, str, bool, str], ...] = (
    (BLUE, "o", True, "-"), (VERMILLION, "s", False, "--"), (GREEN, "^", True, "-."),
    (PURPLE, "D", False, ":"), (ORANGE, "v", True, "-"), (SKY, "P", False, "--"),
    (BLUE, "X", False, "-."), (VERMILLION, "*", True, ":"),
)


def reach_misses(ax: Axes, table: ReachTable, title: str) -> None:
    """Misses per access against the working set (log): a line and a knee for each mix."""
    with matplotlib.rc_context(STYLE):
        for index, curve in enumerate(table.curves):
            _line(ax, index, curve, _misses(curve))
            _knee(ax, index, curve.by_misses)
        top = max(p.misses or 0.0 for c in table.curves for p in c.points)
        ax.set_ylim(-0.04 * max(top, 1.0), 1.08 * max(top, 1.0))
        ax.yaxis.set_major_locator(MaxNLocator(6))
        _finish(ax, table, title, "IOTLB misses per access", _misses)


def _misses(curve: Curve) -> list[float]:
    return [point.misses or 0.0 for point in curve.points]


def _costs(curve: Curve) -> list[float]:
    return [point.cost.median for point in curve.points]


def reach_cost(ax: Axes, table: ReachTable, title: str) -> None:
    """Cost per access against the working set (log): a line and a knee for each mix."""
    with matplotlib.rc_context(STYLE):
        for index, curve in enumerate(table.curves):
            _line(ax, index, curve, _costs(curve))
            for point in curve.points:
                cost = point.cost
                if cost.low is not None and cost.high is not None and cost.low < cost.high:
                    ax.plot([point.window] * 2, [cost.low, cost.high], linewidth=1.2, marker="_",
                            markersize=5, color=LINES[index % len(LINES)][0])
            _knee(ax, index, curve.by_cost)
        top = max(p.cost.median if p.cost.high is None else p.cost.high
                  for c in table.curves for p in c.points)
        ax.set_ylim(0, 1.1 * max(top, 1e-9))
        ax.yaxis.set_major_locator(MaxNLocator(6))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: names.short_words(value)))
        _finish(ax, table, title, f"{table.unit} per access", _costs)


def _line(ax: Axes, index: int, curve: Curve, values: list[float]) -> None:
    colour, marker, filled, dashes = LINES[index % len(LINES)]
    ax.plot([p.window for p in curve.points], values, color=colour, marker=marker,
            linestyle=dashes, linewidth=1.5, markersize=6.5 - 0.4 * index, markeredgewidth=1.3,
            markerfacecolor=colour if filled else "none", label=curve.mix)


def _knee(ax: Axes, index: int, found: knee.Knee | None) -> None:
    """The knee as a vertical line at the flat level's foot, its interval as a band."""
    if found is None:
        return
    colour, _, _, dashes = LINES[index % len(LINES)]
    ax.axvspan(max(found.low, ax.dataLim.x0 or found.at), found.high, color=colour, alpha=0.12,
               linewidth=0, zorder=0)
    ax.axvline(found.at, color=colour, linestyle=dashes, linewidth=1.1, zorder=1)


def _finish(ax: Axes, table: ReachTable, title: str, ylabel: str,
            values: Callable[[Curve], list[float]]) -> None:
    windows = [p.window for c in table.curves for p in c.points]
    ax.set_xscale("log", base=2)
    ax.set_xlim(min(windows) / 1.3, max(windows) * 1.3)
    octaves = math.log2(max(windows) / min(windows)) if len(set(windows)) > 1 else 1
    ax.xaxis.set_major_locator(LogLocator(2 ** max(1, math.ceil(octaves / 5)), numticks=12))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: tables_use.round_bytes(v)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("working set")
    ax.set_ylabel(ylabel)
    ax.grid(axis="y")
    lines = math.ceil(len(table.curves) / 4)
    legend = not figures.names_at_ends(ax, {
        curve.mix: (curve.points[-1].window, values(curve)[-1]) for curve in table.curves})
    if legend:
        figures.legend_above(ax)
    note = f"knee: line with its 95 % interval; {n_words(table.n)} passes a point"
    figures.titles(ax, title, note, legend=legend, lines=lines)


def misses_by_mix(ax: Axes, table: CountTable, title: str) -> None:
    """Misses per access of each mix: a mark for each case."""
    with matplotlib.rc_context(STYLE):
        step = 0.6 / max(1, len(table.series))
        for index, (name, values) in enumerate(table.series.items()):
            colour, marker, filled, _ = LINES[index % len(LINES)]
            y = [place + (index - (len(table.series) - 1) / 2) * step
                 for place in range(len(values))]
            ax.plot(values, y, color=colour, marker=marker, linestyle="none", markeredgewidth=1.4,
                    markerfacecolor=colour if filled else "none", label=name)
            for value, place in zip(values, y, strict=True):
                ax.annotate(names.count_words(value), (value, place), va="center", fontsize=8.5,
                            xytext=(7, -0.5), textcoords="offset points")
        top = max(max(values) for values in table.series.values())
        ax.set_xlim(-0.02 * max(top, 0.05), 1.15 * max(top, 0.05))
        ax.set_xlabel("IOTLB misses per access")
        figures.rows_axis(ax, list(table.categories))
        figures.legend_above(ax, columns=2)
        figures.titles(ax, title, f"{n_words(set(table.n))} passes a mark", legend=True,
                       lines=math.ceil(len(table.series) / 2))


# Parts that are no work for the allocation: without a colour, so that the six
# fills are enough for the others.
PLAIN = {"rest": ("#ffffff", ""), "idle": ("#ffffff", ".."), "interrupts": ("#ffffff", "++"),
         "other": ("#ffffff", "oo")}


def _part_fills(part_names: Sequence[str]) -> dict[str, tuple[str, str]]:
    coloured = [name for name in part_names if name not in PLAIN]
    if len(coloured) > len(FILLS):
        raise ValueError(f"{len(coloured)} parts, more than the {len(FILLS)} fills: {coloured}")
    return {**PLAIN, **dict(zip(coloured, FILLS, strict=False))}


def stacked_bars(ax: Axes, table: BarTable, title: str, note: str) -> None:
    """Parts of a cost stacked, a bar for each mix; a mark at the median that was measured."""
    fills = _part_fills(table.part_names)
    with matplotlib.rc_context(STYLE):
        widest = 0.0
        for place, bar in enumerate(table.bars):
            left = 0.0
            for name in table.part_names:
                width = bar.parts.get(name, 0.0)
                if width:
                    colour, hatch = fills[name]
                    ax.barh(place, width, left=left, height=0.62, color=colour, hatch=hatch,
                            edgecolor=HATCH, linewidth=0.7)
                    left += width
            ax.plot([bar.whole.median] * 2, [place - 0.4, place + 0.4], color=HATCH,
                    linewidth=2.4)
            ax.plot([bar.whole.median] * 2, [place - 0.4, place + 0.4], color="#ffffff",
                    linewidth=1.0)
            end = max(left, bar.whole.median)
            widest = max(widest, end)
            ax.annotate(names.short_words(bar.whole.median), (end, place), va="center",
                        fontsize=9, xytext=(5, 0), textcoords="offset points")
        ax.set_xlim(0, max(widest, 1e-9) * 1.2)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: names.short_words(value)))
        ax.set_xlabel(table.unit)
        figures.rows_axis(ax, [bar.label for bar in table.bars])
        handles = [Patch(facecolor=fills[n][0], hatch=fills[n][1], edgecolor=HATCH, linewidth=0.7,
                         label=n) for n in table.part_names]
        columns = 4
        along = [handle for column in range(columns) for handle in handles[column::columns]]
        ax.legend(handles=along, loc="lower left", bbox_to_anchor=(-0.01, 1.0), borderaxespad=0.2,
                  ncols=columns, columnspacing=1.0, handlelength=1.4, handletextpad=0.5)
        figures.titles(ax, title, note, legend=True, lines=math.ceil(len(handles) / columns))
