# SPDX-License-Identifier: Apache-2.0
"""Runs of several domain modes: names, their tables, and two modes compared."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest
from make_run import Options, build, write
from pagemix_plots.answers import compare
from pagemix_plots.pages import compare_text
from pagemix_plots.run import names
from pagemix_plots.run.fields import RunError
from pagemix_plots.run.load import load_run

COST = {"strict": 10_000.0, "lazy": 4_000.0, "identity": 900.0}
FAMILIES = ("map_sgtable", "unmap_sgtable")


def domain_run(folder: pathlib.Path, modes: tuple[str, ...], main: str) -> pathlib.Path:
    """A run that measured `modes`; `main` is its context's domain_mode."""
    document, arrays = None, {}
    for mode in modes:
        one, samples = build(Options(mixes=("order0", "order9"), layouts=("scattered",),
                                     families=FAMILIES, cost=lambda f, m, l, c=COST[mode]: c))
        renamed = {name: name if name.startswith("sample_cost") else f"{name}/domain:{mode}"
                   for name in samples}
        for entry in one["benchmarks"]:
            entry["name"] = entry["run_name"] = renamed[entry["name"]]
        if document is None:
            document = one
        else:
            document["benchmarks"] += [e for e in one["benchmarks"]
                                       if not e["name"].startswith("sample_cost")]
        arrays |= {renamed[name]: data for name, data in samples.items()}
    assert document is not None
    document["context"]["pagemix"]["iommu"] |= {"domain_mode": main, "domain_modes": list(modes)}
    return write(folder, document, arrays)


def test_a_part_of_the_runs_own_mode_is_no_part() -> None:
    text = "map_sgtable/mix:order0/layout:buddy/bytes:4096/state:cold/domain:lazy"
    assert names.without_domain(text, "lazy") == text.removesuffix("/domain:lazy")
    assert names.without_domain(text, "strict") == text


def test_the_runs_own_mode_fills_its_tables(tmp_path: pathlib.Path) -> None:
    run = load_run(domain_run(tmp_path / "a", ("strict", "lazy"), "strict"))
    assert len(run.benchmarks) == 2 * 2 * 2 + 2
    key = run.keys[0]
    found = run.find("map_sgtable", key)
    assert found is not None and np.median(found.samples) == COST["strict"]


def test_a_run_of_one_mode_compares_with_an_old_one(tmp_path: pathlib.Path) -> None:
    """Names of a run without the key have no part; of either mode the buffers are the same."""
    old = load_run(write(tmp_path / "old", *build(Options(
        mixes=("order0", "order9"), layouts=("scattered",), families=FAMILIES))))
    for mode in ("strict", "lazy"):
        run = load_run(domain_run(tmp_path / mode, (mode,), mode))
        found = compare.runs(old, run, "old", mode)
        assert len(found.rows) == 2 * 2 + 2 and not found.alone
        assert ("domain mode" in [what for what, *_ in found.differs]) == (mode == "lazy")


@pytest.mark.parametrize(("base", "other"), [("strict", "lazy"), ("lazy", "strict"),
                                             ("identity", "lazy")])
def test_two_modes_of_a_run_compare(tmp_path: pathlib.Path, base: str, other: str) -> None:
    run = load_run(domain_run(tmp_path / "a", ("strict", "lazy", "identity"), "strict"))
    found = compare.domains(run, "smmuv3", base, other)
    assert len(found.rows) == 4  # families and mixes; not the cost of a sample
    for row in found.rows:
        assert row.part == pytest.approx(COST[other] / COST[base] - 1)
    assert f"smmuv3, {base}" in compare_text.text(found)


@pytest.mark.parametrize(("base", "other"), [("strict", "identity"), ("strict", "strict")])
def test_a_mode_that_was_not_measured_is_named(tmp_path: pathlib.Path, base: str,
                                               other: str) -> None:
    run = load_run(domain_run(tmp_path / "a", ("strict", "lazy"), "strict"))
    with pytest.raises(RunError, match=f"no benchmark of both domain mode {base} and domain mode "
                                       f"{other}; it has lazy, strict"):
        compare.domains(run, "smmuv3", base, other)


def test_the_same_benchmark_twice_is_refused(tmp_path: pathlib.Path) -> None:
    folder = domain_run(tmp_path / "a", ("strict",), "strict")
    document = json.loads((folder / "run.json").read_text())
    twice = [dict(e, name=names.without_domain(e["name"], "strict"))
             for e in document["benchmarks"] if "/domain:" in e["name"]]
    document["benchmarks"] += twice
    (folder / "run.json").write_text(json.dumps(document))
    with pytest.raises(RunError, match="twice for map_sgtable"):
        load_run(folder)
