# SPDX-License-Identifier: Apache-2.0
"""Writes runs of the use families for tests: the shape of a real run, numbers of a model."""

from __future__ import annotations

import pathlib
from typing import Any

import make_run
import numpy as np

WINDOWS = [k << 10 for k in (16, 32, 64, 128, 256, 512, 768, 896, 1024, 1152, 1280, 1536, 2048,
                             4096, 8192)]
ORDERS = ("order0", "order4", "order8", "order9")


def entry(name: str, samples: np.ndarray, block: int, counters: dict[str, float],
          clock: str) -> dict[str, Any]:
    return {"name": name, "run_name": name, "run_type": "iteration", "repetitions": 1,
            "repetition_index": block, "threads": 1, "iterations": len(samples),
            "real_time": float(samples.mean()), "cpu_time": float(samples.mean()),
            "time_unit": "ns", "label": f"clock:{clock}", "median": float(np.median(samples)),
            **counters}


def misses(mix: str, window: int, reach: int) -> float:
    """Of one access: a cache of 256 leaves, emptied when full; order 9 has leaves of 2 MiB."""
    return 0.0 if mix == "order9" or window <= reach else 1.0


def make_use_run(folder: pathlib.Path, *, counted: bool = True, clock: str = "instructions",
                 reach: int = 1 << 20, noise: float = 0.0, machine: str = "smmuv3",
                 map_families: bool = False) -> pathlib.Path:
    """A run with use_random, use_column, use_stream and use_pipeline."""
    rng = np.random.default_rng(11)
    families = ("map_sgtable",) if map_families else ()
    document, arrays = make_run.build(make_run.Options(
        machine=machine, clock=clock, mixes=ORDERS, families=families))
    entries = document["benchmarks"]
    iterations = 6

    def add(name: str, cost: float, counters: dict[str, float]) -> None:
        samples = np.round(cost * (1 + noise * rng.standard_normal(iterations)), 3)
        arrays[name] = samples
        entries.append(entry(name, samples, 0, counters, clock))

    for mix in ORDERS:
        base = f"/mix:{mix}/layout:scattered/bytes:{8 << 20}"
        for window in WINDOWS:
            count = window // 4096
            each = misses(mix, window, reach)
            counters = {"accesses": float(count)}
            if counted:
                counters |= {"iotlb_miss": each * count, "iotlb_hit": (4 - each) * count}
            add(f"use_random{base}/window:{window}", count * (900 + 280 * each), counters)
        slow = 300.0 if mix != "order9" else 0.0
        counts = {"iotlb_miss": 250.0 if slow else 0.0} if counted else {}
        add(f"use_column{base}/frame:1920x1080-nv12", 1000 * (800 + slow),
            {"accesses": 1000.0, **counts})
        add(f"use_stream{base}/depth:32", 64 * 500.0, {"accesses": 64.0, **counts})
        for way in ("kept", "each"):
            cost = {"order0": 1_700_000.0, "order4": 170_000.0, "order8": 73_000.0,
                    "order9": 2_800.0}[mix] * (way == "each")
            parts = {"map": cost, "dma": 900_000.0, "sync": 4_000.0,
                     "unmap": 10_752.0 * (way == "each")}
            add(f"use_pipeline{base}/frame:3840x2160-nv12/frames:8/map:{way}",
                sum(parts.values()) + 1000, {f"part_{k}": v for k, v in parts.items()})
    return make_run.write(folder, document, arrays)
