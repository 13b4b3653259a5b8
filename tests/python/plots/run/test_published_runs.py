# SPDX-License-Identifier: Apache-2.0
"""Adding a run to the published ones: its name, its content, what it replaces, what is refused."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pagemix_plots.run import published_runs
from pagemix_plots.run.fields import RunError
from pagemix_plots.run.load import load_run

Folder = Callable[..., pathlib.Path]
SMALL: dict[str, Any] = {"mixes": ("order0",), "families": ("map_sgtable",)}


@pytest.fixture
def results(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "README.md").write_text("index")
    return tmp_path / "results"


def names(results: pathlib.Path) -> list[str]:
    return sorted(path.name for path in results.iterdir())


def renamed(run: pathlib.Path, **changes: Any) -> pathlib.Path:
    """With other values in context.pagemix."""
    document = json.loads((run / "run.json").read_text())
    document["context"]["pagemix"].update(changes)
    (run / "run.json").write_text(json.dumps(document))
    return run


def kernel(release: str) -> dict[str, str]:
    return {"release": release, "version": "#1", "cmdline": ""}


def test_a_run_is_copied_under_its_name(folder: Folder, results: pathlib.Path,
                                        program: pathlib.Path) -> None:
    run = folder(**SMALL)
    (run / "report.html").write_text("made from the run")
    done = subprocess.run([program, "add", run, results], capture_output=True, text=True,
                          check=True)
    target = results / "2026-01-31-smmuv3-6.12.95+deb12-quick"
    assert done.stdout.strip() == str(target)
    assert names(results) == [target.name, "README.md"]
    assert names(target) == ["run.json", "samples.npz"]
    assert json.loads((target / "run.json").read_text()) == json.loads(
        (run / "run.json").read_text())
    with np.load(run / "samples.npz") as old, np.load(target / "samples.npz") as new:
        assert {k: list(v) for k, v in old.items()} == {k: list(v) for k, v in new.items()}


def test_entries_stand_on_lines_of_their_own(folder: Folder, results: pathlib.Path) -> None:
    target = published_runs.add(folder(**SMALL), results)
    text = (target / "run.json").read_text()
    entries = json.loads(text)["benchmarks"]
    lines = [line for line in text.splitlines() if line.startswith('{"name"')]
    assert len(lines) == len(entries)
    assert [json.loads(line.rstrip(",")) for line in lines] == entries


def test_only_the_newest_of_a_kind_stays(folder: Folder, results: pathlib.Path) -> None:
    published_runs.add(folder("first", **SMALL), results)
    again = renamed(folder("again", started="2026-02-02T00:00:00Z", **SMALL),
                    kernel=kernel("6.12.99+deb12-arm64"))
    published_runs.add(again, results)
    assert names(results) == ["2026-02-02-smmuv3-6.12.99+deb12-quick", "README.md"]
    for number, change in enumerate((
            {"kernel": kernel("7.3.4+deb14-arm64")}, {"kernel": kernel("6.12.99+deb12-arm64-16k")},
            {"profile": "full"}, {"machine": "board"})):
        other = renamed(folder(f"other{number}", **SMALL), **change)
        published_runs.add(other, results)
    assert names(results) == [
        "2026-01-31-board-6.12.95+deb12-quick", "2026-01-31-smmuv3-6.12.95+deb12-full",
        "2026-01-31-smmuv3-6.12.99+deb12-16k-quick", "2026-01-31-smmuv3-7.3.4+deb14-quick",
        "2026-02-02-smmuv3-6.12.99+deb12-quick", "README.md"]


def test_a_name_is_a_file_s_name(folder: Folder, results: pathlib.Path) -> None:
    run = renamed(folder(**SMALL), machine="../my board", profile="a/b")
    assert published_runs.add(run, results).name == "2026-01-31-..-my-board-6.12.95+deb12-a-b"
    assert len(names(results)) == 2


@pytest.mark.parametrize("options, message", [
    ({"clock": "emulated-ns"}, "clock emulated-ns is noise and is not published"),
    ({"complete": False}, "was interrupted and is not published"),
    ({"blocks": 900, "iterations": 1}, r"bytes; a published run has at most 1,000,000: want fewer"),
])
def test_what_is_refused_changes_nothing(folder: Folder, results: pathlib.Path,
                                         options: dict[str, Any], message: str) -> None:
    kept = published_runs.add(folder("good", **SMALL), results)
    with pytest.raises(RunError, match=f"bad: .*{message}"):
        published_runs.add(folder("bad", **{**SMALL, **options}), results)
    assert names(results) == [kept.name, "README.md"]
    assert load_run(kept).complete


def test_a_folder_that_is_not_there(folder: Folder, tmp_path: pathlib.Path) -> None:
    with pytest.raises(RunError, match="nowhere: not a folder"):
        published_runs.add(folder(**SMALL), tmp_path / "nowhere")
