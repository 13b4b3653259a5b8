# SPDX-License-Identifier: Apache-2.0
"""The published tables of 2023 through compare and verdict, against numbers worked out by hand.

In low memory, first sets, microseconds in order:

    8-4-0-mid  584 23015 25522 28428 31492 38798 57103 73360 |
               75889 76645 76953 84352 84551 89012 93452 100701   median 74624.5
    8-4-0      544 633 729 848 1000 1356 1358 1366 |
               1577 1635 1711 1884 1901 1911 1912 2638            median 1471.5

Of the 256 pairs 8-4-0-mid is dearer in 15 * 16 (all but its first row) and in one
more (584 against 544).

8-4-0-mid got 160 chunks of order 4 each time. 8-4-0 got, over its 16 buffers,

    order 8: 10 + 2                                      =    12 chunks,  3,072 pages
    order 4: 155 + 11 + 28 + 128 + 4 * 160 + 31          =   993 chunks, 15,888 pages
    order 0: 80 + 2384 + 6 * 2560 + 2112 + 2064          =               22,000 pages
    together                                                             40,960 pages

so that one map and unmap (order 0 1,758,144, order 4 181,936, order 8 84,368) costs

    (22,000 * 1,758,144 + 15,888 * 181,936 + 3,072 * 84,368) / 40,960 = 1,021,214.49

against 181,936: 839,278.49 saved for each use. Allocating costs 73,153,000 more:
73,153,000 / 839,278.49 = 87.16, cheaper from the 88th use on.
"""

from __future__ import annotations

import pathlib
import re
import statistics
import subprocess

import golden
import pytest
from pagemix_plots.answers import compare, lifecycle, verdict
from pagemix_plots.run.load import Run, load_run

PAIR = ("8-4-0", "8-4-0-mid")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return golden.write(tmp_path_factory.mktemp("golden") / "published-2023")


@pytest.fixture(scope="module")
def published(folder: pathlib.Path) -> Run:
    return load_run(folder)


def answer(run: Run, memory: str, pair: tuple[str, str] = PAIR) -> lifecycle.BreakEven:
    (found,) = [v for v in verdict.verdicts(run, (pair,)) if v.memory == memory]
    return found.answer


def test_reclaim_against_none_in_low_memory(published: Run) -> None:
    found = answer(published, "low")
    assert found.kind == lifecycle.FROM
    assert found.base.fixed.value == 1_471_500 and found.other.fixed.value == 74_624_500
    assert found.base.each.value == pytest.approx(1_021_214.49375)
    assert found.other.each.value == 181_936
    assert found.extra == 73_153_000
    assert found.saving == pytest.approx(839_278.49375)
    assert found.uses == pytest.approx(87.1618, abs=1e-3)
    assert found.low is not None and found.high is not None and found.low < 87 < found.high


def test_the_sentence(folder: pathlib.Path, program: pathlib.Path) -> None:
    done = subprocess.run([program, "verdict", folder, "--pair", *PAIR], capture_output=True,
                          text=True, check=True)
    words = " ".join(done.stdout.split())
    assert re.search(r"8-4-0-mid pays off against 8-4-0 from 88 uses on "
                     r"\(95 %: [\d,]+ to [\d,]+\)\. It costs 73,153,000 ns more once "
                     r"\(allocate\) and 839,278 ns less for each "
                     r"use \(map and unmap\)\.", words)
    # 1,471.5 us and 100 uses of 1,021,214 ns; 74,624.5 us and 100 uses of 181,936 ns.
    (low,) = [line for line in done.stdout.splitlines()
              if line.startswith("| 8-4-0 ") and "1.47 M" in line]
    assert [cell.strip() for cell in low.split("|")][-4:-1] == ["2.49 M", "11.7 M", "104 M"]
    (mid,) = [line for line in done.stdout.splitlines()
              if line.startswith("| 8-4-0-mid") and "74.6 M" in line]
    assert [cell.strip() for cell in mid.split("|")][2:-1] == [
        "74.6 M", "171 k", "10.8 k", "74.8 M", "76.4 M", "92.8 M"]


