# SPDX-License-Identifier: Apache-2.0
"""Figures: each public function draws one table of data on a matplotlib axes."""

from __future__ import annotations

import math

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from ..run import names
from ..stats.stats import Summary
from ..tables.tables import COMMAND_PAIRS, CostTable, CountTable, PartsTable, Series
from .svg import GRID, STYLE

# Okabe and Ito's colours, those that hold on white and on dark pages. Series
# differ by marker and line as well, parts by hatch: colour is never alone.
BLUE, VERMILLION, GREEN, SKY, ORANGE, PURPLE = (
    "#0072B2", "#D55E00", "#009E73", "#56B4E9", "#E69F00", "#CC79A7")
# colour, marker, filled, line
MARKS: dict[str, tuple[str, str, bool, str]] = {
    "scattered": (BLUE, "o", True, "-"),
    "attempt": (BLUE, "o", True, "-"),
    "buddy": (VERMILLION, "s", False, "--"),
    "map_sgtable": (BLUE, "o", True, "-"),
    "vfio_map": (VERMILLION, "D", False, "--"),
    **{pair[0]: (BLUE, "o", True, "-") for pair in COMMAND_PAIRS},
    **{word: (VERMILLION, "s", False, "--") for pair in COMMAND_PAIRS for word in pair[1:]},
}
SERIES_WORDS = {"buddy": "buddy (as allocated)"}
# Part fills, smallest part first: hues that stay apart without red or green
# cones, each eight steps lighter than the one before, so that grey keeps them apart.
FILLS = (("#0A72AF", ""), ("#CE6135", "///"), ("#18AA7E", "\\\\\\"), ("#E595C8", "xx"),
         ("#F7BD55", "--"), ("#B2ECFD", "||"))

# Drawn on the fills, which are the same on every page: legible on all of them.
HATCH = "#14181c"

MOST_NAMED = 4  # lines that are named beside them
LEAST_GAP = 0.07  # of the axes' height, between two names
WIDTH = 4.8  # inches of 72 units; fits a phone at about nine pixels a character


