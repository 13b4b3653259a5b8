# SPDX-License-Identifier: Apache-2.0
"""Comparisons: verdicts, refusals, text that fits a mail, exit codes."""

from __future__ import annotations

import pathlib
import re
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from make_use import make_use_run
from pagemix_plots.answers import compare, noise
from pagemix_plots.answers.noise import Floor
from pagemix_plots.pages import compare_text
from pagemix_plots.run.fields import RunError
from pagemix_plots.run.load import Run, load_run
from pagemix_plots.stats import pairs

Load = Callable[..., Run]
FEW: dict[str, Any] = {"mixes": ("order0", "order4", "order9"),
                       "families": ("map_sgtable", "unmap_sgtable")}


def test_the_same_run_is_the_same(run: Load) -> None:
    found = compare.runs(run(**FEW), run("b", **FEW), "a", "b")
    assert {row.verdict for row in found.rows} == {compare.SAME}
    assert not found.counts and found.counted > 100 and not found.alone and not found.differs
    assert {row.floor for row in found.rows} == {noise.LEAST}


def test_a_slower_family_is_found_and_nothing_else(run: Load) -> None:
    slow = run("b", cost=lambda f, m, l: 12_000.0 if f == "unmap_sgtable" and m == "order0" else
               None, **FEW)
    found = compare.runs(run(**FEW), slow, "a", "b")
    worse = [row for row in found.rows if row.verdict != compare.SAME]
    assert {(r.name.family, dict(r.name.params)["mix"]) for r in worse} == {
        ("unmap_sgtable", "order0")}
    assert {row.verdict for row in worse} == {compare.WORSE}
    assert worse[0].part == pytest.approx(12_000 / 10_752 - 1)
    assert len(found.regressions(0.10)) == 2 and not found.regressions(0.12)
    back = compare.runs(slow, run("c", **FEW), "b", "a")
    assert {r.verdict for r in back.rows} == {compare.SAME, compare.BETTER}


def test_few_samples_are_not_judged(run: Load) -> None:
    few = dict(FEW, blocks=1, iterations=3)
    found = compare.runs(run(**few), run("b", **few), "a", "b")
    assert {row.verdict for row in found.rows} == {compare.FEW}


def test_shifts_below_the_floor_are_no_difference() -> None:
    rng = np.random.default_rng(1)
    shift = pairs.compare(rng.normal(100, 1, 5000), rng.normal(101, 1, 5000))
    name = compare.names.parse("sample_cost/timer:user")
    for floor, verdict in ((0.02, compare.SAME), (0.005, compare.WORSE)):
        (row,) = compare.judge([(name, name, shift)], Floor({"sample_cost": floor}))
        assert (row.floor, row.verdict) == (floor, verdict)


def test_the_floor_is_that_of_the_halves(run: Load) -> None:
    assert noise.within([run(blocks=1)]).of_group("map_sgtable, scattered") == noise.LEAST
    many = dict(FEW, blocks=20, iterations=40)
    quiet, loud = (
        noise.within([run(clock, clock=clock, **many)]).of_group("map_sgtable, scattered")
        for clock in ("hardware-ns", "emulated-ns"))
    assert noise.LEAST < quiet < 0.01 < loud


def test_a_group_has_its_own_floor() -> None:
    """Of one that A/A did not see, the largest is taken; less than LEAST is not claimed."""
    floor = Floor({"map_sgtable": 0.0, "alloc": 0.05})
    assert [floor.of_group(f) for f in ("map_sgtable", "alloc", "vfio_map")] == [
        noise.LEAST, 0.05, 0.05]
    both = floor.join(Floor({"map_sgtable": 0.01, "alloc": 0.02}, source="boots"))
    assert both.by_group == {"map_sgtable": 0.01, "alloc": 0.05}
    assert Floor().of_group("alloc") == noise.LEAST


