# SPDX-License-Identifier: Apache-2.0
"""The allocations published in 2023 and the map costs of 2026 as one run, for tests.

Microseconds become nanoseconds. One guest instruction is taken for one
nanosecond: an assumption, which only gives both one unit.
"""

from __future__ import annotations

import csv
import pathlib
from typing import Any

import make_run
import make_use
import numpy as np

TABLE = pathlib.Path(__file__).resolve().parents[2] / "data" / "heap-alloc-2023.csv"
POLICY = {("8,4,0", "high,mid,low"): "8-4-0-mid", ("8,4,0", "high,high,low"): "8-4-0",
          ("8,0,0", "high,low,low"): "8-0-0"}
# Linux 6.12.95, arm64, SMMUv3, strict, 10 MiB in scattered chunks: map, unmap.
MAP_COSTS = {0: (1_747_392, 10_752), 4: (171_168, 10_768), 8: (73_616, 10_752), 9: (2_768, 2_432)}
CLOCK = "hardware-ns"


def write(folder: pathlib.Path, sets: tuple[str, ...] = ("1",)) -> pathlib.Path:
    """A run of the rows of these sets; a set is a block."""
    document, arrays = make_run.build(make_run.Options(clock=CLOCK, mixes=(), families=(),
                                                       guest=False))
    document["context"]["pagemix"]["mixes"] = {
        mix: make_run.MIXES[mix] for mix in (*POLICY.values(), *(f"order{o}" for o in MAP_COSTS))}
    entries: list[dict[str, Any]] = document["benchmarks"]
    samples: dict[str, list[float]] = {}
    with TABLE.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if row["set"] not in sets:
                continue
            name = (f"alloc_series/mix:{POLICY[row['orders'], row['gfp']]}/heap:pagemix/"
                    f"memory:{row['memory']}/bytes:{make_run.BYTES}/"
                    f"allocation:{row['allocation']}")
            cost = 1000.0 * int(row["usec"])
            entries.append(make_use.entry(
                name, np.array([cost]), len(samples.setdefault(name, [])),
                {f"chunks_order{o}": float(row[f"order{o}"]) for o in (8, 4, 0)}, CLOCK))
            samples[name].append(cost)
    for order, costs in MAP_COSTS.items():
        for family, cost in zip(("map_sgtable", "unmap_sgtable"), costs, strict=True):
            name = f"{family}/mix:order{order}/layout:scattered/bytes:{make_run.BYTES}"
            arrays[name] = np.full(5, float(cost))
            entries.append(make_use.entry(name, arrays[name], 0, {}, CLOCK))
    arrays |= {name: np.array(values) for name, values in samples.items()}
    return make_run.write(folder, document, arrays)
