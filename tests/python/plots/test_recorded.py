# SPDX-License-Identifier: Apache-2.0
"""Runs of every family as the program writes them (scripts/record-runs) are read, and each
family has a figure and a table in the report."""

from __future__ import annotations

import pathlib

import pytest
from make_family import golden
from pagemix_plots.pages import report
from pagemix_plots.run.load import Run, load_run

# families-file of the script takes kernel `base`; it is not among the recorded runs yet.
NEEDS_BASE = {"file_map", "file_unmap"}
RUNS = pathlib.Path(__file__).resolve().parents[2] / "data" / "runs"


def families(names: list[str]) -> set[str]:
    return {name.split("/")[0] for name in names}


@pytest.fixture(scope="module")
def recorded() -> dict[str, Run]:
    return {folder.name: load_run(folder) for folder in sorted(RUNS.iterdir())}


def test_every_family_was_recorded(recorded: dict[str, Run]) -> None:
    known = families([name for _, names in golden() for name in names])
    found = families([name for run in recorded.values() for name in run.benchmarks])
    assert found == known - NEEDS_BASE


def test_each_family_has_a_figure_and_a_table(recorded: dict[str, Run], tmp_path: pathlib.Path
                                              ) -> None:
    page = report.write(list(recorded.values()), tmp_path).read_text(encoding="utf-8")
    for label, run in recorded.items():
        for family in families(list(run.benchmarks)):
            figures = list((tmp_path / "plots").glob(f"family-{family.replace('_', '-')}-*.svg"))
            assert figures, f"{label}: {family}"
            for figure in figures:
                assert figure.with_suffix(".csv").stat().st_size > 0
            assert family in page


def test_counts_of_qemu_are_those_predicted(recorded: dict[str, Run]) -> None:
    """What the tests of the reports read holds what a guest counts, not only costs."""
    compared = set()
    for run in recorded.values():
        for name, benchmark in run.benchmarks.items():
            predicted = benchmark.counter("tlbi_predicted")
            if predicted is None or "state:cold" in name:
                continue
            assert benchmark.counter("smmu_cmd_tlbi") == predicted, name
            compared.add(name.split("/")[0])
    assert compared == {"map_sgtable", "unmap_sgtable", "attach_map", "iova_link", "iova_unlink",
                        "vfio_map", "vfio_unmap"}
