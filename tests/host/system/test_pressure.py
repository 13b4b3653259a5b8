# SPDX-License-Identifier: Apache-2.0
"""Allocation under pressure in a guest of 1 GiB: what two policies of the system heap do.

The pressure profile's policies before and since Linux 6.4, fresh and fragmented, each with
and without attribution, in two boots.
"""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from conftest import GUEST, SOURCE

Run = dict[str, Any]
Entry = dict[str, Any]

BEFORE, SINCE = "8-4-0-mid", "8-4-0"
PARTS = ("part_compaction", "part_reclaim", "part_zero", "part_other", "part_rest")
ALLOCATIONS = 16
PAGES = 2560  # of 10 MiB


def boot(out: Path, *commands: str) -> Run:
    subprocess.run([GUEST, "run", "--machine", "smmuv3", "--memory", "1G", "--module", "loop", "--out", out, "--quiet",
                    "--", *commands], check=True, cwd=SOURCE)
    run: Run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert run["context"]["pagemix"]["skipped"] == []
    return run


@pytest.fixture(scope="module")
def pressure_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Run]:
    """The n-th boot."""
    done: dict[int, Run] = {}

    def run(n: int) -> Run:
        if n not in done:
            done[n] = boot(tmp_path_factory.mktemp("pressure") / str(n), "pagemix", "run",
                           "--config", "/etc/pagemix/profiles/pressure.ini",
                           "--mixes", f"{BEFORE},{SINCE}", "--memory", "fresh,fragmented",
                           "--trace", "on,off", "--blocks", "1")
        return done[n]

    return run


def series(run: Run, mix: str, memory: str, trace: str = "on", heap: str = "pagemix") -> list[Entry]:
    """The entries of one series, in order of allocation."""
    prefix = f"alloc_series/mix:{mix}/heap:{heap}/memory:{memory}/bytes:10485760"
    prefix += "/trace:off/allocation:" if trace == "off" else "/allocation:"
    found = {int(e["name"].removeprefix(prefix)): e for e in run["benchmarks"]
             if e["name"].startswith(prefix)}
    assert sorted(found) == list(range(1, ALLOCATIONS + 1)), prefix
    return [found[i] for i in sorted(found)]


def total(entries: list[Entry], counter: str) -> float:
    return sum(entry.get(counter, 0) for entry in entries)


def test_before_6_4_compacts_for_order_4_and_gets_more_of_it(
        pressure_run: Callable[[int], Run]) -> None:
    run = pressure_run(1)
    before, since = series(run, BEFORE, "fragmented"), series(run, SINCE, "fragmented")
    assert total(before, "compact_stall") > 0
    assert total(since, "compact_stall") == 0
    assert total(before, "part_compaction") > 0
    assert total(since, "part_compaction") == 0
    assert total(before, "chunks_order4") > 2 * total(since, "chunks_order4")
    assert total(since, "chunks_order0") > total(before, "chunks_order0")


def test_fresh_both_get_order_8_at_the_same_cost(pressure_run: Callable[[int], Run]) -> None:
    run = pressure_run(1)
    before, since = series(run, BEFORE, "fresh", "off"), series(run, SINCE, "fresh", "off")
    for one, other in zip(before, since):
        assert one["chunks_order8"] == other["chunks_order8"] == 10
        assert one["real_time"] == pytest.approx(other["real_time"], rel=0.02)


def test_chunks_fill_every_buffer(pressure_run: Callable[[int], Run]) -> None:
    for entry in pressure_run(1)["benchmarks"]:
        assert sum(entry.get(f"chunks_order{k}", 0) << k for k in range(11)) == PAGES, entry["name"]


def test_counts_are_those_of_another_boot(pressure_run: Callable[[int], Run]) -> None:
    one, two = ({e["name"]: e for e in pressure_run(n)["benchmarks"]} for n in (1, 2))
    assert one.keys() == two.keys()
    counts = ("compact_stall", "compact_success", "compact_fail", "allocstall", "pgscan_direct",
              "compactions_async", "compactions_sync", "reclaimed_pages",
              *(f"chunks_order{k}" for k in range(11)), *(f"fails_order{k}" for k in range(11)))
    for name, entry in one.items():
        for count in counts:
            assert entry.get(count) == two[name].get(count), (name, count)


def test_parts_are_the_whole(pressure_run: Callable[[int], Run]) -> None:
    """On-CPU time is the scheduler's account, time off it the events': two sources."""
    traced = [e for e in pressure_run(1)["benchmarks"] if "trace:off" not in e["name"]]
    assert len(traced) == 4 * ALLOCATIONS
    for entry in traced:
        assert entry["trace_lost"] == 0
        assert all(entry[part] >= 0 for part in PARTS), entry["name"]
        assert sum(entry[part] for part in PARTS) == pytest.approx(entry["real_time"], rel=0.03)
        assert entry["off_kswapd"] + entry["off_kcompactd"] + entry["off_others"] \
            + entry["off_idle"] == entry["part_other"]


def test_work_of_other_threads_is_told_apart(pressure_run: Callable[[int], Run]) -> None:
    """One CPU: a heap that falls to order 0 wakes kswapd, which then takes the CPU."""
    since = series(pressure_run(1), SINCE, "fragmented")
    assert total(since, "kswapd_wakeups") > 0
    assert total(since, "off_kswapd") > 0


def test_cost_of_tracing_is_small_where_nothing_happens(pressure_run: Callable[[int], Run],
                                                        record_property: Any) -> None:
    run = pressure_run(1)
    for mix in (BEFORE, SINCE):
        for memory in ("fresh", "fragmented"):
            on, off = (median(e["real_time"] for e in series(run, mix, memory, trace))
                       for trace in ("on", "off"))
            record_property(f"tracing {mix} {memory}", on / off - 1)
            print(f"tracing adds {(on / off - 1) * 100:.2f} % to {mix} {memory}")
            assert on / off < (1.03 if memory == "fresh" else 1.25)


def test_a_heap_by_the_plain_interface_gets_the_same(tmp_path: Path) -> None:
    """The same heap by another name: measured as any dma-heap, chunks from trace events."""
    run = boot(tmp_path / "plain", "ln", "-s", "pagemix", "/dev/dma_heap/plain", "--then",
               "pagemix", "run", "--config", "/etc/pagemix/profiles/pressure.ini",
               "--heap", "/dev/dma_heap/pagemix,/dev/dma_heap/plain", "--mixes", SINCE,
               "--memory", "fresh,fragmented", "--trace", "on,off", "--blocks", "1")
    for memory in ("fresh", "fragmented"):
        chunks: dict[str, dict[str, float]] = defaultdict(dict)
        own = series(run, SINCE, memory)
        plain = series(run, "own", memory, heap="plain")
        for k in range(11):
            key = f"chunks_order{k}"
            assert total(own, key) == total(own, "traced_" + key), (memory, key)
            chunks["own"][key], chunks["plain"][key] = total(own, key), total(plain, key)
        assert sum(chunks["plain"][f"chunks_order{k}"] * 2**k for k in range(11)) \
            == ALLOCATIONS * PAGES
        if memory == "fresh":
            assert chunks["own"] == chunks["plain"]
        costs = (median(e["real_time"] for e in entries) for entries in (
            series(run, SINCE, memory, "off"), series(run, "own", memory, "off", "plain")))
        one, other = costs
        assert one == pytest.approx(other, rel=0.05)
