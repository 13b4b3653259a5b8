# SPDX-License-Identifier: Apache-2.0
"""Which figures a report shows: from views to rendered SVG with captions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.axes import Axes

from . import figures, svg, tables
from .tables import CostTable, PartsTable, View


@dataclass(frozen=True)
class Figure:
    slug: str  # file name without .svg, id prefix on the page
    svg: str  # an <svg> element, safe to put into a page as it is
    caption: str


@dataclass(frozen=True)
class Group:
    """Figures that are read together: one question, a figure for each view."""

    title: str
    text: str
    figures: tuple[Figure, ...]


def groups(views: list[View]) -> list[Group]:
    """All figures of a report, the main one first. Groups without data are left out."""
    made = [
        _orders(views, "map-cost", "map_sgtable", "Mapping, by order",
                "What the CPU pays to map one buffer: dma_map_sgtable of one attachment. "
                "Scattered chunks are what a heap hands out once memory is used; "
                "as allocated, fresh memory may lie together by luck."),
        _orders(views, "unmap-cost", "unmap_sgtable", "Unmapping, by order",
                "The same buffers unmapped, with the invalidations that the domain asks for."),
        _parts(views, "leaves", tables.leaves_by_mix, "Leaves granted",
               "The page-table entries that the IOMMU really got. A requested order is not a "
               "granted leaf: the IOMMU's page sizes, the run and its address decide.",
               "leaves of the mapped buffer"),
        _commands(views),
        _mixes(views, "alloc-cost", "Allocating, by mix",
               "The heap's allocation loop, zeroing included.",
               lambda view: tables.cost_by_mix(view, "alloc")),
        _parts(views, "chunks", tables.chunks_by_mix, "Chunks obtained",
               "What the page allocator gave when each mix asked, largest order first.",
               "chunks a buffer"),
        _mixes(views, "vfio-cost", "VFIO map against map_sgtable",
               "VFIO pins every page of the buffer before it maps it; map_sgtable maps only. "
               "The distance of the two marks is mostly pinning.",
               lambda view: tables.families_by_mix(view, ("map_sgtable", "vfio_map"))),
    ]
    return [group for group in made if group.figures]


def overview(views: list[View]) -> Figure | None:
    """The main figure of several machines side by side, as one file; None for a single one."""
    found = [(v, t) for v in _main_views(views) if (t := tables.cost_by_order(v, "map_sgtable"))]
    if len(found) < 2:
        return None
    figure, axes = figures.new_figure(3.6, len(found))
    for ax, (view, table) in zip(axes, found, strict=True):
        limits = _shared_limits(found, view)
        figures.cost_by_order(ax, table, f"map, {view.title}", limits)
    text = svg.render(figure, "map-cost", "Mapping cost against order",
                      ". ".join(f"{view.title}: {table.words}" for view, table in found))
    return Figure("map-cost", text, "")


def _main_views(views: list[View]) -> list[View]:
    """The first view of each run."""
    first: dict[str, View] = {}
    for view in views:
        first.setdefault(view.label, view)
    return list(first.values())


def slug(*parts: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")


def _slug(kind: str, views: list[View], view: View) -> str:
    """The run's first view has the short name, so that links to it stay."""
    if view in _main_views(views):
        return slug(kind, view.label)
    return slug(kind, view.label, str(view.bytes), view.state)


def _shared_limits(found: list[tuple[View, CostTable]], view: View) -> tuple[float, float]:
    """Runs of one clock share their scale; numbers of different clocks never do."""
    kind = view.run.clock.kind
    return figures.cost_limits([t for v, t in found if v.run.clock.kind == kind])


def _orders(views: list[View], kind: str, family: str, title: str, text: str) -> Group:
    found = [(v, t) for v in views if (t := tables.cost_by_order(v, family))]
    made: list[Figure] = []
    for view, table in found:
        limits = _shared_limits(found, view)
        made.append(_draw(_slug(kind, views, view), 3.6, f"{title}: {view.title}", table.words,
                          lambda ax, v=view, t=table, l=limits:
                          figures.cost_by_order(ax, t, v.title, l)))
    return Group(title, text, tuple(made))


def _mixes(views: list[View], kind: str, title: str, text: str,
           table_of: Callable[[View], CostTable | None]) -> Group:
    made: list[Figure] = []
    for view in views:
        table = table_of(view)
        if table:
            made.append(_draw(_slug(kind, views, view), figures.row_height(len(table.categories)),
                              f"{title}: {view.title}", table.words,
                              lambda ax, v=view, t=table: figures.cost_by_mix(ax, t, v.title)))
    return Group(title, text, tuple(made))


def _parts(views: list[View], kind: str, table_of: Callable[[View], PartsTable | None],
           title: str, text: str, note: str) -> Group:
    found = [(v, t) for v in views if (t := table_of(v))]
    palette = sorted({size for _, table in found for size in table.part_names})
    made: list[Figure] = []
    for view, table in found:
        words = f"{note}, {_layout(view)}, {tables.n_words(set(table.n))}"
        made.append(_draw(_slug(kind, views, view), figures.row_height(len(table.rows)),
                          f"{title}: {view.title}", table.words,
                          lambda ax, v=view, t=table, w=words:
                          figures.parts_by_mix(ax, t, v.title, w, palette)))
    return Group(title, text, tuple(made))


def _commands(views: list[View]) -> Group:
    title = "Commands to the IOMMU"
    made: list[Figure] = []
    for view in views:
        table = tables.commands_by_mix(view)
        if table:
            words = f"counted by QEMU, {_layout(view)}, {tables.n_words(set(table.n))} cycles"
            made.append(_draw(_slug("commands", views, view),
                              figures.row_height(len(table.categories)), f"{title}: {view.title}",
                              table.words, lambda ax, v=view, t=table, w=words:
                              figures.counts_by_mix(ax, t, v.title, w)))
    return Group(title, "What one map/unmap cycle makes the IOMMU do: invalidations (TLBI) and "
                 "waits for them (SYNC) of an SMMUv3, MAP and UNMAP requests of virtio-iommu.",
                 tuple(made))


def _layout(view: View) -> str:
    return tables.LAYOUT_WORDS[view.main_layout]


def _draw(name: str, height: float, title: str, words: str, draw: Callable[[Axes], None]
          ) -> Figure:
    figure, (ax,) = figures.new_figure(height)
    draw(ax)
    return Figure(name, svg.render(figure, name, title, words), title)
