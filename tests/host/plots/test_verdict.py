# SPDX-License-Identifier: Apache-2.0
"""Life-cycle costs, break-even, and the words of every branch."""

from __future__ import annotations

import pathlib
import statistics
import subprocess
from collections.abc import Callable

import numpy as np
import pytest
from make_use import make_use_run
from pagemix_plots import alloc_series, lifecycle, verdict
from pagemix_plots.fields import RunError
from pagemix_plots.lifecycle import Life, Part
from pagemix_plots.load import Run, load_run
from test_alloc_series import series_run

Load = Callable[..., Run]
TABLE = pathlib.Path(__file__).resolve().parents[2] / "data" / "heap-alloc-2023.csv"
# Measured on 6.12.95 arm64, SMMUv3, strict, 10 MiB scattered: map plus unmap.
KNOWN_USE = {0: 1_747_392 + 10_752, 4: 171_168 + 10_768, 8: 73_616 + 10_752, 9: 2_768 + 2_432}


def fixed(mix: str, once: float, use: float) -> Life:
    return Life(mix, {"alloc": Part.exactly(once)},
                {"map_sgtable": Part.exactly(use / 2), "unmap_sgtable": Part.exactly(use / 2)})


@pytest.mark.parametrize("other_once, other_use, kind, uses", [
    (1500, 60, lifecycle.FROM, 12.5), (500, 140, lifecycle.UNTIL, 12.5),
    (500, 60, lifecycle.ALWAYS, None), (1000, 60, lifecycle.ALWAYS, None),
    (500, 100, lifecycle.ALWAYS, None), (1500, 140, lifecycle.NEVER, None),
    (1500, 100, lifecycle.NEVER, None), (1000, 140, lifecycle.NEVER, None),
    (1000, 100, lifecycle.EQUAL, None),
])
def test_break_even_by_hand(other_once: float, other_use: float, kind: str, uses: float | None
                            ) -> None:
    found = lifecycle.break_even(fixed("a", 1000, 100), fixed("b", other_once, other_use))
    assert (found.kind, found.uses, found.agreed) == (kind, uses, 1.0)
    assert (found.low, found.high) == (uses, uses)
    if uses is not None:  # at that many uses both cost the same
        assert found.base.cost(uses) == pytest.approx(found.other.cost(uses))


def test_words_of_every_branch() -> None:
    def words(other_once: float, other_use: float) -> str:
        answer = lifecycle.break_even(fixed("a", 1000, 100), fixed("b", other_once, other_use))
        return " ".join(verdict.sentences(verdict.Verdict(
            "m", "strict", 10 << 20, "scattered", "used", "low", "ns", answer)))

    assert "b pays off against a from 13 uses on (95 %: 13). It costs 500 ns more once " \
        "(allocate) and 40 ns less for each use (map and unmap)." in words(1500, 60)
    assert "from the first use on" in words(1010, 60)
    assert "only up to 12 uses (95 %: 12). It costs 500 ns less once" in words(500, 140)
    assert "always pays off" in words(500, 60)
    assert "never pays off" in words(1500, 140)
    assert "cost the same within 0.1 %, the noise floor. It costs the same once" in words(1000, 100)
    assert words(1500, 60).endswith("Measured on m, domain strict, scattered chunks, memory low.")


def test_whole_uses() -> None:
    """Cheaper from the use after the break-even; still cheaper at the one before it."""
    assert verdict.uses_number(12.0, True) == "13" and verdict.uses_number(12.0, False) == "11"
    assert verdict.uses_number(0.2, True) == "1" and verdict.uses_number(0.2, False) == "0"


def test_a_spread_that_crosses_is_undecided() -> None:
    rng = np.random.default_rng(2)
    base = Life("a", {"alloc": Part.of(rng.normal(1000, 200, 20))}, {"map": Part.exactly(100)})
    other = Life("b", {"alloc": Part.of(rng.normal(1010, 200, 20))}, {"map": Part.exactly(60)})
    found = lifecycle.break_even(base, other)
    assert found.kind == lifecycle.UNDECIDED and 0.05 < found.agreed < 0.95
    said = verdict.sentences(verdict.Verdict("m", "lazy", 4096, "buddy", "used", "low", "ns",
                                             found))[0]
    assert "not decided whether b pays off against a" in said and "of the resamplings agree" in said


def test_interval_holds_the_break_even() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(100):
        base = Life("a", {"alloc": Part.of(rng.normal(1000, 30, 40), 1)},
                    {"map": Part.of(rng.normal(100, 5, 40), 2)})
        other = Life("b", {"alloc": Part.of(rng.normal(1500, 30, 40), 3)},
                     {"map": Part.of(rng.normal(60, 5, 40), 4)})
        found = lifecycle.break_even(base, other)
        assert found.kind == lifecycle.FROM
        hits += (found.low or 0) <= 12.5 <= (found.high or 0)
    assert hits >= 90


