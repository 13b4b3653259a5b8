# SPDX-License-Identifier: Apache-2.0
"""Every subcommand on every broken run: one line that names file and field, exit code 1, nothing
written."""

from __future__ import annotations

import json
import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import make_run
import numpy as np
import pytest
from pagemix_plots import cli

Broken = Callable[[pathlib.Path], str]  # breaks a run folder, returns what the message must name
NAME = "map_sgtable/mix:order0/layout:scattered/bytes:10485760"


def edit(change: Callable[[dict[str, Any]], None], named: str) -> Broken:
    def broken(run: pathlib.Path) -> str:
        document = json.loads((run / "run.json").read_text())
        change(document)
        (run / "run.json").write_text(json.dumps(document))
        return f"run.json: {named}"
    return broken


def pagemix(document: dict[str, Any]) -> dict[str, Any]:
    return document["context"]["pagemix"]


def cut(name: str, part: float) -> Broken:
    def broken(run: pathlib.Path) -> str:
        content = (run / name).read_bytes()
        (run / name).write_bytes(content[:int(len(content) * part)])
        return f"{name}: "
    return broken


def gone(name: str) -> Broken:
    def broken(run: pathlib.Path) -> str:
        (run / name).unlink()
        return f"{name}: No such file"
    return broken


def samples(change: Callable[[np.ndarray], np.ndarray], named: str) -> Broken:
    def broken(run: pathlib.Path) -> str:
        with np.load(run / "samples.npz") as archive:
            arrays = dict(archive)
        arrays[NAME] = change(arrays[NAME])
        np.savez(run / "samples.npz", **arrays)
        return f"samples.npz: {NAME}: {named}"
    return broken


def with_nan(data: np.ndarray) -> np.ndarray:
    return np.where(np.arange(data.size) == 3, np.nan, data)


