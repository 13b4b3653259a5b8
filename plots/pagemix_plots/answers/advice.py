# SPDX-License-Identifier: Apache-2.0
"""The answer for a reader who knows dma-buf and no more: which list to choose, and why."""

from __future__ import annotations

from ..run import names
from ..run.load import Run
from ..tables import tables
from . import headline, lifecycle, verdict
from .lifecycle import ALWAYS, EACH, EQUAL, FROM, NEVER, UNDECIDED, UNTIL
from .verdict import Verdict

# The lists that are under discussion, and what a first page is asked besides, most asked first.
MAIN = ("8-4-0", "9-4-0")
ASKED = (MAIN, ("order0", "order4"), ("8-0-0", "8-4-0"))
CAVEATS = {
    "instructions": "Guest instructions tell how much work the kernel does. They are not time: "
                    "cache misses, the bus and the IOMMU's own work do not show in them. What the "
                    "IOMMU was asked to do is counted exactly.",
    "hardware-ns": "Times hold for the machine they were measured on, and its load.",
}


def asked(run: Run) -> list[Verdict]:
    """The run's answers to ASKED, of the first size, mapped and unmapped for each use."""
    found = [v for v in verdict.verdicts(run, ASKED) if v.pattern == EACH.name]
    chosen = [next((v for v in found if (v.answer.base.mix, v.answer.other.mix) == pair), None)
              for pair in ASKED]
    return [one for one in chosen if one]


def advice(run: Run) -> tuple[str, ...]:
    """What to choose, why, and where that is otherwise; empty where the run cannot tell."""
    found = [v for v in verdict.verdicts(run, (MAIN,))
             if v.pattern == EACH.name and v.memory == lifecycle.FRESH]
    if not found:
        return ()
    return tuple(words for words in (choice(found[0]), why(run, found[0]), elsewhere(found))
                 if words)


def choice(found: Verdict) -> str:
    """One sentence: which of the two lists, for which number of uses."""
    base, other = found.answer.base.mix, found.answer.other.mix
    size = f"{names.bytes_words(found.bytes)} buffer"
    kind = found.answer.kind
    if kind == FROM:
        uses = verdict.uses_words(found.answer.uses, whole_up=True)
        return (f"For a {size} that is mapped for at least {uses}, choose {other}; for fewer, "
                f"{base}.")
    if kind == UNTIL:
        uses = verdict.uses_words(found.answer.uses, whole_up=False)
        return f"For a {size} that is mapped for at most {uses}, choose {other}; for more, {base}."
    return {
        ALWAYS: f"For a {size}, choose {other} over {base}, however often it is mapped.",
        NEVER: f"For a {size}, choose {base} over {other}, however often it is mapped.",
        EQUAL: f"For a {size} it makes no difference whether {base} or {other} is chosen.",
        UNDECIDED: f"For a {size} these runs do not decide between {base} and {other}.",
    }[kind]


def why(run: Run, found: Verdict) -> str:
    """What the IOMMU was given for the two lists, and what that makes of a map."""
    sides = []
    for life in (found.answer.base, found.answer.other):
        key = names.BufferKey(life.mix, found.layout, found.bytes, "warm")
        leaves = tables.leaves(run, key)
        cost = run.find("map_sgtable", key)
        if not leaves or cost is None:
            return ""
        sides.append((life.mix, tables.parts_words(leaves, tables.leaf_names(set(leaves))),
                      cost.summary))
    (base, base_leaves, base_cost), (other, other_leaves, other_cost) = sides
    if other_leaves == base_leaves:
        return (f"Both give the IOMMU the same page-table entries ({other_leaves}); mapping costs "
                f"{headline.compare_words(base_cost, other_cost, f'with {base}')} with {other}.")
    return (f"Why: with {other} the IOMMU gets {other_leaves} for its page-table entries, with "
            f"{base} {base_leaves}, so that mapping costs "
            f"{headline.compare_words(base_cost, other_cost)} with {other}.")


def elsewhere(found: list[Verdict]) -> str:
    """Sizes after the first at which the answer is another one."""
    first, *rest = found
    other = [one for one in rest if one.answer.kind != first.answer.kind]
    return "Not so at every size: " + " ".join(map(choice, other)) if other else ""


def numbers(found: list[Verdict]) -> tuple[str, ...]:
    """Sentences of answers, then what to keep in mind of all."""
    if not found:
        return ("No run has two mixes with an allocation, a map and an unmap of one size: there "
                "is no verdict yet.",)
    said = [verdict.sentences(one) for one in found]
    return (*(f"{lead} {costs}" for lead, costs, _ in said), said[-1][2])


def main_run(runs: list[Run]) -> int:
    """Place of the run that a first page speaks of: one with answers, of a board if there is one,
    behind an SMMUv3 (what the question is about), with the most to say, the first of equals."""
    said = [len(verdict.verdicts(run)) for run in runs]
    return max(range(len(runs)), key=lambda i: (
        said[i] > 0, runs[i].clock.kind == "hardware-ns", "smmu" in runs[i].iommu.driver, said[i],
        len(runs[i].benchmarks), -i))
