# SPDX-License-Identifier: Apache-2.0
"""Google Benchmark's own compare tool reads run.json."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

COMPARE = pathlib.Path("/usr/share/benchmark/compare.py")


def test_compare_reads_run_json(folder: Callable[..., pathlib.Path]) -> None:
    if not COMPARE.is_file():
        pytest.skip(f"no {COMPARE}: Debian package libbenchmark-tools is missing")
    name = "map_sgtable/mix:order0/layout:scattered/bytes:10485760"
    first = folder("a", mixes=("order0",), iterations=10)
    second = folder("b", mixes=("order0",), iterations=10, cost=lambda f, m, l: 826400.0)
    result = subprocess.run(
        [sys.executable, COMPARE, "--no-color", "benchmarks", first / "run.json",
         second / "run.json"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if line.startswith(name)]
    assert len(lines) >= 4  # one a block
    assert re.search(r"-0\.5000\s+-0\.5000\s+1652800\s+826400", lines[0]), lines[0]
