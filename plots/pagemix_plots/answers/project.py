# SPDX-License-Identifier: Apache-2.0
"""Projections: a guest's instructions and event counts priced by a hardware profile.

A projection is no measurement. It is an interval, made of published costs of
single events; it knows nothing of caches, queues and overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..models import iotlb
from ..models.hardware import INSTRUCTION, Hardware, Range
from ..run import counters, names
from ..run.fields import RunError
from ..run.load import Benchmark, Run
from ..tables import mail, tables, tables_use

HEAD = "PROJECTION"
CONTIGUOUS = 1 << 16 | 1 << 25  # contiguous-hint sizes on a 4 KiB granule: 64 KiB and 32 MiB
# Half of a cycle carries the cycle's events: the invalidations are the unmap's.
_INVALIDATIONS = tuple(c.name for c in counters.KNOWN if c.half == "unmap")
_MAPS = tuple(c.name for c in counters.KNOWN if c.half == "map")
_COMMANDS = {"unmap_sgtable": _INVALIDATIONS, "vfio_unmap": _INVALIDATIONS,
             "map_sgtable": _MAPS, "vfio_map": _MAPS}
FAMILIES = names.BUFFER_FAMILIES


@dataclass(frozen=True)
class Term:
    """One kind of event: how many, at which price."""

    event: str
    count: float
    ns: Range


@dataclass(frozen=True)
class Projection:
    benchmark: Benchmark
    terms: tuple[Term, ...]
    unpriced: tuple[str, ...]  # events that were counted and that the profile has no price for

    @property
    def ns(self) -> Range:
        total = Range(0.0, 0.0)
        for term in self.terms:
            total = total.plus(term.ns)
        return total


def check_run(run: Run) -> None:
    if run.clock.kind != "instructions":
        raise RunError(f"{run.folder}: clock {run.clock.kind}: a projection is made from "
                       "instructions, of a guest under -icount")


def project(run: Run, hardware: Hardware) -> list[Projection]:
    """Each warm benchmark on a buffer. RunError unless the run counts instructions."""
    check_run(run)
    result: list[Projection] = []
    for benchmark in run.benchmarks.values():
        key = benchmark.name.key
        if benchmark.name.family not in FAMILIES or key is None or key.state != "warm":
            continue
        counts = {INSTRUCTION: benchmark.summary.median}
        for event in _COMMANDS.get(benchmark.name.family, ()):
            count = benchmark.counter(event)
            if count:
                counts[event] = count
        terms = [Term(event, count, hardware.prices[event].ns.times(count))
                 for event, count in counts.items() if event in hardware.prices]
        result.append(Projection(benchmark, tuple(terms), tuple(
            event for event in counts if event not in hardware.prices)))
    return sorted(result, key=lambda p: (FAMILIES.index(p.benchmark.name.family),
                                         run.mix_rank(p.benchmark.name.key.mix
                                                      if p.benchmark.name.key else ""),
                                         p.benchmark.name.text))


@dataclass(frozen=True)
class WhatIf:
    """A buffer with the page sizes the IOMMU has and with contiguous-hint sizes added."""

    mix: str
    layout: str
    bytes: int
    leaves: dict[int, int]
    leaves_with: dict[int, int]
    reach: Range  # bytes that the profile's IOTLB covers
    reach_with: Range


def what_if(run: Run, hardware: Hardware, add: int = CONTIGUOUS) -> list[WhatIf]:
    """Leaves and reach of each mapped, scattered buffer, from its chunks and page sizes."""
    page = run.page_size
    if page is None or not run.iommu.pgsize_bitmap:
        return []
    result: list[WhatIf] = []
    for key in run.keys:
        if key.state != "warm" or key.layout != "scattered":
            continue
        chunks = tables.chunks(run, key)
        if not chunks or any(count != round(count) for count in chunks.values()):
            continue
        sides = []
        for bitmap in (run.iommu.pgsize_bitmap, run.iommu.pgsize_bitmap | add):
            buffer = iotlb.MappedBuffer.of(1 << 32, list(_runs(chunks, page)), bitmap)
            sides.append((buffer.count(), _reach(buffer, key.bytes, hardware.entries)))
        result.append(WhatIf(key.mix, key.layout, key.bytes, sides[0][0], sides[1][0],
                             sides[0][1], sides[1][1]))
    return result


def _runs(chunks: dict[int, float], page: int) -> Iterator[int]:
    """Chunks as runs, the largest first: scattered chunks hardly ever touch."""
    for order, count in sorted(chunks.items(), reverse=True):
        for _ in range(round(count)):
            yield page << order


def _reach(buffer: iotlb.MappedBuffer, size: int, entries: Range) -> Range:
    """Bytes of the buffer that so many entries cover, by the mean leaf; all of it at most."""
    mean = size / len(buffer.leaves)
    return Range(min(float(size), mean * entries.low), min(float(size), mean * entries.high))


def _span(ns: Range) -> str:
    for unit, size in (("ms", 1e6), ("us", 1e3)):
        if ns.high >= size:
            return f"{ns.low / size:.3g} to {ns.high / size:.3g} {unit}"
    return f"{ns.low:.3g} to {ns.high:.3g} ns"


def text(run: Run, label: str, hardware: Hardware) -> str:
    """The projection of a run, 72 columns, headed as such."""
    found = project(run, hardware)
    lines = mail.wrap(f"{HEAD}, not a measurement: {label} priced as {hardware.title}")
    lines += ["", "Prices an event:"]
    for event, price in hardware.prices.items():
        span = f"{price.ns.low:g} to {price.ns.high:g} ns"
        lines += mail.item(f"{event}: {span} ({price.source})")
    for one in found:
        terms = " + ".join(f"{names.count_words(t.count)} {t.event}" for t in one.terms)
        lines += ["", *mail.wrap(f"{one.benchmark.name.text}: {_span(one.ns)}"),
                  *mail.wrap(terms, "  ")]
        if one.unpriced:
            lines += mail.wrap(f"  without {', '.join(one.unpriced)}: no price in the profile")
    wanted = what_if(run, hardware)
    if wanted:
        lines += ["", *mail.wrap(
            f"{HEAD}: leaves and IOTLB reach with contiguous-hint sizes of 64 KiB and 32 MiB; "
            f"{hardware.entries.low:g} to {hardware.entries.high:g} entries "
            f"({hardware.entries_source})")]
    for item in wanted:
        lines += mail.item(
            f"{item.mix}, {names.bytes_words(item.bytes)}: {_leaves(item.leaves)}, reach "
            f"{_bytes(item.reach)} -> {_leaves(item.leaves_with)}, reach {_bytes(item.reach_with)}")
    return "\n".join(lines) + "\n"


def _leaves(leaves: dict[int, int]) -> str:
    return tables.parts_words({k: float(v) for k, v in leaves.items()},
                              tables.leaf_names(set(leaves)))


def _bytes(span: Range) -> str:
    low, high = tables_use.round_bytes(span.low), tables_use.round_bytes(span.high)
    return low if low == high else f"{low} to {high}"
