# SPDX-License-Identifier: Apache-2.0
"""Runs with allocations one after another, for tests, and the published table of such."""

from __future__ import annotations

import pathlib

import make_run
import make_use
import numpy as np
from pagemix_plots.run.load import Run, load_run

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
TABLE = DATA / "heap-alloc-2023.csv"


def series_run(folder: pathlib.Path) -> Run:
    """Two policies in two states, two sets of 16; parts add up to the whole less 1 %."""
    document, arrays = make_run.build(make_run.Options(mixes=("8-4-0", "8-4-0-mid"), families=()))
    for mix in ("8-4-0", "8-4-0-mid"):
        for memory in ("fresh", "fragmented"):
            for number in range(1, 17):
                name = (f"alloc_series/mix:{mix}/heap:pagemix/memory:{memory}/bytes:10485760/"
                        f"allocation:{number}")
                samples = []
                for block in range(2):
                    stall = 2e6 if (mix, memory) == ("8-4-0-mid", "fragmented") else 0.0
                    cost = 6e5 + stall + 1000 * number + block
                    chunks = ({"chunks_order8": 10.0} if memory == "fresh" else
                              {"chunks_order4": 100.0, "chunks_order0": 960.0} if stall else
                              {"chunks_order4": 20.0, "chunks_order0": 2240.0})
                    parts = {"part_compaction": stall * 0.75, "part_reclaim": stall * 0.25,
                             "part_zero": 4e5, "part_other": 0.0, "part_rest": cost - stall - 4e5
                             - cost * 0.01}
                    document["benchmarks"].append(make_use.entry(
                        name, np.array([cost]), block, {**chunks, **parts}, "instructions"))
                    samples.append(cost)
                arrays[name] = np.array(samples)
    return load_run(make_run.write(folder, document, arrays))
