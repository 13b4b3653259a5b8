# SPDX-License-Identifier: Apache-2.0
"""The advice in every branch, and which run a first page speaks of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pagemix_plots.answers import advice, lifecycle, verdict
from pagemix_plots.answers.lifecycle import Life, Part
from pagemix_plots.run.load import Run

Load = Callable[..., Run]
PAIR: dict[str, Any] = {"mixes": ("8-4-0", "9-4-0"), "layouts": ("scattered",),
                        "families": ("alloc", "map_sgtable", "unmap_sgtable")}


def costs(alloc: float, use: float) -> Callable[[str, str, str], float]:
    """8-4-0 costs 10,000 once and 1,000 for each use; 9-4-0 what is given."""
    def cost(family: str, mix: str, layout: str) -> float:
        if family == "alloc":
            return alloc if mix == "9-4-0" else 10_000.0
        return (use if mix == "9-4-0" else 1_000.0) / 2
    return cost


@pytest.mark.parametrize("alloc, use, words", [
    (10_000, 400, "For a 10 MiB buffer, choose 9-4-0 over 8-4-0, however often it is mapped."),
    (12_000, 1_400, "For a 10 MiB buffer, choose 8-4-0 over 9-4-0, however often it is mapped."),
    (12_900, 400, "For a 10 MiB buffer that is mapped for at least 5 uses, choose 9-4-0; for "
                  "fewer, 8-4-0."),  # 2,900 / 600 = 4.8
    (7_100, 1_600, "For a 10 MiB buffer that is mapped for at most 4 uses, choose 9-4-0; for "
                   "more, 8-4-0."),
    (10_000, 1_000, "For a 10 MiB buffer it makes no difference whether 8-4-0 or 9-4-0 is "
                    "chosen."),
])
def test_the_choice(run: Load, alloc: float, use: float, words: str) -> None:
    assert advice.advice(run(cost=costs(alloc, use), **PAIR))[0] == words


def test_what_is_not_decided_is_said(run: Load) -> None:
    noisy = run(clock="hardware-ns", cost=lambda f, m, l: 1_000.0 + (m == "9-4-0") * 5,
                iterations=2, blocks=3, **PAIR)
    assert advice.advice(noisy)[0] == \
        "For a 10 MiB buffer these runs do not decide between 8-4-0 and 9-4-0."


def test_the_reason(run: Load) -> None:
    """The model's leaves of make_run.py; 5,000 / 200 = 25."""
    found = advice.advice(run(cost=costs(10_000, 400), **PAIR))
    assert found[1:] == ("Why: with 9-4-0 the IOMMU gets 5 x 2 MiB for its page-table entries, "
                         "with 8-4-0 2,560 x 4 KiB, so that mapping costs 2.5x less with 9-4-0.",)


def answer(size: int, once: float) -> verdict.Verdict:
    """Of two lists that cost the same to use; 8-4-0 costs 1,000 once."""
    lives = [Life(mix, {"alloc": Part.exactly(cost)}, {"map_sgtable": Part.exactly(100)})
             for mix, cost in (("8-4-0", 1000.0), ("9-4-0", once))]
    return verdict.Verdict("m", "strict", size, "scattered", "used", "low", "ns",
                           lifecycle.break_even(*lives))


def test_another_size_with_another_answer() -> None:
    found = [answer(10 << 20, 900), answer(64 << 20, 800), answer(1 << 20, 1200),
             answer(64 << 10, 1000)]
    assert advice.elsewhere(found) == (
        "Not so at every size: For a 1 MiB buffer, choose 8-4-0 over 9-4-0, however often it is "
        "mapped. For a 64 KiB buffer it makes no difference whether 8-4-0 or 9-4-0 is chosen.")
    assert advice.elsewhere(found[:2]) == "" == advice.elsewhere(found[:1])


def test_nothing_to_say(run: Load) -> None:
    assert advice.advice(run(mixes=("order0", "order4"))) == ()
    assert advice.numbers([]) == ("No run has two mixes with an allocation, a map and an unmap of "
                                  "one size: there is no verdict yet.",)


def test_the_run_of_a_first_page(run: Load) -> None:
    """Answers first, then a board, then an SMMU, then the first of equals."""
    virtio, smmu = run("a", machine="virtio-iommu", **PAIR), run("b", **PAIR)
    board = run("c", machine="virtio-iommu", clock="hardware-ns", guest=False, **PAIR)
    mute = run("d", clock="hardware-ns", mixes=("order0",))
    assert advice.main_run([virtio, smmu]) == 1
    assert advice.main_run([smmu, virtio, board]) == 2
    assert advice.main_run([mute, virtio, virtio]) == 1
