# SPDX-License-Identifier: Apache-2.0
"""configs/counters.ini: a new counter is in the report's words by a section there."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import make_run
from pagemix_plots.run import counters
from pagemix_plots.run.fields import RunError

SECTION = "\n[new_flush]\nevents = new_iommu_flush pages=\\d+\niommu = new\nword = NEW_FLUSH\n"


def test_one_section_puts_a_counter_into_the_report(tmp_path: pathlib.Path) -> None:
    document, arrays = make_run.build(make_run.Options(machine="smmuv3"))
    for entry in document["benchmarks"]:
        if "smmu_cmd_tlbi" in entry:
            entry["new_flush"] = 3.0
    run = make_run.write(tmp_path / "run", document, arrays)
    # A copy of the package beside a counters.ini with one section more.
    tree = tmp_path / "tree"
    package = pathlib.Path(counters.FILE).parents[1] / "plots"
    shutil.copytree(package, tree / "plots", ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "configs").mkdir()
    (tree / "configs" / "counters.ini").write_text(counters.FILE.read_text() + SECTION)
    script = ("import pathlib, sys\n"
              "from pagemix_plots.run import load, names\n"
              "from pagemix_plots.tables import tables\n"
              "from pagemix_plots.figures import figures\n"
              "run = load.load_run(pathlib.Path(sys.argv[1]))\n"
              "key = names.BufferKey('order0', 'scattered', 10 << 20, 'warm')\n"
              "print(tables.commands_words(tables.commands(run, key)), figures.MARKS['NEW_FLUSH'])")
    done = subprocess.run([sys.executable, "-c", script, str(run)], text=True, check=True,
                          capture_output=True,
                          env={**os.environ, "PYTHONPATH": str(tree / "plots")})
    assert "3 NEW_FLUSH" in done.stdout


@pytest.mark.parametrize(("text", "why"), [
    ("[a]\nhalf = both\n", "[a]: half: want map or unmap, found 'both'"),
    ("[a]\nword = A\npair = b\n", "[a]: pair: want a counter with a word"),
    ("[a]\npredicted = p\n", "[a]: iommu: missing"),
])
def test_a_bad_file_is_named(tmp_path: pathlib.Path, text: str, why: str) -> None:
    file = tmp_path / "counters.ini"
    file.write_text(text)
    with pytest.raises(RunError) as caught:
        counters.load(file)
    assert f"{file}: {why}" in str(caught.value)