def test_published_allocations_and_known_map_costs() -> None:
    """First sets in low memory. By hand, microseconds and chunks of the table; one instruction is
    taken for one nanosecond, which is an assumption and only makes both one unit:

    8-4-0-mid: median 58,900 or so, orders 8 and 4 only; 8-4-0: about 1,700 and half order 0.
    """
    series = {s.policy: s for s in alloc_series.published(TABLE) if s.memory == "low"}
    lives: dict[str, Life] = {}
    by_hand: dict[str, tuple[float, float]] = {}
    for policy in ("8-4-0", "8-4-0-mid"):
        first = series[policy].sets[0]
        one = alloc_series.Series(policy, "low", "", (first,), "us", "published")
        use = lifecycle.by_shares(lifecycle.chunk_shares(one),
                                  {o: Part.exactly(c) for o, c in KNOWN_USE.items()})
        assert use is not None
        lives[policy] = Life(policy, {"alloc": Part.of(one.costs * 1000)}, {"map": use})
        pages = {o: sum(a.chunks.get(o, 0) for a in first) * 2 ** o for o in (8, 4, 0)}
        assert sum(pages.values()) == 16 * 2560
        by_hand[policy] = (1000 * statistics.median(a.cost for a in first),
                           sum(pages[o] * KNOWN_USE[o] for o in pages) / (16 * 2560))
    (base_once, base_use), (once, use_cost) = by_hand["8-4-0"], by_hand["8-4-0-mid"]
    found = lifecycle.break_even(lives["8-4-0"], lives["8-4-0-mid"])
    assert found.kind == lifecycle.FROM
    assert found.extra == pytest.approx(once - base_once)
    assert found.saving == pytest.approx(base_use - use_cost)
    assert found.uses == pytest.approx((once - base_once) / (base_use - use_cost))
    assert 50 < found.uses < 90  # some 60 ms more to allocate, some 0.8 M instructions less a use
    assert found.low is not None and found.high is not None and found.low < found.uses < found.high


def test_pooled_sets_of_the_table_are_undecided() -> None:
    """The second set of 8-4-0-mid never stalled: pooled, the median sits between two humps."""
    series = {s.policy: s for s in alloc_series.published(TABLE) if s.memory == "low"}
    lives = [Life(p, {"alloc": Part.of(series[p].costs)}, {"map": Part.exactly(use)})
             for p, use in (("8-4-0", 900.0), ("8-4-0-mid", 180.0))]
    assert lifecycle.break_even(*lives).kind == lifecycle.UNDECIDED


def test_known_map_costs_alone() -> None:
    """order 9 against order 4: 10 instructions for each instruction saved, worked by hand."""
    saving = KNOWN_USE[4] - KNOWN_USE[9]
    assert saving == 176_736
    found = lifecycle.break_even(fixed("order4", 0, KNOWN_USE[4]),
                                 fixed("order9", 10 * saving, KNOWN_USE[9]))
    assert found.uses == pytest.approx(10)


def test_verdicts_of_a_run(run: Load) -> None:
    found = verdict.verdicts(run(mixes=("order0", "order4", "8-4-0", "9-4-0")))
    assert {(v.answer.base.mix, v.answer.other.mix) for v in found} == {
        ("8-4-0", "9-4-0"), ("order0", "order4")}
    nine = found[0]
    assert nine.short == "always" and nine.missing == ("free",)
    assert nine.answer.extra == pytest.approx(400 * (5 - 85))  # the model's cost of a chunk


def test_use_patterns_and_memory(tmp_path: pathlib.Path) -> None:
    used = load_run(make_use_run(tmp_path / "use", map_families=True))
    assert lifecycle.part_of(used, "use_random", "order0", "scattered", 8 << 20).value == \
        pytest.approx(2048 * 1180)  # the largest working set
    series = series_run(tmp_path / "series")
    assert lifecycle.memories(series) == [lifecycle.FRESH, "fresh", "fragmented"]
    life = lifecycle.life(series, "8-4-0", "scattered", 10 << 20, lifecycle.EACH, "fragmented")
    assert set(life.once) == {"alloc"} and set(life.missing) == {"map_sgtable", "unmap_sgtable",
                                                                 "free"}


def test_chunks_that_came_out_are_what_is_mapped() -> None:
    """Half of the bytes in order 4, half in order 0: half of each cost."""
    use = lifecycle.by_shares({4: 0.5, 0: 0.5}, {4: Part.exactly(100), 0: Part.exactly(900)})
    assert use is not None and use.value == 500
    assert lifecycle.by_shares({4: 0.5, 0: 0.5}, {4: Part.exactly(100)}) is None
    assert lifecycle.by_shares({}, {}) is None


def test_command(folder: Callable[..., pathlib.Path], program: pathlib.Path) -> None:
    done = subprocess.run([program, "verdict", folder(), "--pair", "order0", "order9"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and "order9 against order0" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 72
    none = subprocess.run([program, "verdict", folder("b", mixes=("order0",))],
                          capture_output=True, text=True)
    assert none.returncode == 0 and "No verdict" in none.stdout
    noise = subprocess.run([program, "verdict", folder("c", clock="emulated-ns")],
                           capture_output=True, text=True)
    assert noise.returncode == 1 and "noise" in noise.stderr


def test_noise_gives_no_verdict(run: Load) -> None:
    with pytest.raises(RunError, match="no verdict"):
        verdict.verdicts(run(clock="emulated-ns"))
