# SPDX-License-Identifier: Apache-2.0
"""Figures of allocation series: cost by sequence number with the chunks beneath, distributions."""

from __future__ import annotations

import math

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ..run import names
from ..tables.alloc_series import Series
from . import figures
from .figures import FILLS, HATCH
from .figures_use import LINES
from .svg import STYLE

PANEL = (4.4, 3.8)  # inches; panels stand side by side and share their limits


def new_panel() -> tuple[Figure, Axes, Axes]:
    """Cost above, chunks beneath, one sequence for both."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=PANEL, layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    return figure, top, bottom


def limits(series: list[Series]) -> tuple[float, float]:
    """Log limits of cost that hold every allocation."""
    costs = [max(c, 0.5) for s in series for c in s.costs]
    return min(costs) / 1.5, max(costs) * 1.6


def series_panel(top: Axes, bottom: Axes, series: Series, bounds: tuple[float, float],
                 palette: list[int]) -> None:
    """Cost of each allocation (log) by its number, a line a set; chunks of all sets beneath, as
    the part of the buffer that each order holds.

    `palette` lists the orders of every panel, so that an order looks the same in all.
    """
    fills = {order: FILLS[rank % len(FILLS)] for rank, order in enumerate(sorted(palette))}
    with matplotlib.rc_context(STYLE):
        for index, one in enumerate(series.sets):
            colour, marker, filled, dashes = LINES[index % len(LINES)]
            top.plot([a.number for a in one], [max(a.cost, 0.5) for a in one], color=colour,
                     marker=marker, linestyle=dashes, linewidth=1.2, markersize=4.5,
                     markerfacecolor=colour if filled else "none", label=f"set {index + 1}")
        top.set_yscale("log")
        top.set_ylim(*bounds)
        figures.log_ticks(top.yaxis)
        top.set_ylabel(series.unit)
        top.grid(axis="y")
        _chunks(bottom, series, fills)
        lines = 1 if len(series.sets) > 1 else 0
        if lines:
            top.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), borderaxespad=0.2, ncols=4,
                       fontsize=8.5, handlelength=1.6, columnspacing=1.0)
        heap = f", {series.heap} heap" if series.heap else ""
        size = f", {names.bytes_words(series.bytes)}" if series.bytes else ""
        figures.titles(top, f"{series.policy}, memory {series.memory}",
                       f"{series.source}{heap}{size}, n = {len(series.all)}", legend=bool(lines))


def _chunks(ax: Axes, series: Series, fills: dict[int, tuple[str, str]]) -> None:
    numbers = sorted({a.number for a in series.all})
    left = {number: 0.0 for number in numbers}
    orders = sorted(fills, reverse=True)
    for order in orders:
        heights: list[float] = []
        for number in numbers:
            same = [a for a in series.all if a.number == number]
            pages = sum(sum(n * (1 << o) for o, n in a.chunks.items()) for a in same)
            mine = sum(a.chunks.get(order, 0.0) * (1 << order) for a in same)
            heights.append(100 * mine / pages if pages else 0.0)
        if any(heights):
            colour, hatch = fills[order]
            ax.bar(numbers, heights, bottom=[left[n] for n in numbers], width=0.8, color=colour,
                   hatch=hatch, edgecolor=HATCH, linewidth=0.5)
            for number, height in zip(numbers, heights, strict=True):
                left[number] += height
    ax.set_ylim(0, 100)
    ax.set_yticks([0, 50, 100])
    ax.set_ylabel("% of bytes", fontsize=9)
    ax.set_xlabel("allocation; chunks by order")
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    handles = [Patch(facecolor=fills[o][0], hatch=fills[o][1], edgecolor=HATCH, linewidth=0.5,
                     label=str(o)) for o in sorted(fills)]
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.05), fontsize=8.5,
              borderaxespad=0.1, handlelength=1.2, handletextpad=0.4)


def ecdf(ax: Axes, series: list[Series], title: str) -> None:
    """Part of the allocations that cost at most so much (log): a line a series."""
    with matplotlib.rc_context(STYLE):
        for index, one in enumerate(series):
            colour, _, _, dashes = LINES[index % len(LINES)]
            costs = np.sort(np.maximum(one.costs, 0.5))
            share = np.arange(1, costs.size + 1) / costs.size
            ax.step(np.concatenate([costs[:1], costs]), np.concatenate([[0.0], share]),
                    where="post", color=colour, linestyle=dashes, linewidth=1.7,
                    label=f"{one.policy}{', ' + one.heap if one.heap else ''}")
        ax.set_xscale("log")
        low, high = limits(series)
        ax.set_xlim(low, high)
        figures.log_ticks(ax.xaxis)
        ax.set_xlabel(f"{series[0].unit} per allocation")
        ax.set_ylim(0, 1.02)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value * 100:.0f} %"))
        ax.set_ylabel("allocations")
        ax.grid(axis="y")
        figures.legend_above(ax, columns=3)
        counts = {len(one.all) for one in series}
        n = f"n = {min(counts)}" + (f" to {max(counts)}" if len(counts) > 1 else "")
        figures.titles(ax, title, f"empirical distribution, {n} a line", legend=True,
                       lines=math.ceil(len(series) / 3))
