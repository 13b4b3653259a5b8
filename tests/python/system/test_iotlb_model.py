# SPDX-License-Identifier: Apache-2.0
"""The IOTLB model on the accesses of a real run: what QEMU counted, to the last lookup."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from boots import Boot, Run
from conftest import load
from pagemix_guest.events import Parser
from pagemix_plots.models import iotlb, iotlb_replay
from test_use import BYTES, MIXES, PAGE, PURE, REACH, find


class Phases:
    """Replays a trace and notes what the model did in each phase."""

    def __init__(self, trace: Path) -> None:
        self.replay = iotlb_replay.Replay()
        self.counted: dict[str, tuple[int, int]] = {}  # hits, misses of the model
        self.parser = Parser()
        self._start = (0, 0)
        self._known = 0
        with trace.open("rb") as lines:
            self.parser.read(self._feed(lines))

    def _feed(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            self.replay.feed(line.decode("utf-8", "replace"))
            yield line
            self._look()

    def _look(self) -> None:
        """After a line: has a phase begun or ended with it?"""
        tlb, phases = self.replay.tlb, self.parser.phases
        if len(phases) > self._known:
            self._known = len(phases)
            self._start = (tlb.hits, tlb.misses)
        if phases and phases[-1].iterations and phases[-1].name not in self.counted:
            self.counted[phases[-1].name] = (tlb.hits - self._start[0], tlb.misses - self._start[1])


@pytest.fixture(scope="module")
def used(use_boot: Callable[..., Boot]) -> Boot:
    return use_boot("smmuv3", *REACH)


@pytest.fixture(scope="module")
def trace(used: Boot) -> Path:
    assert used.trace is not None
    return used.trace


@pytest.fixture(scope="module")
def run(used: Boot) -> Run:
    return load(used.out)


@pytest.fixture(scope="module")
def phases(trace: Path) -> Phases:
    return Phases(trace)


def test_every_lookup_of_the_boot_is_answered_alike(phases: Phases) -> None:
    replay = phases.replay
    assert replay.differing == 0
    assert (replay.tlb.hits, replay.tlb.misses) == (replay.hits, replay.misses)
    assert replay.hits > 50_000 and replay.misses > 5_000
    assert set(replay.levels) == {2, 3}


def test_the_model_empties_itself_when_qemu_does(phases: Phases) -> None:
    assert phases.replay.emptied == phases.replay.overflows > 10


def test_one_entry_more_or_less_would_differ(trace: Path) -> None:
    """So that the agreement above is no matter of course."""
    for entries in (255, 257):
        shape = iotlb.Shape(entries, policy=iotlb.FLUSH)
        with trace.open("r", encoding="utf-8", errors="replace") as lines:
            assert iotlb_replay.Replay(shape).read(lines).differing > 0


@pytest.mark.parametrize("mix", MIXES)
def test_counts_of_a_pass_are_those_of_the_run(run: Run, phases: Phases, mix: str) -> None:
    for pages in (4, 128, 240, 512, 2560):
        entry = find(run, "use_random", mix, window=pages * PAGE)
        hits, misses = phases.counted[entry["name"]]
        assert entry["iterations"] == 1
        assert (hits, misses) == (entry["iotlb_hit"], entry["iotlb_miss"])


@pytest.mark.parametrize("mix", PURE)
@pytest.mark.parametrize("pages", [4, 128, 240, 512])
def test_misses_follow_from_the_profile_alone(run: Run, mix: str, pages: int) -> None:
    """Without the trace: two passes of one page a command, in any order, and the queues' pages."""
    entry = find(run, "use_random", mix, window=pages * PAGE)
    leaf = 2 << 20 if mix == "order9" else PAGE
    if mix == "order8" and entry.get("leaves_2097152"):
        pytest.skip("two chunks of order 8 happen to lie side by side")
    order = iotlb.random_pages(pages * PAGE, PAGE, seed=1)
    assert np.unique(order).size == pages and BYTES >= pages * PAGE
    predicted = iotlb.drive_misses(iotlb.QEMU_SMMU, leaf, [order, order])[1]
    assert entry["iotlb_miss"] == pytest.approx(predicted, abs=4)