def test_a_benchmark_that_drifts_has_a_floor_of_its_own() -> None:
    """Nine stand still and one moves by half: 4/5 of ten stay below 0. Compared with another, the
    larger of both holds."""
    ten = [compare.names.parse(f"sample_cost/timer:t{n}") for n in range(10)]
    still, moved = (pairs.compare([100.0] * 9, [cost] * 9) for cost in (100.0, 150.0))
    floor = noise.floor_of([(name, moved if n == 3 else still) for n, name in enumerate(ten)], "")
    assert floor.by_group == {"sample_cost": 0.0}
    assert [floor.of(ten[n]) for n in (0, 3)] == [noise.LEAST, 0.5]
    assert floor.of(ten[0], ten[3]) == floor.of(ten[3], ten[0]) == 0.5


def test_boots_of_the_same_thing_raise_the_floor(run: Load) -> None:
    """Within each run every sample is the same; between them an allocation differs by 3 %."""
    options = dict(FEW, families=("map_sgtable", "alloc"))
    first, second, third = (run(name, cost=lambda f, m, l, c=cost: c if f == "alloc" else None,
                                **options)
                            for name, cost in (("a", 1000.0), ("b", 1030.0), ("c", 1020.0)))
    alone = compare.runs(first, third, "a", "c")
    assert {r.verdict for r in alone.rows if r.name.family == "alloc"} == {compare.WORSE}
    floor = noise.between([first, second])
    assert floor.by_group == {"sample_cost": 0.0} | {
        f"{family}, {layout}": pytest.approx(cost) for layout in ("scattered", "buddy")
        for family, cost in (("map_sgtable", 0.0), ("alloc", 0.03))}
    known = compare.runs(first, third, "a", "c", floor)
    assert {r.verdict for r in known.rows} == {compare.SAME}
    text = compare_text.text(known)
    assert "floor 3 %" in text and "floor 0.1 %" in text and noise.BETWEEN in " ".join(text.split())


def test_only_runs_of_the_same_thing_tell_a_floor(run: Load) -> None:
    with pytest.raises(RunError, match="a and .*b are not runs of the same thing: machine: smmuv3 "
                       "and virtio-iommu"):
        noise.between([run("a", **FEW), run("b", machine="virtio-iommu", **FEW)])


def test_no_difference_in_a_a(run: Load) -> None:
    """Resampled from one set of samples: at most one in twenty pairs of runs shows a difference."""
    rng = np.random.default_rng(8)
    pool = {b.name: b.samples for b in run(clock="hardware-ns", blocks=10, iterations=40,
                                           **FEW).benchmarks.values()}
    floor = noise.within([run("b", clock="hardware-ns", blocks=10, iterations=40, **FEW)])
    clean = sum(all(row.verdict == compare.SAME for row in compare.judge(
        [(name, name, pairs.compare(rng.choice(s, 200), rng.choice(s, 200)))
         for name, s in pool.items()], floor)) for _ in range(200))
    assert clean >= 190


def test_two_percent_of_a_thousand_samples_is_found(run: Load) -> None:
    rng = np.random.default_rng(9)
    one = run(clock="hardware-ns", blocks=10, iterations=100, mixes=("order0",),
              families=("map_sgtable",), layouts=("scattered",))
    (samples,) = [b.samples for b in one.benchmarks.values() if b.name.family == "map_sgtable"]
    name = compare.names.parse("sample_cost/timer:user")
    floor = noise.within([one])
    found = sum(compare.judge([(name, name, pairs.compare(rng.choice(samples, 1000),
                                                          rng.choice(samples, 1000) * 1.02))],
                              floor)[0].verdict == compare.WORSE for _ in range(200))
    assert samples.size == 1000 and found >= 190


def test_clocks_are_not_compared_but_counts_are(run: Load) -> None:
    found = compare.runs(run(**FEW), run("b", clock="hardware-ns", **FEW), "a", "b")
    assert not found.rows and found.counted > 100
    text = compare_text.text(found)
    assert "Clocks instructions and hardware-ns do not compare" in text
    assert re.search(r"Of \d+ counts that both have, 0 differ\.", text.replace("\n", " "))
    with pytest.raises(RunError, match="do not compare.*nor is there a count"):
        compare.runs(run("c", mixes=(), families=()),
                     run("d", clock="hardware-ns", mixes=(), families=()), "a", "b")


