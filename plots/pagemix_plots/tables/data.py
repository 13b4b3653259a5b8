# SPDX-License-Identifier: Apache-2.0
"""The data behind a figure as rows for a CSV file, a header first."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from .tables import CostTable, CountTable, PartsTable

Rows = tuple[tuple[str, ...], ...]


def cell(value: float | None) -> str:
    """A number with all the digits that it has; empty where there is none."""
    return "" if value is None else f"{value:.10g}"


def rows(table: CostTable | CountTable | PartsTable) -> Rows:
    if isinstance(table, CostTable):
        head = ("series", "category", f"median {table.unit}", "low", "high", "n")
        return (head, *((series.name, category, cell(p.median), cell(p.low), cell(p.high), str(p.n))
                        for series in table.series for category, p in series.points.items()))
    if isinstance(table, CountTable):
        return (("count", *table.categories), *((name, *map(cell, values))
                                                  for name, values in table.series.items()))
    sizes = sorted(table.part_names, reverse=True)
    return ((table.noun, *(table.part_names[size] for size in sizes)),
            *((row.label, *(cell(row.counts.get(size, 0.0)) for size in sizes))
              for row in table.rows))


def labelled(parts: Sequence[tuple[str, Rows]]) -> Rows:
    """Tables of one shape beneath each other, each row with its table's label."""
    return (("source", *parts[0][1][0]),
            *((label, *row) for label, found in parts for row in found[1:]))


def stacked(parts: Iterable[Rows]) -> Rows:
    """Tables beneath each other; columns that one lacks stay empty."""
    found = list(parts)
    head = tuple(dict.fromkeys(name for part in found for name in part[0]))
    return (head, *(tuple(dict(zip(part[0], row, strict=True)).get(name, "") for name in head)
                    for part in found for row in part[1:]))


def text(found: Rows) -> str:
    """CSV (RFC 4180, but with newlines of one character)."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(found)
    return out.getvalue()
