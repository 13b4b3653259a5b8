# SPDX-License-Identifier: Apache-2.0
"""Where the time of a coherent allocation goes, beside what was published."""

from __future__ import annotations

import csv
import pathlib
from dataclasses import dataclass

from ..run import names
from ..run.fields import RunError
from ..run.load import Run

FAMILY = "coherent"
# Column, and the word for it in published tables. Zeroing is a part of the page allocation here.
STAGES = {
    "page_allocation": ("page allocation", "page allocation"),
    "zeroing": ("of it zeroing", "memset"),
    "cache_maintenance": ("cache maintenance", "cache flush"),
    "iova": ("IOVA", "iova"),
    "map": ("map", "map"),
    "kernel_mapping": ("kernel mapping", "remap"),
    "other": ("rest", "rest"),
    "total": ("total, traced", "total"),
}
# One loop of both, in a published variant: belongs to no single column.
ZERO_AND_FLUSH = "zero and cache flush"


@dataclass(frozen=True)
class Row:
    """One way to allocate so many bytes: costs by stage in the table's unit."""

    variant: str
    bytes: int
    parts: dict[str, float]
    median: float | None = None  # of the calls that were not traced


def of_run(run: Run) -> list[Row]:
    """By size, then in the order of the run; benchmarks without stages are left out."""
    found: list[Row] = []
    for benchmark in run.benchmarks.values():
        params = dict(benchmark.name.params)
        if benchmark.name.family != FAMILY or params.get("op") != "alloc":
            continue
        values = {stage: benchmark.counter(f"stage_{stage}") for stage in STAGES}
        parts = {stage: value for stage, value in values.items() if value is not None}
        if "total" in parts:
            found.append(Row(params.get("attrs", "default"), int(params.get("bytes", "0")), parts,
                             benchmark.summary.median))
    return sorted(found, key=lambda row: row.bytes)


def published(file: pathlib.Path) -> list[Row]:
    """Reads a table `variant,bytes,stage,usec`; RunError names the line that is wrong."""
    words = {word: stage for stage, (_, word) in STAGES.items()} | {ZERO_AND_FLUSH: ZERO_AND_FLUSH}
    rows: dict[tuple[str, int], dict[str, float]] = {}
    try:
        with open(file, encoding="utf-8", newline="") as lines:
            reader = csv.DictReader(lines)
            if reader.fieldnames != ["variant", "bytes", "stage", "usec"]:
                raise RunError(f"{file}: line 1: want variant,bytes,stage,usec")
            for line in reader:
                where = f"{file}: line {reader.line_num}"
                if line["stage"] not in words:
                    raise RunError(f"{where}: stage {line['stage']!r}: "
                                   f"want one of {', '.join(words)}")
                try:
                    key = (line["variant"], int(line["bytes"]))
                    rows.setdefault(key, {})[words[line["stage"]]] = float(line["usec"])
                except (TypeError, ValueError):
                    raise RunError(f"{where}: want numbers of bytes and microseconds") from None
    except OSError as error:
        raise RunError(f"{file}: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise RunError(f"{file}: no table: {error}") from None
    if not rows:
        raise RunError(f"{file}: holds no row")
    return [Row(variant, size, parts) for (variant, size), parts in rows.items()]


def _table(rows: list[Row], unit: str) -> str:
    columns = [stage for stage in (*STAGES, ZERO_AND_FLUSH) if any(stage in r.parts for r in rows)]
    heads = [STAGES[stage][0] if stage in STAGES else stage for stage in columns]
    timed = any(row.median is not None for row in rows)
    lines = [["variant", "bytes", *heads, *(["median, not traced"] if timed else [])]]
    for row in rows:
        cells = [names.count_words(round(row.parts[stage])) if stage in row.parts else ""
                 for stage in columns]
        last = [] if not timed else \
            ["" if row.median is None else names.count_words(round(row.median))]
        lines.append([row.variant, names.bytes_words(row.bytes), *cells, *last])
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([f"In {unit}:", "", head, "|" + " --- |" * len(lines[0]), *body, ""])


def text(run: Run, label: str) -> str:
    """The stages of one run; why there are none, where there are none."""
    rows = of_run(run)
    if not rows:
        why = [f"{what}: {reason}" for what, reason in run.skipped if what.startswith(FAMILY)]
        raise RunError(f"{run.folder}: no stages of coherent allocations; "
                       + ("; ".join(why) or "measure the family coherent"))
    return f"{label}, Linux {run.kernel['release']}, {run.iommu.domain_mode} domain\n\n" \
        + _table(rows, run.clock.unit)


def published_text(rows: list[Row]) -> str:
    return "Published\n\n" + _table(rows, "microseconds")
