# SPDX-License-Identifier: Apache-2.0
"""Figures of the use families: which of them a report shows, rendered."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes

from ..run import names
from ..run.load import Run
from ..tables import data, tables_use
from ..tables.tables import LAYOUT_WORDS, n_words
from . import figures, figures_use, gallery, svg
from .gallery import Figure, Group

TALL = 3.8  # inches of a figure with lines


def groups(runs: list[Run], labels: list[str]) -> list[Group]:
    """Groups without data are left out."""
    pairs = list(zip(runs, labels, strict=True))
    made = [_reach(pairs, misses=True), _reach(pairs, misses=False), _pipeline(pairs),
            _misses(pairs, tables_use.COLUMN, "column-misses", "Column reads: IOTLB misses"),
            _misses(pairs, tables_use.STREAM, "stream-misses", "Streaming: IOTLB misses"),
            _orders(pairs, tables_use.COLUMN, "frame", "column-cost", "Column reads, by order",
                    "A frame written in raster order and read in 64x64-pixel tiles down its "
                    "columns, as a 90-degree rotation does: cost of one access.", lambda v: v),
            _orders(pairs, tables_use.RANDOM, "window", "random-cost", "Random access, by order",
                    "One block into each page of a working set, in random order: cost of one "
                    "access.", lambda v: f"working set {names.bytes_words(int(v))}"),
            _orders(pairs, tables_use.STREAM, "depth", "stream-cost", "Streaming, by order",
                    "Large transfers front to back: cost of one command.",
                    lambda v: f"depth {v}")]
    return [group for group in made if group.figures or group.others]


def draw(slug: str, title: str, words: str, height: float, paint: Callable[[Axes], None],
         rows: data.Rows) -> Figure:
    """One figure with one axes, rendered, with the data behind it; `paint` is called at once."""
    figure, (ax,) = figures.new_figure(height)
    paint(ax)
    return Figure(slug, svg.render(figure, slug, title, words), rows)


def _reach(pairs: list[tuple[Run, str]], *, misses: bool) -> Group:
    title = "IOTLB reach: misses" if misses else "IOTLB reach: cost"
    text = ("IOTLB misses of one access to a random page, by working set. Up to the knee the "
            "IOTLB holds every leaf that the working set needs." if misses else
            "Cost of one access to a random page, by working set.")
    kind = "reach-misses" if misses else "reach-cost"
    shown: list[Figure] = []
    others: list[Figure] = []
    for run, label in pairs:
        tables = [t for t in tables_use.reach(run)
                  if (t.counted if misses else tables_use.device_counts(run))]
        for index, table in enumerate(tables):
            name = f"{label}, {names.bytes_words(table.bytes)}, {LAYOUT_WORDS[table.layout]}"
            slug = gallery.slug(kind, label, *(() if index == 0
                                               else (table.layout, str(table.bytes))))
            paint = figures_use.reach_misses if misses else figures_use.reach_cost
            (shown if index == 0 else others).append(
                draw(slug, f"{title}: {name}", table.words,
                     TALL + 0.25 * (len(table.curves) > 4),
                     lambda ax: paint(ax, table, name), table.rows()))
    return Group(title, text, tuple(shown), tuple(others))


def _pipeline(pairs: list[tuple[Run, str]]) -> Group:
    shown: list[Figure] = []
    others: list[Figure] = []
    title = "A frame of a video queue"
    for run, label in pairs:
        for index, (layout, table) in enumerate(tables_use.pipeline(run)):
            name = f"{label}, {run.iommu.domain_mode}, {LAYOUT_WORDS[layout]}"
            slug = gallery.slug("pipeline", label, *(() if index == 0 else (layout,)))
            note = f"parts are means, the mark and number the median; {n_words(table.n)} frames"
            if not tables_use.device_counts(run):
                note = f"dma is polling, not the device's work; {n_words(table.n)} frames"
            (shown if index == 0 else others).append(
                draw(slug, f"{title}: {name}", table.words,
                     figures.row_height(len(table.bars)),
                     lambda ax: figures_use.stacked_bars(ax, table, name, note),
                     table.rows()))
    return Group(title, "Synced, written in raster order, read down columns and synced again; "
                 "buffers kept mapped, or mapped and unmapped for each frame.",
                 tuple(shown), tuple(others))


def _misses(pairs: list[tuple[Run, str]], family: str, kind: str, title: str) -> Group:
    found = [(t, label) for run, label in pairs if (t := tables_use.misses_by_case(run, family))]
    shown = [draw(gallery.slug(kind, label), f"{title}: {label}", table.words,
                  figures.row_height(len(table.categories)),
                  lambda ax: figures_use.misses_by_mix(ax, table, label), data.rows(table))
             for table, label in found]
    return Group(title, "Misses of one access, counted by the IOMMU or by QEMU: they do not depend "
                 "on the clock.", tuple(shown), ())


def _orders(pairs: list[tuple[Run, str]], family: str, part: str, kind: str, title: str, text: str,
            words: Callable[[str], str]) -> Group:
    shown: list[Figure] = []
    others: list[Figure] = []
    for run, label in pairs:
        tables = (tables_use.cost_by_order(run, family, part, words)
                  if tables_use.device_counts(run) else [])
        # The last value is the largest working set, frame or depth: what the order matters for.
        for index, (value, table) in enumerate(reversed(tables)):
            name = f"{label}, {value}"
            slug = gallery.slug(kind, label, *(() if index == 0 else (value,)))
            (shown if index == 0 else others).append(
                draw(slug, f"{title}: {name}", table.words, 3.6,
                     lambda ax: figures.cost_by_order(ax, table, name),
                     data.rows(table)))
    return Group(title, text, tuple(shown), tuple(others))