def test_noise_is_not_compared(run: Load) -> None:
    noisy = run(clock="emulated-ns", **FEW)
    assert "noise" in compare.runs(noisy, noisy, "a", "b").refused
    assert "noise" in compare.mixes(noisy, "a", "order0", "order4").refused


def test_machines_differ_in_counts(run: Load) -> None:
    found = compare.runs(run(**FEW), run("b", machine="virtio-iommu", **FEW), "smmuv3",
                         "virtio-iommu")
    assert ("machine", "smmuv3", "virtio-iommu") in found.differs
    assert ("IOMMU", "arm-smmu-v3", "virtio-iommu") in found.differs
    words = dict(compare_text.count_groups(found.counts))
    assert "smmu_cmd_tlbi: 6 -> 0" in words
    assert any(w.startswith("viommu_map: 0 -> 2,557") for w in words)


def test_mixes_within_a_run(run: Load) -> None:
    one = run(**FEW)
    found = compare.mixes(one, "smmuv3", "order0", "order9")
    row = next(r for r in found.rows if r.name.text.startswith(
        "map_sgtable/mix:order0/layout:scattered"))
    assert (row.shift.base_median, row.shift.other_median) == (1_652_800, 4_130)
    assert row.verdict == compare.BETTER
    assert any(c.counter == "leaves_2097152" and (c.base, c.other) == (0, 5) for c in found.counts)
    with pytest.raises(RunError, match="no benchmark of both mix order0 and mix nope; it has "
                       "order0, order4, order9"):
        compare.mixes(one, "smmuv3", "order0", "nope")


@pytest.mark.parametrize("make", ["plain", "use"])
def test_text_fits_a_mail(run: Load, tmp_path: pathlib.Path, make: str) -> None:
    if make == "use":
        one, two = (load_run(make_use_run(tmp_path / n, noise=0.02, map_families=True))
                    for n in "ab")
    else:
        one, two = run(), run("b", machine="virtio-iommu",
                              cost=lambda f, m, l: 1e9 if f == "alloc" else None)
    for found in (compare.runs(one, two, "one", "two"),
                  compare.mixes(one, "one", "order0", "order9")):
        text = compare_text.text(found)
        assert max(map(len, text.splitlines())) <= 72
        tables = [line for line in text.splitlines() if line.startswith("|")]
        assert len([line for line in tables if line.startswith("|-")]) == len(
            compare_text.grouped(found))
        assert text.isascii()


def test_a_table_line_by_hand(run: Load) -> None:
    text = compare_text.text(compare.mixes(run(**FEW), "smmuv3", "order0", "order4"))
    assert ("| scattered | 1.65 M | 167 k | -89.9 % | -89.9, -89.9 | better  |" in text
            or "| scattered | 1.65 M |  167 k | -89.9 % | -89.9, -89.9 | better  |" in text), text


def test_command(folder: Callable[..., pathlib.Path], program: pathlib.Path, tmp_path: pathlib.Path
                 ) -> None:
    one = folder(**FEW)
    two = folder("b", cost=lambda f, m, l: 12_000.0 if f == "unmap_sgtable" and m == "order0" else
                 None, **FEW)

    def compared(*args: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, "compare", *map(str, args)], capture_output=True, text=True)

    assert compared(one, two).returncode == 0
    assert compared(one, two, "--fail-above", 20).returncode == 0
    failed = compared(one, two, "--fail-above", 5)
    assert failed.returncode == 1 and "is worse by +11.6 %, more than 5 %" in failed.stderr
    assert compared(one).returncode == 1
    assert "want two runs" in compared(one).stderr
    aa = compared("--noise", one)
    assert aa.returncode == 0 and "| map_sgtable, scattered   | 3 | 0.1 % |     0 % |" in aa.stdout
    assert "all: noise floor" not in aa.stdout
    again = compared("--noise", one, one)
    assert again.returncode == 0 and "all: noise floor" in again.stdout
    assert compared(one, two, "--again", two, "--fail-above", 5).returncode == 0
    assert compared(one, two, "--fail-above", "-1").returncode == 2
    page = tmp_path / "page.html"
    assert compared(one, "--mixes", "order0", "order4", "--html", page).returncode == 0
    assert "http" not in page.read_text() and "verdict-better" in page.read_text()
