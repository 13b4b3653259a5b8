# SPDX-License-Identifier: Apache-2.0
"""Words made from the numbers. Each sentence says what it compares and in what unit."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass

from ..run import names
from ..run.load import Run
from ..stats.stats import Summary
from ..tables import tables
from ..tables.tables import View
from . import check

SAME = 0.02  # medians closer than this are called the same
NOISE = "emulated time: noise, not evidence"


@dataclass(frozen=True)
class Headline:
    """`lead` is one sentence, `more` follow it; `warnings` are to be shown before both."""

    lead: str
    more: tuple[str, ...]
    warnings: tuple[str, ...]


def factor_words(factor: float) -> str:
    """A factor of at least 1: 10.21 -> '10.2x', 631.3 -> '631x'."""
    return f"{factor:.0f}x" if factor >= 100 else f"{factor:.1f}x"


def compare_words(base: Summary, other: Summary, what: str = "") -> str:
    """How `other` compares with `base`, to follow 'costs': '10.2x less', 'the same', ...

    `what` names the base: 'order 0' makes '10.2x less than order 0'.
    """
    than, same_as = (f" than {what}", f" as {what}") if what else ("", "")
    if base.median == other.median:
        return "the same" + same_as
    if base.median == 0 or other.median == 0:
        return ("more" if other.median else "less") + than + ", from or to nothing"
    ratio = other.median / base.median
    if abs(ratio - 1) < SAME:
        return f"the same{same_as} within {math.ceil(round(abs(ratio - 1) * 100, 6))} %"
    if _overlap(base, other):
        return f"neither provably more nor less{than} (the intervals overlap)"
    factor = max(ratio, 1 / ratio)
    change = factor_words(factor) if factor >= 1.5 else f"{abs(ratio - 1) * 100:.0f} %"
    text = f"{change} {'less' if ratio < 1 else 'more'}{than}"
    if base.low is None or other.low is None:
        text += f" (n = {min(base.n, other.n)}: too few for an interval)"
    return text


def _overlap(base: Summary, other: Summary) -> bool:
    """Whether the median's intervals meet; False when one is not known."""
    if base.low is None or base.high is None or other.low is None or other.high is None:
        return False
    return base.low <= other.high and other.low <= base.high


def place_words(run: Run) -> str:
    """The machine and what decides its numbers."""
    domain = {"none": "no IOMMU", "identity": "identity domain"}.get(
        run.iommu.domain_mode, run.iommu.domain_mode)
    driver = [run.iommu.driver] if run.iommu.driver not in ("", "none") else []
    return f"{run.machine} ({', '.join([*driver, 'Linux ' + run.kernel['release'], domain])})"


def headline(run: Run) -> Headline:
    """The headline of one run: its first size (names.size_rank), warm if that was measured."""
    warnings: list[str] = []
    if run.clock.is_noise:
        warnings.append(f"{run.machine}: {NOISE}. No cost is claimed from this run.")
    if not run.complete:
        warnings.append(f"{run.machine}: the run was interrupted; what it measured is shown.")
    for result in check.check_run(run):
        if result.mismatches:
            warnings.append(f"{run.machine}: {result.words} First: {result.mismatches[0].words}.")
    if not run.keys:
        return Headline(f"On {place_words(run)}, no buffer was measured.", (), tuple(warnings))
    view = min(tables.views([run], [run.machine]), key=lambda v: v.state != "warm")
    more = (_mixes(view), _leaves(view), _commands(view), _pinning(view), _domain(run))
    return Headline(_lead(view), tuple(text for text in more if text), tuple(warnings))


def _summary(view: View, family: str, mix: str) -> Summary | None:
    benchmark = view.run.find(family, view.key(mix, view.main_layout))
    return benchmark.summary if benchmark else None


def _buffer_words(view: View) -> str:
    cold = "cold " if view.state == "cold" else ""
    return f"{cold}{names.bytes_words(view.bytes)} buffer"


def _chunks_words(view: View, order: int) -> str:
    """'scattered order-4 chunks', or that nothing was shuffled."""
    if view.main_layout == "scattered":
        return f"scattered order-{order} chunks"
    return f"order-{order} chunks laid out as allocated"


def _lead(view: View) -> str:
    run, unit = view.run, view.run.clock.unit
    place = f"On {place_words(run)}"
    if run.clock.is_noise:
        return f"{place}, times were taken but mean nothing: {NOISE}."
    costs = {order: cost for order, mix in view.pure.items()
             if (cost := _summary(view, "map_sgtable", mix))}
    if not costs:
        return f"{place}, no single-order buffer was mapped with map_sgtable: nothing to compare."
    base = costs.pop(0, None)
    if base is None:
        words = names.list_words([f"{names.count_words(s.median)} at order {order}"
                                  for order, s in costs.items()])
        return (f"{place}, mapping a {_buffer_words(view)} costs {words} ({unit}); "
                "order 0 was not measured, so there is no ratio.")
    if not costs:
        return (f"{place}, mapping a {_buffer_words(view)} of {_chunks_words(view, 0)} costs "
                f"{names.count_words(base.median)} {unit}; no other order was measured.")
    parts: list[str] = []
    for order, cost in costs.items():
        numbers = f"{names.count_words(cost.median)} against {names.count_words(base.median)}"
        if not parts:
            text = (f"mapping a {_buffer_words(view)} of {_chunks_words(view, order)} costs "
                    f"{compare_words(base, cost, 'with order-0 chunks')} "
                    f"({numbers} {unit})")
        else:
            text = (f"order {order}: mapping {compare_words(base, cost)} "
                    f"({names.count_words(cost.median)})")
        parts.append(text + _unmap(view, order))
    return f"{place}, " + "; ".join(parts) + "."


