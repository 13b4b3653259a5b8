# SPDX-License-Identifier: Apache-2.0
"""The answer in words: which of two mixes pays off, from how many uses, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..run import names
from ..run.fields import RunError
from ..run.load import Run
from ..tables import mail, tables_use
from . import headline, lifecycle, noise
from .lifecycle import (ALWAYS, EACH, EQUAL, FRESH, FROM, NEVER, PATTERNS, UNDECIDED, UNTIL,
                        BreakEven)
from .noise import Floor

# Base and other: what the list discusses, most asked first.
PAIRS = (("8-0-0", "8-4-0"), ("8-4-0", "8-4-0-mid"), ("8-4-0", "9-4-0"), ("order0", "order4"),
         ("order4", "order9"))
USES = (1, 10, 100)  # of the table of lives


@dataclass(frozen=True)
class Verdict:
    """One question and its answer."""

    machine: str
    domain_mode: str
    bytes: int
    layout: str
    pattern: str
    memory: str
    unit: str
    answer: BreakEven

    @property
    def missing(self) -> tuple[str, ...]:
        """Parts of the life that one side or both have no number for."""
        return tuple(dict.fromkeys((*self.answer.base.missing, *self.answer.other.missing)))

    @property
    def short(self) -> str:
        """For a table: 'from 3 uses (2 to 4)', 'always', ..."""
        found = self.answer
        if found.kind in (FROM, UNTIL):
            count = uses_words(found.uses, whole_up=found.kind == FROM)
            text = f"{found.kind} {count}"
            if found.low is not None and found.high is not None:
                text += (f" ({uses_number(found.low, found.kind == FROM)} to "
                         f"{uses_number(found.high, found.kind == FROM)})")
            return text
        return found.kind


def uses_number(uses: float | None, whole_up: bool) -> str:
    """Break-even 2.3: cheaper from the 3rd use on, or until the 2nd."""
    if uses is None:
        return "?"
    whole = max(1, math.floor(uses) + 1) if whole_up else max(0, math.ceil(uses) - 1)
    return f"{whole:,}"


def uses_words(uses: float | None, *, whole_up: bool) -> str:
    return _uses(uses_number(uses, whole_up))


def _uses(number: str) -> str:
    return f"{number} use" + ("" if number == "1" else "s")


def verdicts(run: Run, pairs: tuple[tuple[str, str], ...] = PAIRS) -> list[Verdict]:
    """Every answer the run can give: by pair, size, use pattern and state of memory.

    RunError for a clock that is noise.
    """
    if run.clock.is_noise:
        raise RunError(f"{run.folder}: clock emulated-ns is noise, no verdict is made from it")
    result: list[Verdict] = []
    floor = noise.within([run])
    for size in lifecycle.sizes(run):
        known = lifecycle.mixes_of(run, size)
        for base, other in pairs:
            if base not in known or other not in known:
                continue
            for memory in lifecycle.memories(run):
                for pattern in PATTERNS:
                    found = _verdict(run, size, base, other, pattern, memory, floor)
                    if found:
                        result.append(found)
    return result


def _layout(run: Run) -> str:
    layouts = {b.name.key.layout for b in run.benchmarks.values() if b.name.key}
    return next(layout for layout in names.LAYOUTS if layout in layouts)


def _verdict(run: Run, size: int, base: str, other: str, pattern: lifecycle.Pattern,
             memory: str, floor: Floor) -> Verdict | None:
    """None where a use was not measured, or nothing of what is paid once."""
    if not tables_use.device_counts(run) and any(f.startswith("use_") for f in pattern.use):
        return None  # polling, not the device's work
    layout = _layout(run)
    lives = one, two = lifecycle.alike([lifecycle.life(run, mix, layout, size, pattern, memory)
                                        for mix in (base, other)])
    if any(set(pattern.use) - set(life.use) - set(lifecycle.OPTIONAL) for life in lives):
        return None
    if any(not life.once for life in lives) or len(set(map(len, (x.once for x in lives)))) > 1:
        return None
    return Verdict(run.machine, run.iommu.domain_mode, size, layout, pattern.name, memory,
                   run.clock.unit, lifecycle.break_even(one, two, lambda family: floor.of_group(
                       noise.group(family, layout))))


def sentences(found: Verdict) -> list[str]:
    """Two or three sentences: the answer, what it is made of, what to keep in mind."""
    answer = found.answer
    base, other = answer.base.mix, answer.other.mix
    buffer = f"a {names.bytes_words(found.bytes)} buffer that is {found.pattern}"
    lead = {
        FROM: f"For {buffer}, {other} pays off against {base} from "
              f"{_ordinal(answer.uses)} on{_interval(answer)}.",
        UNTIL: f"For {buffer}, {other} pays off against {base} only up to "
               f"{uses_words(answer.uses, whole_up=False)}{_interval(answer)}.",
        ALWAYS: f"For {buffer}, {other} always pays off against {base}.",
        NEVER: f"For {buffer}, {other} never pays off against {base}.",
        EQUAL: f"For {buffer}, {other} and {base} cost the same within "
               f"{answer.floor * 100:.2g} %.",
        UNDECIDED: f"For {buffer}, it is not decided whether {other} pays off against {base}: "
                   f"the medians say {_likely(answer)}, but only {answer.agreed * 100:.0f} % of "
                   "the resamplings agree.",
    }[answer.kind]
    return [lead, _costs(found), _caveat(found)]


def _ordinal(uses: float | None) -> str:
    number = uses_number(uses, True)
    return "the first use" if number == "1" else f"{number} uses"


def _interval(answer: BreakEven) -> str:
    if answer.low is None or answer.high is None:
        return ""
    up = answer.kind == FROM
    low, high = uses_number(answer.low, up), uses_number(answer.high, up)
    return f" (95 %: {low})" if low == high else f" (95 %: {low} to {high})"


def _likely(answer: BreakEven) -> str:
    if answer.likely in (FROM, UNTIL):
        up = answer.likely == FROM
        return f"{answer.likely} {uses_words(answer.uses, whole_up=up)}"
    return answer.likely


def _amount(difference: float, unit: str) -> str:
    if difference == 0:
        return "the same"
    number = names.count_words(abs(difference))
    words = unit.removesuffix("s") if number == "1" and unit.endswith("instructions") else unit
    return f"{number} {words} {'more' if difference > 0 else 'less'}"


def _costs(found: Verdict) -> str:
    answer = found.answer
    once = names.list_words([_part_words(name) for name in answer.other.once])
    each = names.list_words([_part_words(name) for name in answer.other.use])
    return (f"It costs {_amount(answer.extra, found.unit)} once ({once}) and "
            f"{_amount(-answer.saving, found.unit)} for each use ({each}).")


def _part_words(family: str) -> str:
    return {"alloc": "allocate", "map_sgtable": "map", "unmap_sgtable": "unmap",
            "use_column": "column pass", "use_random": "random pass",
            "use_stream": "streaming pass"}.get(family, family)


def _caveat(found: Verdict) -> str:
    state = (f"Measured on {found.machine}, domain {found.domain_mode}, {found.layout} chunks, "
             f"memory {found.memory}")
    if found.memory == FRESH:
        state += " (large chunks cost more where memory is short)"
    if found.unit == "guest instructions":
        state += ", in guest instructions: work of the kernel, not time, and the device's own is "\
                 "not in it"
    missing = [name for name in found.missing]
    if missing:
        state += f"; not measured: {names.list_words(missing)}"
    return state + "."


@dataclass(frozen=True)
class LifeTable:
    """What a buffer of each mix costs in its life, mapped and unmapped for each use."""

    bytes: int
    layout: str
    memory: str
    lives: tuple[lifecycle.Life, ...]

    @property
    def title(self) -> str:
        return (f"{names.bytes_words(self.bytes)}, {EACH.name}, {self.layout} chunks, memory "
                f"{self.memory}: medians, and the whole life by its uses")

    def rows(self, uses: tuple[int, ...] = USES) -> list[list[str]]:
        """A header, then a row a mix."""
        parts = [{**life.once, **life.use} for life in self.lives]
        families = [f for f in (*EACH.once, *EACH.use) if any(f in found for found in parts)]
        head = ["mix", *map(_part_words, families),
                *(_uses(f"{n:,}") for n in uses)]
        return [head, *([life.mix,
                         *(names.short_words(found[f].value) if f in found else "-"
                           for f in families),
                         *(names.short_words(life.cost(n)) for n in uses)]
                        for life, found in zip(self.lives, parts, strict=True))]


def life_tables(run: Run) -> list[LifeTable]:
    """A table for each size and state of memory in which all parts of a life were measured."""
    result: list[LifeTable] = []
    for size in lifecycle.sizes(run):
        for memory in lifecycle.memories(run):
            lives = [lifecycle.life(run, mix, _layout(run), size, EACH, memory)
                     for mix in lifecycle.mixes_of(run, size)]
            whole = lifecycle.alike([life for life in lives
                                     if set(life.missing) <= set(lifecycle.OPTIONAL)])
            if whole:
                result.append(LifeTable(size, _layout(run), memory, tuple(whole)))
    return result


def text(run: Run, label: str, pairs: tuple[tuple[str, str], ...] = PAIRS) -> str:
    """All answers of a run: what lives cost, then pair by pair from how many uses which is
    cheaper, with the sentences of the first use pattern."""
    found = verdicts(run, pairs)
    lines = mail.wrap(f"{label}: {headline.place_words(run)}, {run.clock.unit}")
    for table in life_tables(run):
        head, *rows = table.rows()
        lines += ["", *mail.wrap(table.title), "", *mail.table(head, rows)]
    if not found:
        lines += ["", *mail.wrap(
            "No verdict: the run has no two mixes with an allocation, a map and an unmap of the "
            f"same size among {', '.join(' and '.join(pair) for pair in pairs)}.")]
    caveat = ""
    for one in found:
        lead, costs, last = sentences(one)
        if caveat and last != caveat:
            lines += ["", *mail.wrap(caveat)]
        caveat = last
        lines += ["", *mail.wrap(
            f"{one.answer.other.mix} against {one.answer.base.mix}, "
            f"{names.bytes_words(one.bytes)}, {one.pattern}, memory {one.memory}: {one.short}")]
        if one.pattern == EACH.name or one.memory != FRESH:
            lines += [*mail.wrap(lead, "  "), *mail.wrap(costs, "  ")]
    lines += ["", *mail.wrap(caveat)] if caveat else []
    return "\n".join(lines) + "\n"


def across(runs: list[Run], run_labels: list[str], pairs: tuple[tuple[str, str], ...] = PAIRS
           ) -> str:
    """The same question asked of each run, which may differ by machine, kernel or domain mode."""
    asked: dict[str, list[str]] = {}
    for run, label in zip(runs, run_labels, strict=True):
        for one in verdicts(run, pairs):
            question = (f"{one.answer.other.mix} against {one.answer.base.mix}, "
                        f"{names.bytes_words(one.bytes)}, {one.pattern}, memory {one.memory}")
            asked.setdefault(question, []).append(f"{label}, {one.domain_mode}: {one.short}")
    lines = mail.wrap("Run by run, with the domain's mode:") + [""]
    for question, found in asked.items():
        lines += mail.item(f"{question}: {'; '.join(found)}")
    return "\n".join(lines) + "\n"
