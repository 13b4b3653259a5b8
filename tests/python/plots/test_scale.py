# SPDX-License-Identifier: Apache-2.0
"""Ten million samples are loaded, summarised and drawn in seconds and within 2 GiB."""

from __future__ import annotations

import json
import pathlib
import subprocess

import make_run
import numpy as np

MEASURE = """
import pathlib, resource, sys, time
sys.path.insert(0, sys.argv[1])
from pagemix_plots.pages import report
from pagemix_plots.run.load import load_run
run = load_run(sys.argv[2])
report.write([run], pathlib.Path(sys.argv[3]))
used = resource.getrusage(resource.RUSAGE_SELF)
print(sum(b.samples.size for b in run.benchmarks.values()), time.process_time(), used.ru_maxrss)
"""


def test_ten_million_samples(tmp_path: pathlib.Path, program: pathlib.Path) -> None:
    """Time of the processor, so that a busy machine does not fail it."""
    document, arrays = make_run.build(make_run.Options(
        clock="hardware-ns", blocks=10, iterations=62_500, layouts=("scattered",),
        mixes=("order0", "order4", "order8", "order9"),
        families=("alloc", "map_sgtable", "unmap_sgtable", "vfio_map")))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text(json.dumps(document))
    np.savez(tmp_path / "run" / "samples.npz", **arrays)
    done = subprocess.run(["/usr/bin/python3", "-c", MEASURE, program.parent, tmp_path / "run",
                           tmp_path / "out"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    samples, seconds, kib = done.stdout.split()
    assert int(samples) >= 10_000_000
    assert float(seconds) < 10
    assert int(kib) < 2 << 20
