# SPDX-License-Identifier: Apache-2.0
"""Life-cycle costs, break-even, and the words of every branch."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Callable

import numpy as np
import pytest
from make_family import make_family_run
from make_series import series_run
from make_use import make_use_run
from pagemix_plots.answers import lifecycle, verdict
from pagemix_plots.answers.lifecycle import Life, Part
from pagemix_plots.run.fields import RunError
from pagemix_plots.run.load import Run, load_run

Load = Callable[..., Run]


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
    assert "cost the same within 0.5 %. It costs the same once" in words(1000, 100)
    assert words(1500, 60).endswith("Measured on m, domain strict, scattered chunks, memory low.")
    assert "cost the same" in words(1004, 100)
    assert "never pays off" in words(1006, 100)


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


def test_verdicts_of_a_run(run: Load) -> None:
    found = verdict.verdicts(run(mixes=("order0", "order4", "8-4-0", "9-4-0")))
    assert {(v.answer.base.mix, v.answer.other.mix) for v in found} == {
        ("8-4-0", "9-4-0"), ("order0", "order4")}
    nine = found[0]
    assert nine.short == "always" and nine.missing == ("free", "sync")
    assert nine.answer.extra == pytest.approx(400 * (5 - 85))  # the model's cost of a chunk


def test_use_patterns_and_memory(tmp_path: pathlib.Path) -> None:
    used = load_run(make_use_run(tmp_path / "use", map_families=True))
    assert lifecycle.part_of(used, "use_random", "order0", "scattered", 8 << 20).value == \
        pytest.approx(2048 * 1180)  # the largest working set
    series = series_run(tmp_path / "series")
    assert lifecycle.memories(series) == [lifecycle.FRESH, "fresh", "fragmented"]
    life = lifecycle.life(series, "8-4-0", "scattered", 10 << 20, lifecycle.EACH, "fragmented")
    assert set(life.once) == {"alloc"} and set(life.missing) == {
        "map_sgtable", "unmap_sgtable", "free", "sync"}


MAPS = tuple(f"{family}/mix:{{mix}}/layout:scattered/bytes:4096"
             for family in ("alloc", "map_sgtable", "unmap_sgtable"))
SYNCS = tuple(f"sync/mix:{{mix}}/layout:scattered/bytes:4096/op:{op}/direction:{direction}"
              for direction in ("to_device", "bidirectional") for op in ("begin", "end"))


def lives_of(folder: pathlib.Path, **names: tuple[str, ...]) -> Run:
    """Names of the mixes order0 and order4, in which {mix} is the mix; costs as make_family's:
    1002.5 for the first name and 10 more for each other."""
    return load_run(make_family_run(folder, [name.format(mix=mix) for mix, found in names.items()
                                             for name in found]))


def test_a_use_has_its_syncs(tmp_path: pathlib.Path) -> None:
    """Begin and end, both directions: names 6 and 7 of the seven of order0."""
    run = lives_of(tmp_path / "run", order0=MAPS + SYNCS, order4=MAPS + SYNCS)
    life = lifecycle.life(run, "order0", "scattered", 4096, lifecycle.EACH)
    assert {family: part.value for family, part in life.use.items()} == {
        "map_sgtable": 1012.5, "sync": 1052.5 + 1062.5, "unmap_sgtable": 1022.5}
    assert life.missing == ("free",)
    (found,) = verdict.verdicts(run, (("order0", "order4"),))
    assert found.answer.saving == -4 * 70  # map, begin, end, unmap: seven names later each
    assert "(map, sync and unmap)" in verdict.sentences(found)[1]
    (table,) = verdict.life_tables(run)
    assert table.rows()[0][:5] == ["mix", "allocate", "map", "sync", "unmap"]


def test_one_direction_or_one_half(tmp_path: pathlib.Path) -> None:
    run = lives_of(tmp_path / "run", order0=SYNCS[:3])
    sync = lifecycle.part_of(run, "sync", "order0", "scattered", 4096)
    assert sync is not None and sync.value == 1002.5 + 1012.5  # to_device: the other lacks its end
    half = lives_of(tmp_path / "half", order0=SYNCS[:1])
    assert lifecycle.part_of(half, "sync", "order0", "scattered", 4096) is None


def test_a_sync_of_one_side_is_compared_with_nothing(tmp_path: pathlib.Path) -> None:
    run = lives_of(tmp_path / "run", order0=MAPS + SYNCS, order4=MAPS)
    (found,) = verdict.verdicts(run, (("order0", "order4"),))
    assert found.answer.saving == -2 * 70
    assert found.missing == ("free", "sync")
    assert "not measured: free and sync." in verdict.sentences(found)[2]
    (table,) = verdict.life_tables(run)  # of sums that compare: without the sync of order0
    assert table.rows()[0][:4] == ["mix", "allocate", "map", "unmap"]
    assert [row[4] for row in table.rows()[1:]] == ["3,038", "3,248"]  # three names, 70 more each


def test_a_part_is_that_of_one_thread_and_the_runs_own_domain(tmp_path: pathlib.Path) -> None:
    plain = "map_sgtable/mix:order0/layout:scattered/bytes:4096"
    run = load_run(make_family_run(tmp_path / "run", [
        f"{plain}/threads:64", plain, f"{plain}/domain:lazy"]))
    part = lifecycle.part_of(run, "map_sgtable", "order0", "scattered", 4096)
    assert part is not None and part.value == 1012.5


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


def test_domain_modes_side_by_side(folder: Callable[..., pathlib.Path], program: pathlib.Path
                                   ) -> None:
    strict = folder("strict", mixes=("8-4-0", "9-4-0"))
    lazy = folder("lazy", mixes=("8-4-0", "9-4-0"), cost=lambda f, m, l: 1000.0)
    document = json.loads((lazy / "run.json").read_text())
    document["context"]["pagemix"]["iommu"]["domain_mode"] = "lazy"
    (lazy / "run.json").write_text(json.dumps(document))
    done = subprocess.run([program, "verdict", strict, lazy], capture_output=True, text=True,
                          check=True)
    words = " ".join(done.stdout.split())
    assert ("9-4-0 against 8-4-0, 10 MiB, mapped and unmapped for each use, memory as the run "
            "found it: smmuv3 (strict), strict: always; smmuv3 (lazy), lazy: equal") in words
    assert max(map(len, done.stdout.splitlines())) <= 72