def _unmap(view: View, order: int) -> str:
    base, cost = (_summary(view, "unmap_sgtable", view.pure[one]) for one in (0, order))
    if base is None or cost is None:
        return ""
    return f", unmapping {compare_words(base, cost)}"


def _mixes(view: View) -> str:
    """The order lists under discussion: 9,4,0 against 8,4,0."""
    if view.run.clock.is_noise:
        return ""
    parts: list[str] = []
    for family, verb in (("alloc", "allocating"), ("map_sgtable", "mapping"),
                         ("unmap_sgtable", "unmapping")):
        base, other = _summary(view, family, "8-4-0"), _summary(view, family, "9-4-0")
        if base and other:
            parts.append(f"{verb} costs {compare_words(base, other)}")
    return f"Mix 9-4-0 against 8-4-0: {', '.join(parts)}." if parts else ""


def _grouped(view: View, words_of: dict[str, str]) -> str:
    """Orders that share the same words are named together."""
    groups: dict[str, list[str]] = {}
    for order, mix in view.pure.items():
        if words_of.get(mix):
            groups.setdefault(words_of[mix], []).append(str(order))
    return "; ".join(f"order{'s' if len(orders) > 1 else ''} {names.list_words(orders)}: {words}"
                     for words, orders in groups.items())


def _leaves(view: View) -> str:
    found = {mix: tables.leaves(view.run, view.key(mix, view.main_layout)) for mix in view.mixes}
    sizes = {size for counts in found.values() for size in counts}
    words = _grouped(view, {mix: tables.parts_words(counts, tables.leaf_names(sizes))
                            for mix, counts in found.items() if counts})
    return f"IOMMU leaves granted, {view.main_layout}: {words}." if words else ""


def _commands(view: View) -> str:
    words = _grouped(view, {
        mix: tables.commands_words(tables.commands(view.run, view.key(mix, view.main_layout)))
        for mix in view.mixes})
    return (f"IOMMU commands of one map/unmap cycle, counted by QEMU: {words}." if words else "")


def _pinning(view: View) -> str:
    """A VFIO map pins every page first; say what that makes of the map's own cost."""
    if view.run.clock.is_noise:
        return ""
    parts: list[str] = []
    for order, mix in view.pure.items():
        own, whole = _summary(view, "map_sgtable", mix), _summary(view, "vfio_map", mix)
        if own and whole:
            parts.append(f"{compare_words(own, whole)} at order {order}")
    return ("A VFIO map also pins every page. Compared with map_sgtable, vfio_map costs "
            f"{names.list_words(parts)}." if parts else "")


def _domain(run: Run) -> str:
    return {
        "lazy": "The domain is lazy: unmap queues its invalidations, so its cost leaves them out.",
        "identity": "The domain is identity: nothing is mapped, costs are those of the DMA API.",
        "none": "No IOMMU translates for the device: costs are those of the DMA API.",
    }.get(run.iommu.domain_mode, "")


def text(runs: list[Run]) -> str:
    """The headline table as plain text, words first."""
    blocks: list[str] = []
    for run in runs:
        result = headline(run)
        lines = [line for warning in result.warnings
                 for line in textwrap.wrap(f"WARNING: {warning}", 100)]
        for sentence in (result.lead, *result.more):
            lines += textwrap.wrap(sentence, 100)
        blocks.append("\n".join(lines + [""] + _table(run)))
    return "\n\n".join(blocks) + "\n"


def _table(run: Run) -> list[str]:
    """One row a buffer: medians in the clock's unit and what the IOMMU did."""
    families = names.BUFFER_FAMILIES
    head = ["mix", "layout", "size", "state", *families, "runs", "leaves", "commands"]
    rows = [head]
    for key in run.keys:
        costs = [(b := run.find(family, key)) and names.count_words(b.summary.median) or "-"
                 for family in families]
        counts = tables.leaves(run, key)
        runs = tables.counter_of(run, key, "runs")
        rows.append([key.mix, key.layout, names.bytes_words(key.bytes), key.state, *costs,
                     "-" if runs is None else names.count_words(runs),
                     tables.parts_words(counts, tables.leaf_names(set(counts))) or "-",
                     tables.commands_words(tables.commands(run, key)) or "-"])
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    title = f"{run.machine}: medians in {run.clock.unit}"
    if run.clock.is_noise:
        title += f" ({NOISE})"
    numbers = range(4, 4 + len(families) + 1)
    return [title] + ["  ".join(
        cell.rjust(width) if column in numbers else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in rows]
