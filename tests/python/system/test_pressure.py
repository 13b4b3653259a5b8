# SPDX-License-Identifier: Apache-2.0
"""Allocation under pressure in a guest of 1 GiB: what two policies of the system heap do.

The pressure profile's policies before and since Linux 6.4, fresh and fragmented, each with
and without attribution, in two boots.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import pytest

from boots import Boot, Run
from conftest import PROFILES, load

Entry = dict[str, Any]

BEFORE, SINCE = "8-4-0-mid", "8-4-0"
PARTS = ("part_compaction", "part_reclaim", "part_zero", "part_other", "part_rest")
OTHERS = ("kswapd", "kcompactd", "others", "idle", "interrupts")
ALLOCATIONS = 16
PAGES = 2560  # of 10 MiB


GUEST_OF_A_GIBIBYTE = ("--memory", "1G", "--module", "loop")
RUN = ["pagemix", "run", "--config", f"{PROFILES}/pressure.ini", "--memory", "fresh,fragmented",
       "--trace", "on,off", "--blocks", "1"]


def whole(folder: Path) -> Run:
    run = load(folder)
    assert run["context"]["pagemix"]["skipped"] == []
    return run


@pytest.fixture(scope="module")
def pressure_run(boot: Callable[..., Boot]) -> Callable[[int], Run]:
    """The n-th boot."""
    return functools.cache(lambda n: whole(boot(
        "smmuv3", [*RUN, "--mixes", f"{BEFORE},{SINCE}"], GUEST_OF_A_GIBIBYTE).out))


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
    assert all(entry["chunks_order8"] == 10 for entry in before + since)
    # A timer tick inside one allocation is 2 % of it.
    one, other = (median(entry["real_time"] for entry in entries) for entries in (before, since))
    assert one == pytest.approx(other, rel=0.02)


def test_chunks_fill_every_buffer(pressure_run: Callable[[int], Run]) -> None:
    for entry in pressure_run(1)["benchmarks"]:
        assert sum(entry.get(f"chunks_order{k}", 0) * 2**k for k in range(11)) == PAGES, \
            entry["name"]


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
    """That no event is missing, the kernel's own counts tell."""
    traced = [e for e in pressure_run(1)["benchmarks"] if "trace:off" not in e["name"]]
    assert len(traced) == 4 * ALLOCATIONS
    for entry in traced:
        assert entry["trace_lost"] == 0
        assert all(entry[part] >= 0 for part in PARTS), entry["name"]
        assert sum(entry[part] for part in PARTS) == pytest.approx(entry["real_time"], rel=0.03)
        assert sum(entry.get(f"off_{who}", 0) for who in OTHERS) == entry["part_other"]
        assert entry.get("compactions_async", 0) + entry.get("compactions_sync", 0) \
            == entry["compact_stall"], entry["name"]
        assert entry.get("reclaims", 0) == entry["allocstall"], entry["name"]
        assert entry["trace_overhead"] <= 0.03 * entry["real_time"], entry["name"]


def test_work_of_other_threads_is_told_apart(pressure_run: Callable[[int], Run]) -> None:
    """One CPU: an allocation that may reclaim wakes kswapd, which then takes the CPU."""
    before = series(pressure_run(1), BEFORE, "fragmented")
    assert total(before, "kswapd_wakeups") > 0
    assert total(before, "off_kswapd") > 0


def test_cost_of_tracing_is_small(pressure_run: Callable[[int], Run]) -> None:
    """Where nothing happens there is nothing to trace.

    A tick of the clock, which with tracing has more to do, falls into every other
    allocation or none: a quarter of them is without.
    """
    for mix in (BEFORE, SINCE):
        on, off = ([e["real_time"] for e in series(pressure_run(1), mix, "fresh", trace)]
                   for trace in ("on", "off"))
        assert quantiles(on)[0] == pytest.approx(quantiles(off)[0], rel=0.005)
        assert median(on) == pytest.approx(median(off), rel=0.03)


def test_a_heap_by_the_plain_interface_gets_the_same(boot: Callable[..., Boot]) -> None:
    """The same heap by another name: measured as any dma-heap, chunks from trace events."""
    run = whole(boot(
        "smmuv3", ["ln", "-s", "pagemix", "/dev/dma_heap/plain", "--then", *RUN, "--mixes", SINCE,
                   "--heap", "/dev/dma_heap/pagemix,/dev/dma_heap/plain"],
        GUEST_OF_A_GIBIBYTE).out)
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
