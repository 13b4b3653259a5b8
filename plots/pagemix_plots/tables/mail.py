# SPDX-License-Identifier: Apache-2.0
"""Plain text for a mailing list: Markdown of at most 72 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence

COLUMNS = 72
LEAST_LABEL = 6  # columns that a table's first cell keeps


def wrap(words: str, indent: str = "") -> list[str]:
    """Lines of a paragraph."""
    return textwrap.wrap(words, COLUMNS, initial_indent=indent, subsequent_indent=indent)


def item(words: str) -> list[str]:
    """Lines of a list's item."""
    return textwrap.wrap(f"- {words}", COLUMNS, subsequent_indent="  ")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,)
          ) -> list[str]:
    """A table whose columns are as wide as their cells; those in `left` hold words, the others
    numbers. Labels of the first column give way where it does not fit."""
    cells = [list(row) for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    spare = COLUMNS - sum(widths) - 3 * len(widths) - 1
    if spare < 0:
        widths[0] = max(LEAST_LABEL, widths[0] + spare)
        for row in cells:
            row[0] = _short(row[0], widths[0])

    def line(row: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) if i in left else cell.rjust(width)
                                 for i, (cell, width) in enumerate(zip(row, widths, strict=True))
                                 ) + " |"

    rule = "|" + "|".join("-" * (width + 1) + ("-" if i in left else ":")
                          for i, width in enumerate(widths)) + "|"
    return [line(cells[0]), rule, *map(line, cells[1:])]


def _short(label: str, width: int) -> str:
    """Shortened in its middle."""
    return label if len(label) <= width else label[:width - 4] + ".." + label[-2:]
