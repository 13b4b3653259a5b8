# SPDX-License-Identifier: Apache-2.0
"""Writes runs of any benchmark names for tests; costs are of no model."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable

import make_run
import make_use
import numpy as np

# Every name that the program gives, for each list of options; a line with # begins one.
GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "unit" / "bench" / "data" / "names.txt"


def golden() -> list[tuple[str, list[str]]]:
    """Options and names."""
    found: list[tuple[str, list[str]]] = []
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            found.append((line[1:].strip(), []))
        elif line:
            found[-1][1].append(line)
    return found


def make_family_run(folder: pathlib.Path, names: Iterable[str], blocks: int = 1,
                    **counters: float) -> pathlib.Path:
    """Six samples of each name and block, around 1000 for the first and 10 more for each other."""
    document, arrays = make_run.build(make_run.Options(families=()))
    document["benchmarks"].clear()
    arrays.clear()
    for place, name in enumerate(names):
        part = 1000.0 + 10 * place + np.arange(6)
        arrays[name] = np.tile(part, blocks)
        document["benchmarks"] += [
            make_use.entry(name, part, block, counters, "instructions") for block in range(blocks)]
    return make_run.write(folder, document, arrays)
