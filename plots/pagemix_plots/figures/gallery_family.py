# SPDX-License-Identifier: Apache-2.0
"""A figure and a table of every family that is in a run, known here or not."""

from __future__ import annotations

from ..run.load import Run
from ..tables import tables_family
from . import figures_family, gallery, svg
from .gallery import FamilyTable, Figure, Group


def groups(runs: list[Run], labels: list[str]) -> list[Group]:
    """A group for each family, by name."""
    found: dict[str, list[tuple[str, tables_family.Family]]] = {}
    for run, label in zip(runs, labels, strict=True):
        for family in tables_family.of_run(run):
            found.setdefault(family.name, []).append((label, family))
    return [Group(f"Family {name}",
                  "Cost against each part of the names that varies; all of it, with the counts of "
                  "one sample, is in the table.",
                  tuple(_figure(family, label) for label, family in of_runs), (),
                  tuple(FamilyTable(label, family) for label, family in of_runs))
            for name, of_runs in sorted(found.items())]


def _figure(family: tables_family.Family, label: str) -> Figure:
    slug = gallery.slug("family", family.name, label)
    return Figure(slug, svg.render(figures_family.draw(family, label), slug,
                                   f"Family {family.name}: {label}", family.words), family.rows())