def test_order_0_instead_in_low_memory(published: Run) -> None:
    """8-0-0 got 2 chunks of order 8 once: (512 * 84,368 + 40,448 * 1,758,144) / 40,960 a use, and
    the median of its first set is (1,905 + 2,082) / 2 us: in order 840 845 875 967 1000 1699 1706
    1905 | 2082 2376 2397 2451 2554 3171 3347 3384."""
    found = answer(published, "low", ("8-0-0", "8-4-0"))
    assert found.base.fixed.value == 1_993_500
    assert found.base.each.value == pytest.approx((512 * 84_368 + 40_448 * 1_758_144) / 40_960)
    # Cheaper to allocate by the medians, and cheaper to use in every draw.
    assert found.likely == lifecycle.ALWAYS and 0.8 < found.agreed <= 1


def test_with_enough_memory(published: Run) -> None:
    """665 873 977 995 1089 1139 1148 1148 | 1151 1154 1158 1169 1174 1210 1264 1414: 1,149.5; of
    8-0-0: 441 747 1089 1176 1326 1330 1402 1449 | 1481 1487 2330 2469 2518 2758 3057 3271: 1,465.
    Its chunks: 10 + 10 + 2 of order 8, 5,632 pages; 2,048 + 13 * 2,560 = 35,328 of order 0."""
    found = answer(published, "enough", ("8-0-0", "8-4-0-mid"))
    assert (found.base.fixed.value, found.other.fixed.value) == (1_465_000, 1_149_500)
    assert found.base.each.value == pytest.approx(
        (5_632 * 84_368 + 35_328 * 1_758_144) / 40_960)
    assert found.kind == lifecycle.ALWAYS


def test_compare(published: Run) -> None:
    found = compare.mixes(published, "2023", *PAIR)
    (row,) = [r for r in found.rows if "memory:low" in r.name.text]
    assert row.shift.n == (16, 16)
    assert (row.shift.base_median, row.shift.other_median) == (1_471_500, 74_624_500)
    assert row.shift.superiority == 241 / 256
    assert row.verdict == compare.WORSE
    assert row.shift.shift == statistics.median(
        other - base for base in costs("8-4-0") for other in costs("8-4-0-mid"))


def costs(policy: str) -> list[float]:
    """Nanoseconds of the first set in low memory, read without the code that is tested."""
    orders, gfp = next(key for key, value in golden.POLICY.items() if value == policy)
    lines = [line for line in golden.TABLE.read_text().splitlines()
             if line.startswith(f'"{orders}","{gfp}",low,1,')]
    assert len(lines) == 16
    return [1000.0 * int(line.split('"')[4].split(",")[4]) for line in lines]


def test_compare_as_a_mail(folder: pathlib.Path, program: pathlib.Path) -> None:
    done = subprocess.run([program, "compare", folder, "--mixes", *PAIR, "--fail-above", "1000"],
                          capture_output=True, text=True)
    (line,) = [line for line in done.stdout.splitlines() if "74.6 M" in line]
    cells = [cell.strip() for cell in line.split("|")]
    assert cells[2:4] == ["1.47 M", "74.6 M"] and cells[-2] == "worse"
    assert done.returncode == 1 and "alloc_series/mix:8-4-0/" in done.stderr


def test_both_sets_together_are_undecided(tmp_path: pathlib.Path) -> None:
    """The second set of 8-4-0-mid never stalled: pooled, the median sits between two humps."""
    pooled = load_run(golden.write(tmp_path / "both", ("1", "2")))
    assert answer(pooled, "low").kind == lifecycle.UNDECIDED


@pytest.mark.parametrize("base, other, saving", [
    (0, 4, 1_576_208), (4, 8, 97_568), (4, 9, 176_736), (8, 9, 79_168)])
def test_known_map_costs(base: int, other: int, saving: int) -> None:
    """Ten times what a use saves is earned back by ten uses."""
    lives = [lifecycle.Life(f"order{order}", {"alloc": lifecycle.Part.exactly(once)}, {
        family: lifecycle.Part.exactly(cost) for family, cost in
        zip(("map_sgtable", "unmap_sgtable"), golden.MAP_COSTS[order], strict=True)})
        for order, once in ((base, 1_000_000.0), (other, 1_000_000.0 + 10 * saving))]
    found = lifecycle.break_even(*lives)
    assert (found.kind, found.uses, found.saving) == (lifecycle.FROM, pytest.approx(10), saving)