def new_figure(height: float, count: int = 1, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure of `count` axes in rows of `columns`, each `height` inches, in the style of
    svg.STYLE."""
    rows = math.ceil(count / columns)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH * columns, height * rows), layout="constrained")
        axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for spare in axes[count:]:
        spare.remove()
    return figure, axes[:count]


def row_height(rows: int) -> float:
    """Inches for a figure of so many horizontal rows."""
    return 1.45 + 0.40 * rows


def cost_by_order(ax: Axes, table: CostTable, title: str,
                  limits: tuple[float, float] | None = None) -> None:
    """Cost (log) against order: a line for each layout, medians with their 95 % intervals."""
    places = {category: index for index, category in enumerate(table.categories)}
    with matplotlib.rc_context(STYLE):
        for series in table.series:
            x = [float(places[c]) for c in series.points]
            points = list(series.points.values())
            _marks(ax, series.name, x, [on_log(p.median) for p in points], line=True)
            for place, point in zip(x, points, strict=True):
                _interval(ax, series.name, point, [place, place], vertical=True)
        legend = _label_lines(ax, table, places)
        ax.set_yscale("log")
        ax.set_ylim(limits or cost_limits([table]))
        ax.set_xlim(-0.65, len(places) - 0.5)
        ax.set_xticks(list(places.values()),
                      [f"{c}\n{table.notes[c]}" if c in table.notes else c for c in places])
        ax.set_xlabel("order of the chunks")
        ax.set_ylabel(table.unit)
        log_ticks(ax.yaxis)
        ax.grid(axis="y")
        ax.tick_params(axis="x", length=0)
        titles(ax, title, table.point_words, legend=legend)


def cost_limits(tables: list[CostTable]) -> tuple[float, float]:
    """Limits of all these tables' points."""
    return limits([p for t in tables for s in t.series for p in s.points.values()])


def limits(points: list[Summary]) -> tuple[float, float]:
    """Log limits that hold every point and interval, with room for labels."""
    low = min(p.median if p.low is None else p.low for p in points)
    high = max(p.median if p.high is None else p.high for p in points)
    low, high = on_log(low), max(high, 1.0)
    pad = max((high / low) ** 0.2, 1.5)
    return low / pad, high * pad


def on_log(value: float) -> float:
    """Where a cost stands on a log axis: below the clock's resolution it may be 0."""
    return max(value, 0.5)


def _marks(ax: Axes, series: str, x: list[float], y: list[float], *, line: bool = False) -> None:
    colour, marker, filled, dashes = MARKS[series]
    ax.plot(x, y, color=colour, marker=marker, linestyle=dashes if line else "none",
            markeredgewidth=1.6, markerfacecolor=colour if filled else "none",
            label=SERIES_WORDS.get(series, series))


def _interval(ax: Axes, series: str, point: Summary, place: list[float], *, vertical: bool
              ) -> None:
    """The median's interval as a bar with end marks; nothing where it has no width."""
    if point.low is None or point.high is None or point.low == point.high:
        return
    ends = [on_log(point.low), on_log(point.high)]
    x, y = (place, ends) if vertical else (ends, place)
    ax.plot(x, y, color=MARKS[series][0], linewidth=1.4, marker="_" if vertical else "|",
            markersize=7, markeredgewidth=1.4)


def _label_lines(ax: Axes, table: CostTable, places: dict[str, int]) -> bool:
    """Writes the medians beside the marks, and each line's name where the lines are far apart.

    True when the names went into a legend instead.
    """
    gaps = {c: _gap(table.series, c) for c in places}
    widest = max(gaps, key=lambda c: gaps[c])
    named = len(table.series) == 1 or gaps[widest] > math.log(2)
    for category, place in places.items():
        points = [(s, s.points[category]) for s in table.series if category in s.points]
        points.sort(key=lambda item: -item[1].median)
        if len(points) == 2 and gaps[category] < math.log(1.8):
            points = points[:1]  # one label is enough where the marks lie together
        for rank, (series, point) in enumerate(points):
            above = rank == 0
            text = names.short_words(point.median)
            if named and len(table.series) > 1 and category == widest:
                word = SERIES_WORDS.get(series.name, series.name).split(" ")[0]
                text = f"{word}\n{text}" if above else f"{text}\n{word}"
            # Lines mostly fall: right above and left below a mark is the free corner.
            right = above != _rises(series, category)
            ax.annotate(text, (place, on_log(point.median)), ha="left" if right else "right",
                        va="bottom" if above else "top", fontsize=9.5, linespacing=1.1,
                        xytext=(1 if right else -1, 5 if above else -5),
                        textcoords="offset points")
    if not named:
        legend_above(ax)
    return not named


def _rises(series: Series, category: str) -> bool:
    """Whether the line through this mark goes up, seen from its neighbours."""
    around = list(series.points)
    at = around.index(category)
    before, after = around[max(at - 1, 0)], around[min(at + 1, len(around) - 1)]
    return series.points[after].median > 1.1 * series.points[before].median


def _gap(series: tuple[Series, ...], category: str) -> float:
    values = [on_log(s.points[category].median) for s in series if category in s.points]
    return math.log(max(values) / min(values)) if len(values) > 1 else 0.0


def cost_by_mix(ax: Axes, table: CostTable, title: str) -> None:
    """Cost (log) of each mix: a mark for each series, medians with their 95 % intervals."""
    with matplotlib.rc_context(STYLE):
        step = 0.46 / max(1, len(table.series))
        for index, series in enumerate(table.series):
            y = [table.categories.index(c) + (index - (len(table.series) - 1) / 2) * step
                 for c in series.points]
            points = list(series.points.values())
            _marks(ax, series.name, [on_log(p.median) for p in points], y)
            for category, place in zip(series.points, y, strict=True):
                _interval(ax, series.name, series.points[category], [place, place], vertical=False)
                _label_mark(ax, table, series, category, place)
        low, high = cost_limits([table])
        ax.set_xscale("log")
        ax.set_xlim(low, high)
        log_ticks(ax.xaxis)
        ax.set_xlabel(table.unit)
        rows_axis(ax, list(table.categories))
        if len(table.series) > 1:
            legend_above(ax)
        titles(ax, title, table.point_words,
                legend=len(table.series) > 1)


def _label_mark(ax: Axes, table: CostTable, series: Series, category: str, y: float) -> None:
    """Writes the median on the side that is free; once where all series show the same digits."""
    point = series.points[category]
    text = names.short_words(point.median)
    others = [s.points[category].median for s in table.series
              if s is not series and category in s.points]
    if others and all(names.short_words(other) == text for other in others):
        if series is not table.series[0]:
            return
        y = table.categories.index(category)
    left = any(point.median < other for other in others) and text != names.short_words(max(others))
    end = point.low if left else point.high
    ax.annotate(text, (on_log(point.median if end is None else end), y), va="center",
                ha="right" if left else "left", fontsize=8.5,
                xytext=(-7 if left else 7, -0.5), textcoords="offset points")


def parts_by_mix(ax: Axes, table: PartsTable, title: str, note: str, palette: list[int]) -> None:
    """How each mix's buffer divides: bars of MiB stacked by part size, the counts beside them.

    `palette` lists the sizes of every figure that is read together with this
    one, so that a size looks the same in all of them.
    """
    sizes = sorted(table.part_names, reverse=True)
    fills = {size: FILLS[rank % len(FILLS)] for rank, size in enumerate(sorted(palette))}
    with matplotlib.rc_context(STYLE):
        largest = 0.0
        for place, row in enumerate(table.rows):
            left = 0.0
            for size in sizes:
                width = row.counts.get(size, 0.0) * size / (1 << 20)
                if width:
                    colour, hatch = fills[size]
                    ax.barh(place, width, left=left, height=0.62, color=colour, hatch=hatch,
                            edgecolor=HATCH, linewidth=0.7)
                    left += width
            largest = max(largest, left)
            ax.annotate(names.count_words(round(row.total, 1)), (left, place), va="center",
                        fontsize=9.5, xytext=(5, 0), textcoords="offset points")
        ax.set_xlim(0, largest * 1.17)
        ax.set_xlabel(f"MiB; at the end of a bar the number of {table.noun}")
        rows_axis(ax, [row.label for row in table.rows])
        handles = [Patch(facecolor=fills[size][0], hatch=fills[size][1], edgecolor=HATCH,
                         linewidth=0.7, label=table.part_names[size]) for size in sizes]
        columns = 4  # matplotlib fills them from top to bottom; sizes are to read along the rows
        along = [handle for column in range(columns) for handle in handles[column::columns]]
        ax.legend(handles=along, loc="lower left", bbox_to_anchor=(-0.01, 1.0), borderaxespad=0.2,
                  ncols=columns, columnspacing=1.0, handlelength=1.4, handletextpad=0.5)
        titles(ax, title, note, legend=True, lines=math.ceil(len(handles) / columns))


def counts_by_mix(ax: Axes, table: CountTable, title: str, note: str) -> None:
    """Counts of each mix (log when they are many): a mark and its number for each command."""
    top = max(max(values) for values in table.series.values())
    edge = 0.0 if top <= 20 else 0.6  # zero has no place on a log axis: its mark sits on the edge
    with matplotlib.rc_context(STYLE):
        step = 0.46 / max(1, len(table.series))
        for index, (name, values) in enumerate(table.series.items()):
            x = [max(value, edge) for value in values]
            y = [place + (index - (len(table.series) - 1) / 2) * step
                 for place in range(len(values))]
            ax.hlines(y, edge, x, color=GRID, linewidth=1.2, zorder=1)
            _marks(ax, name, x, y)
            for row, value in enumerate(values):
                same = all(other[row] == value for other in table.series.values())
                if same and index:
                    continue  # the first series' label stands for all
                ax.annotate(names.count_words(value), (x[row], row if same else y[row]),
                            va="center", fontsize=9, xytext=(7, -0.5), textcoords="offset points")
        if edge:
            ax.set_xscale("log")
            ax.set_xlim(edge, top * (top / edge) ** 0.14)
            log_ticks(ax.xaxis)
        else:
            ax.set_xlim(0, top * 1.14)
            ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set_xlabel("commands of one map/unmap cycle")
        rows_axis(ax, list(table.categories))
        legend_above(ax)
        titles(ax, title, note, legend=True)


def rows_axis(ax: Axes, words: list[str]) -> None:
    ax.set_yticks(range(len(words)), words)
    ax.set_ylim(len(words) - 0.5, -0.5)  # the first row on top
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")


def names_at_ends(ax: Axes, ends: dict[str, tuple[float, float]]) -> bool:
    """Writes each line's name right of its last mark, where lines are few and their ends apart.

    `ends` are points of the axes' final limits. False, and nothing is written, where a
    legend is to name them.
    """
    heights = sorted(ax.transLimits.transform(ax.transScale.transform(end))[1]
                     for end in ends.values())
    gaps = [high - low for low, high in zip(heights, heights[1:], strict=False)]
    if len(ends) > MOST_NAMED or any(gap < LEAST_GAP for gap in gaps):
        return False
    for name, end in ends.items():
        ax.annotate(SERIES_WORDS.get(name, name), end, va="center", fontsize=9.5,
                    xytext=(7, 0), textcoords="offset points", annotation_clip=False)
    return True


def legend_above(ax: Axes, columns: int = 4) -> None:
    ax.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), borderaxespad=0.2, ncols=columns,
              handlelength=1.2, handletextpad=0.5, columnspacing=1.2)


def titles(ax: Axes, title: str, note: str, *, legend: bool = False, lines: int = 1) -> None:
    """Title and, under it, what a mark stands for; both above a legend."""
    lift = (18 * lines if legend else 0) + 4
    ax.annotate(note, (0, 1), xycoords="axes fraction", xytext=(0, lift), fontsize=9.5,
                textcoords="offset points", va="bottom")
    ax.annotate(title, (0, 1), xycoords="axes fraction", xytext=(0, lift + 15), fontsize=11.5,
                textcoords="offset points", va="bottom", fontweight="bold")


def log_ticks(axis: matplotlib.axis.Axis) -> None:
    """Decades as plain digits: 100, 10 k, 1 M; with 2 and 5 between where decades are few."""
    low, high = axis.get_view_interval()
    few = math.log10(high / low) < 2.2
    axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: names.short_words(value)))
    axis.set_minor_locator(NullLocator())  # every mark has its number
