# SPDX-License-Identifier: Apache-2.0
"""Figures of allocation series: small multiples by policy and state, distributions, parts."""

from __future__ import annotations

from collections.abc import Sequence

from ..run.load import Run
from ..tables import alloc_series, data, order_speed
from ..tables.alloc_series import Series
from ..tables.tables_use import BarTable
from . import figures, figures_alloc, figures_use, gallery, svg
from .gallery import Figure, Group
from .gallery_use import draw


def groups(runs: list[Run], labels: list[str], published: Sequence[Series] = ()) -> list[Group]:
    """Groups without data are left out. Published series stand after those of the runs."""
    sources = [(label, s) for run, label in zip(runs, labels, strict=True)
               if (s := alloc_series.of_run(run, label))]
    if published:
        sources.append(("published", list(published)))
    made = [_multiples(sources), _distributions(sources), _parts(sources),
            _speeds(list(zip(runs, labels, strict=True)))]
    return [group for group in made if group.figures]


def _multiples(sources: list[tuple[str, list[Series]]]) -> Group:
    palette = sorted({order for _, series in sources for s in series for order in s.orders})
    shown: list[Figure] = []
    for label, series in sources:
        bounds = figures_alloc.limits(series)
        for one in (s for s in series if s.traced):
            figure, top, bottom = figures_alloc.new_panel()
            figures_alloc.series_panel(top, bottom, one, bounds, palette)
            slug = gallery.slug("alloc-series", label, one.policy, one.heap, one.memory,
                                _size(one.bytes, series))
            shown.append(Figure(slug, svg.render(figure, slug, f"Allocations: {one.title}",
                                                 one.words), one.rows()))
    return Group("Allocation under pressure",
                 "Buffers allocated one after another and held: the cost of each, and beneath it "
                 "the part of its bytes that chunks of each order hold. Panels of one source "
                 "share their scale.", tuple(shown), ())


def _size(size: int, series: list[Series]) -> str:
    """Part of a name that tells sizes apart, where there are several."""
    return str(size) if len({s.bytes for s in series}) > 1 else ""


def _by_memory(series: list[Series]) -> dict[tuple[str, int], list[Series]]:
    result: dict[tuple[str, int], list[Series]] = {}
    for one in (s for s in series if s.traced):
        result.setdefault((one.memory, one.bytes), []).append(one)
    return result


def _distributions(sources: list[tuple[str, list[Series]]]) -> Group:
    shown = tuple(
        draw(gallery.slug("alloc-ecdf", label, memory, _size(size, series)),
             f"Allocation cost, memory {memory}: {label}",
             "; ".join(s.words for s in group), 3.6,
             lambda ax: figures_alloc.ecdf(ax, group, f"{label}, memory {memory}"),
             data.stacked([s.rows() for s in group]))
        for label, series in sources for (memory, size), group in _by_memory(series).items())
    return Group("Distribution of the allocation's cost",
                 "How many of the allocations cost at most so much.", shown, ())


def _parts(sources: list[tuple[str, list[Series]]]) -> Group:
    shown = [_parts_figure(label, memory, _size(size, series), group, table)
             for label, series in sources for (memory, size), group in _by_memory(series).items()
             if (table := alloc_series.attribution(group))]
    costs = [part for _, series in sources for _, part in alloc_series.tracing_cost(series)]
    traced = (f" Tracing adds {min(costs) * 100:+.1f} to {max(costs) * 100:+.1f} % to the median "
              "of a series." if costs else " The cost of tracing was not measured.")
    return Group("Where an allocation's cost went",
                 "Direct compaction, direct reclaim, zeroing, work of other threads and the rest, "
                 "from the kernel's trace events." + traced, tuple(shown), ())


def _parts_figure(label: str, memory: str, size: str, group: list[Series], table: BarTable
                  ) -> Figure:
    gap = max(alloc_series.unexplained(s) for s in group)
    words = f"mean parts; mark: median; n = {min(table.n)}; gap {gap * 100:.2g} %"
    return draw(gallery.slug("alloc-parts", label, memory, size),
                f"Parts of an allocation, memory {memory}: {label}", table.words,
                figures.row_height(len(table.bars)),
                lambda ax: figures_use.stacked_bars(ax, table, f"{label}, memory {memory}", words),
                table.rows())


def _speeds(pairs: list[tuple[Run, str]]) -> Group:
    shown: list[Figure] = []
    for run, label in pairs:
        unit = run.clock.unit
        if speeds := order_speed.of_run(run):
            table = order_speed.table(speeds, unit)
            shown.append(draw(gallery.slug("order-speed", label),
                              f"Cost of a block of one order: {label}",
                              order_speed.words(speeds, unit), figures.row_height(len(speeds)),
                              lambda ax: figures.cost_by_mix(ax, table, label),
                              order_speed.rows(speeds, unit)))
    return Group("Blocks of one order",
                 "Blocks of order 4 and order 8, each a buffer of its own, until memory has been "
                 "asked for all of them or gives none: cost of an attempt, blocks obtained of "
                 "those wanted, and how often the kernel stopped to compact (compact_stall).",
                 tuple(shown), ())
