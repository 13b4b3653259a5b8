# SPDX-License-Identifier: Apache-2.0
"""Which figures a report shows: from views to rendered SVG with captions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from matplotlib.axes import Axes

from ..tables import data, tables
from ..tables.tables import CostTable, CountTable, PartsTable, View
from ..tables.tables_family import Family
from . import figures, svg

Table = TypeVar("Table", CostTable, CountTable, PartsTable)


@dataclass(frozen=True)
class Figure:
    slug: str  # file name without .svg, id prefix on the page
    svg: str  # an <svg> element, safe to put into a page as it is
    rows: tuple[tuple[str, ...], ...] = ()  # the data behind it, a header first


@dataclass(frozen=True)
class FamilyTable:
    label: str  # of the run
    family: Family


@dataclass(frozen=True)
class Group:
    """Figures that are read together: one question, a figure for each view.

    `figures` are those of each run's first view; `others` show its further
    sizes and states. `tables` stand beneath.
    """

    title: str
    text: str
    figures: tuple[Figure, ...]
    others: tuple[Figure, ...]
    tables: tuple[FamilyTable, ...] = ()


def groups(views: list[View]) -> list[Group]:
    """All figures of a report, the main one first. Groups without data are left out."""
    once = _one_state(views)
    made = [
        _orders(views, "map-cost", "map_sgtable", "Mapping, by order",
                "What the CPU pays to map one buffer: dma_map_sgtable of one attachment. "
                "Scattered chunks are what a heap hands out once memory is used; "
                "as allocated, fresh memory may lie together by luck."),
        _orders(views, "unmap-cost", "unmap_sgtable", "Unmapping, by order",
                "The same buffers unmapped, with the invalidations that the domain asks for."),
        _parts(once, "leaves", tables.leaves_by_mix, "Leaves granted",
               "The page-table entries that the IOMMU really got. A requested order is not a "
               "granted leaf: the IOMMU's page sizes, the run and its address decide.",
               "leaves of the mapped buffer"),
        _commands(once),
        _mixes(once, "alloc-cost", "Allocating, by mix",
               "One PAGEMIX_IOC_ALLOC call: the allocation loop of the heap, zeroing included.",
               lambda view: tables.cost_by_mix(view, "alloc")),
        _mixes(once, "free-cost", "Freeing, by mix",
               "The close() of a buffer's only file descriptor: its pages go back.",
               lambda view: tables.cost_by_mix(view, "free")),
        _parts(once, "chunks", tables.chunks_by_mix, "Chunks obtained",
               "What the page allocator gave when each mix asked, largest order first.",
               "chunks a buffer"),
        _mixes(once, "vfio-cost", "VFIO map against map_sgtable",
               "VFIO pins every page of the buffer before it maps it; map_sgtable maps only. "
               "The distance of the two marks is what VFIO adds, pinning above all.",
               lambda view: tables.families_by_mix(view, ("map_sgtable", "vfio_map"))),
    ]
    return [group for group in made if group.figures or group.others]


def overview(views: list[View]) -> Figure | None:
    """The main figure of several machines side by side, as one file; None for a single one."""
    found = [(v, t) for v in _main_views(views) if (t := tables.cost_by_order(v, "map_sgtable"))]
    if len(found) < 2:
        return None
    figure, axes = figures.new_figure(3.6, len(found), columns=2)
    for ax, (view, table) in zip(axes, found, strict=True):
        limits = _shared_limits(found, view)
        figures.cost_by_order(ax, table, f"map, {view.title}", limits)
    text = svg.render(figure, "map-cost", "Mapping cost against order",
                      ". ".join(f"{view.title}: {table.words}" for view, table in found))
    return Figure("map-cost", text, data.labelled(
        [(view.title, data.rows(table)) for view, table in found]))


def _main_views(views: list[View]) -> list[View]:
    """The first view of each run."""
    first: dict[str, View] = {}
    for view in views:
        first.setdefault(view.label, view)
    return list(first.values())


def _one_state(views: list[View]) -> list[View]:
    """The first view of each run and size: warm and cold differ in cost, not in kind of work."""
    first: dict[tuple[str, int], View] = {}
    for view in views:
        first.setdefault((view.label, view.bytes), view)
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
    return _group(kind, title, text, found, views, lambda table: 3.6,
                  lambda ax, view, table: figures.cost_by_order(
                      ax, table, view.title, _shared_limits(found, view)))


def _mixes(views: list[View], kind: str, title: str, text: str,
           table_of: Callable[[View], CostTable | None]) -> Group:
    found = [(v, t) for v in views if (t := table_of(v))]
    return _group(kind, title, text, found, views,
                  lambda table: figures.row_height(len(table.categories)),
                  lambda ax, view, table: figures.cost_by_mix(ax, table, view.title))


def _parts(views: list[View], kind: str, table_of: Callable[[View], PartsTable | None],
           title: str, text: str, note: str) -> Group:
    found = [(v, t) for v in views if (t := table_of(v))]
    palette = sorted({size for _, table in found for size in table.part_names})

    def draw(ax: Axes, view: View, table: PartsTable) -> None:
        words = f"{note}, {_layout(view)}, {tables.n_words(set(table.n))}"
        figures.parts_by_mix(ax, table, view.title, words, palette)

    return _group(kind, title, text, found, views,
                  lambda table: figures.row_height(len(table.rows)), draw)


def _commands(views: list[View]) -> Group:
    found = [(v, t) for v in views if (t := tables.commands_by_mix(v))]

    def draw(ax: Axes, view: View, table: CountTable) -> None:
        words = f"counted by QEMU, {_layout(view)}, {tables.n_words(set(table.n))} cycles"
        figures.counts_by_mix(ax, table, view.title, words)

    return _group("commands", "Commands to the IOMMU",
                  "What one map/unmap cycle makes the IOMMU do: invalidations (TLBI) and waits for "
                  "them (SYNC) of an SMMUv3, MAP and UNMAP requests of virtio-iommu.",
                  found, views, lambda table: figures.row_height(len(table.categories)), draw)


def _layout(view: View) -> str:
    return tables.LAYOUT_WORDS[view.main_layout]


def _group(kind: str, title: str, text: str, found: list[tuple[View, Table]], views: list[View],
           height: Callable[[Table], float], draw: Callable[[Axes, View, Table], None]) -> Group:
    """Draws each view's table; `views` are all of the report, to tell the main ones."""
    main = _main_views(views)
    shown: list[Figure] = []
    others: list[Figure] = []
    for view, table in found:
        figure, (ax,) = figures.new_figure(height(table))
        draw(ax, view, table)
        name = _slug(kind, views, view)
        drawn = Figure(name, svg.render(figure, name, f"{title}: {view.title}", table.words),
                       data.rows(table))
        (shown if view in main else others).append(drawn)
    return Group(title, text, tuple(shown), tuple(others))