BROKEN: dict[str, Broken] = {
    "empty run.json": cut("run.json", 0), "half of run.json": cut("run.json", 0.5),
    "most of run.json": cut("run.json", 0.999), "no run.json": gone("run.json"),
    "empty samples": cut("samples.npz", 0), "half of the samples": cut("samples.npz", 0.5),
    "most of the samples": cut("samples.npz", 0.99), "no samples": gone("samples.npz"),
    "no context": edit(lambda d: d.pop("context"), "context: missing"),
    "a list of nothing": edit(lambda d: d.update(benchmarks=[]), "benchmarks: holds no"),
    "another schema": edit(lambda d: pagemix(d).update(schema=2), "context.pagemix.schema: want 1"),
    "another clock": edit(lambda d: pagemix(d)["clock"].update(kind="ns"),
                          "context.pagemix.clock.kind: want one of"),
    "no granule": edit(lambda d: pagemix(d)["iommu"].pop("granule"),
                       "context.pagemix.iommu.granule: missing"),
    "a mix without classes": edit(lambda d: pagemix(d)["mixes"].update(order9="9"),
                                  "context.pagemix.mixes.order9: steps '9': want <order>:<class>"),
    "a name of nothing": edit(lambda d: d["benchmarks"][0].update(name="Alloc"),
                              "benchmarks[0].name: bad family"),
    "a counter of words": edit(lambda d: d["benchmarks"][1].update(runs=None),
                               "benchmarks[1].runs: want a number"),
    "no date": edit(lambda d: pagemix(d).update(started="today"),
                    "context.pagemix.started: want a date"),
    "NaN": samples(with_nan, "sample 3 is nan"),
    "a sample less": samples(lambda data: data[1:], "want 40 samples"),
    "integers": samples(lambda data: data.astype(np.int64), "want float64 samples"),
    "a negative sample": samples(lambda data: -data, "sample 0 is negative"),
    "samples of another run": samples(lambda data: data * 2, "median of block 0 is"),
}
COMMANDS: dict[str, Callable[[pathlib.Path, pathlib.Path], list[object]]] = {
    "report": lambda bad, good: ["report", bad, "--out", good.parent / "out"],
    "report of two": lambda bad, good: ["report", good, bad, "--out", good.parent / "out"],
    "headline": lambda bad, good: ["headline", bad],
    "compare": lambda bad, good: ["compare", good, bad, "--html", good.parent / "out"],
    "compare with the other": lambda bad, good: ["compare", bad, good],
    "compare --mixes": lambda bad, good: ["compare", bad, "--mixes", "order0", "order9"],
    "compare --noise": lambda bad, good: ["compare", "--noise", bad],
    "compare --again": lambda bad, good: ["compare", good, good, "--again", bad],
    "verdict": lambda bad, good: ["verdict", bad],
    "project": lambda bad, good: ["project", bad, "--hardware", "intel-broadwell"],
    "publish": lambda bad, good: ["publish", bad.parent, good.parent / "out"],
    "add": lambda bad, good: ["add", bad, good.parent / "results"],
    "index": lambda bad, good: ["index", bad.parent],
    "readme": lambda bad, good: ["readme", bad.parent, good.parent / "README.md"],
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return make_run.make_run(tmp_path_factory.mktemp("good") / "run", mixes=("order0", "order9"),
                             families=("map_sgtable", "unmap_sgtable", "alloc"),
                             layouts=("scattered",))


def tree(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_run_is_named(good: pathlib.Path, tmp_path: pathlib.Path, kind: str, command: str,
                               capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "results").mkdir()
    bad = pathlib.Path(shutil.copytree(good, tmp_path / "bad" / "run"))
    well = pathlib.Path(shutil.copytree(good, tmp_path / "good"))
    named = BROKEN[kind](bad)
    before = tree(tmp_path)
    code = cli.main([str(word) for word in COMMANDS[command](bad, well)])
    out, err = capsys.readouterr()
    assert (code, out) == (1, "")
    assert err.startswith(f"pagemix-report: {bad}/{named}"), err
    assert err.count("\n") == 1 and err.endswith("\n")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_the_same_commands_take_a_good_run(good: pathlib.Path, tmp_path: pathlib.Path,
                                           command: str, capsys: pytest.CaptureFixture[str]
                                           ) -> None:
    """So that the test above does not pass for another reason."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "results").mkdir()
    (tmp_path / "README.md").write_text("")
    run = pathlib.Path(shutil.copytree(good, tmp_path / "runs" / "run"))
    well = pathlib.Path(shutil.copytree(good, tmp_path / "good"))
    code = cli.main([str(word) for word in COMMANDS[command](run, well)])
    err = capsys.readouterr().err
    if command == "readme":  # two orders are too few for it
        assert code == 1 and "no run maps 10 MiB of orders 0, 4, 8 and 9" in err
    else:
        assert (code, err) == (0, "")


@pytest.mark.parametrize("words, message", [
    (["compare", "RUN"], "compare: want two runs"),
    (["compare", "RUN", "--mixes", "order0", "order9", "--again", "RUN"],
     "compare: --again goes with two runs"),
    (["compare", "RUN", "--mixes", "order0", "nope"],
     "no benchmark of both mix order0 and mix nope"),
    (["iotlb", "RUN/run.json"], "holds no smmu_iotlb_lookup event"),
    (["iotlb", "RUN/run.json", "--entries", "-1"], "-1 entries: want at least 1"),
    (["project", "RUN"], "project: want --hardware, one of"),
    (["project", "RUN", "--hardware", "nope"], "nope.ini: No such file"),
    (["report", "RUN", "--published", "RUN/run.json"], "run.json: line 1: want the columns"),
    (["trace", "RUN/run.json"], "run.json: line 1: not a trace event"),
    (["trace", "RUN/samples.npz"], "is not UTF-8"),
    (["report", "RUN", "--out", "RUN/run.json"], "run.json"),
])
def test_wrong_words_are_named(good: pathlib.Path, tmp_path: pathlib.Path, words: list[str],
                               message: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = pathlib.Path(shutil.copytree(good, tmp_path / "run"))
    before = tree(tmp_path)
    code = cli.main([word.replace("RUN", str(run)) for word in words])
    out, err = capsys.readouterr()
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert message in err and "Traceback" not in err
    assert tree(tmp_path) == before
