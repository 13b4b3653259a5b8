# SPDX-License-Identifier: Apache-2.0
"""Stages of coherent allocations beside the published table."""

from __future__ import annotations

import pathlib

import make_run
import make_use
import numpy as np
import pytest
from pagemix_plots.answers import stages
from pagemix_plots.cli import main
from pagemix_plots.run.fields import RunError
from pagemix_plots.run.load import load_run

PUBLISHED = pathlib.Path(__file__).resolve().parents[3] / "data" / "iommu-dma-alloc-2018.csv"
PARTS = {"page_allocation": 700.0, "zeroing": 500.0, "cache_maintenance": 0.0, "iova": 20.0,
         "map": 150.0, "kernel_mapping": 100.0, "other": 30.0, "total": 1000.0}


def write(folder: pathlib.Path, traced: bool = True) -> pathlib.Path:
    document, arrays = make_run.build(make_run.Options(families=()))
    for size in (10 << 20, 4096):
        for op in ("alloc", "free"):
            name = f"coherent/bytes:{size}/attrs:default/op:{op}"
            counters = {f"stage_{part}": cost * size / 4096 for part, cost in PARTS.items()} \
                if traced and op == "alloc" else {}
            arrays[name] = np.full(3, 900.0)
            document["benchmarks"].append(make_use.entry(name, arrays[name], 0, counters,
                                                         "instructions"))
    return make_run.write(folder, document, arrays)


def test_rows_by_size(tmp_path: pathlib.Path) -> None:
    small, large = stages.of_run(load_run(write(tmp_path / "run")))
    assert (small.bytes, large.bytes) == (4096, 10 << 20)
    assert small.parts == PARTS
    assert small.median == 900


def test_the_published_table_is_read_as_it_stands() -> None:
    generic, memset, loop = stages.published(PUBLISHED)
    assert generic.variant == "generic __GFP_ZERO"
    assert generic.parts == {"page_allocation": 422, "cache_maintenance": 439, "total": 925}
    assert memset.parts["zeroing"] == 164
    assert loop.parts == {"page_allocation": 55, stages.ZERO_AND_FLUSH: 833}


def test_command_prints_both(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stages", str(write(tmp_path / "run")), "--published", str(PUBLISHED)]) == 0
    out = capsys.readouterr().out
    assert "| default | 4 KiB | 700 | 500 | 0 | 20 | 150 | 100 | 30 | 1,000 | 900 |" in out
    assert "| memset per scatterlist entry | 2.5 MiB | 56 | 164 | 236 | 500 |  |" in out
    assert "| clear_page in the flush loop | 2.5 MiB | 55 |  |  |  | 833 |" in out
    assert "In guest instructions:" in out and "In microseconds:" in out


def test_a_run_without_stages_says_so(tmp_path: pathlib.Path,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "run", traced=False)
    assert main(["stages", str(folder)]) == 1
    assert "no stages of coherent allocations" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "problem"), [
    ("", "line 1: want variant,bytes,stage,usec"),
    ("variant,bytes,stage,usec\n", "holds no row"),
    ("variant,bytes,stage,usec\na,1,sleep,2\n", "line 2: stage 'sleep': want one of"),
    ("variant,bytes,stage,usec\na,1,map,x\n", "line 2: want numbers"),
    ("variant,bytes,stage,usec\na,1,map\n", "line 2: want numbers"),
])
def test_a_bad_table_names_its_line(tmp_path: pathlib.Path, text: str, problem: str) -> None:
    file = tmp_path / "table.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match=problem):
        stages.published(file)
