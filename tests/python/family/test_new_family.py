# SPDX-License-Identifier: Apache-2.0
"""One new family is one new file: `countdown` stands in tests/unit/bench/families/countdown.cpp,
and is in list, help, keys, run, table, run.json and report."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ["PAGEMIX_WITH_COUNTDOWN"]
PLAIN = os.environ["PAGEMIX"]
STARTS = (100, 10_000, 1_000_000)


def call(*arguments, program=PROGRAM, code=0):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The folder of a run of the family, and what the program printed."""
    folder = tmp_path_factory.mktemp("countdown")
    profile = folder / "countdown.ini"
    profile.write_text(f"[run]\nmixes = order0\nfamilies = countdown\niterations = 20\nblocks = 3\n"
                       f"countdown_starts = {' '.join(map(str, STARTS))}\n")
    out = folder / "run"
    printed = call("run", "--config", profile, "--mixes-file", ROOT / "configs/mixes.ini",
                   "--machine", "host", "--out", out)
    return out, printed


def test_no_other_file_names_it():
    # Only tests, and this file's home among them.
    names = subprocess.run(["grep", "-rIl", "--exclude-dir=.git", "--exclude-dir=.build",
                            "countdown", ROOT], capture_output=True, text=True, check=False)
    found = {str(pathlib.Path(name).relative_to(ROOT)) for name in names.stdout.split("\n") if name}
    assert found == {"tests/unit/bench/families/countdown.cpp",
                     "tests/unit/bench/CMakeLists.txt",
                     "tests/python/CMakeLists.txt",
                     "tests/python/family/test_new_family.py"}


def test_list_and_help_have_it_and_the_program_itself_has_not():
    configs = ("--mixes-file", ROOT / "configs/mixes.ini")
    assert "  countdown     count down from a number\n" in call("list", *configs)
    assert "countdown" not in call("list", *configs, program=PLAIN)
    usage = " ".join(call("run", "--help").split())
    assert "--countdown_starts VALUE" in usage
    assert "countdown: numbers, 1..1000000; default: 10 1000" in usage


def test_its_key_is_checked(tmp_path):
    profile = tmp_path / "bad.ini"
    profile.write_text("[run]\nmixes = order0\ncountdown_starts = 0\n")
    printed = call("run", "--config", profile, "--mixes-file", ROOT / "configs/mixes.ini", code=2)
    assert (f"{profile}:3: countdown_starts: number 0 out of range; allowed: 1..1000000"
            in printed)


def test_it_is_in_the_table(measured):
    _, printed = measured
    lines = [line.split() for line in printed.splitlines()]
    assert ["family", "from", "median", "p90", "chunks", "leaves"] in lines
    assert [line[1] for line in lines if line[:1] == ["countdown"]] == [str(n) for n in STARTS]


def test_it_is_in_run_json(measured):
    out, _ = measured
    run = json.loads((out / "run.json").read_text())
    names = {entry["run_name"] for entry in run["benchmarks"]}
    assert names == {f"countdown/from:{number}" for number in STARTS}
    assert run["context"]["pagemix"]["config"]["run.countdown_starts"] == "100 10000 1000000"
    for entry in run["benchmarks"]:
        if entry["run_type"] == "iteration":
            assert entry["steps"] == int(entry["run_name"].rsplit(":", 1)[1])


def test_it_is_in_the_report_with_a_figure(measured, tmp_path):
    out, _ = measured
    subprocess.run(["/usr/bin/python3", ROOT / "plots/pagemix-report", "report", out,
                    "--out", tmp_path], check=True, capture_output=True)
    assert "countdown" in (tmp_path / "report.html").read_text()
    (figure,) = (tmp_path / "plots").glob("*countdown*.svg")
    heading, *rows = figure.with_suffix(".csv").read_text().splitlines()
    assert heading.split(",")[:2] == ["from", "median ns"]
    # One count and one place for each start; counting further takes longer.
    cells = [dict(zip(heading.split(","), row.split(","), strict=True)) for row in rows]
    assert [int(cell["from"]) for cell in cells] == list(STARTS)
    assert [int(cell["steps"]) for cell in cells] == list(STARTS)
    medians = [float(cell["median ns"]) for cell in cells]
    assert medians == sorted(medians)
