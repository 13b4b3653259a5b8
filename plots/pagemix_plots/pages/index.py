# SPDX-License-Identifier: Apache-2.0
"""The index of published runs: results/README.md."""

from __future__ import annotations

import pathlib
import urllib.parse

from ..run import names, published_runs
from ..run.load import Run

_HEAD = """<!-- Made by plots/pagemix-report index; edit the runs, not this file. -->
# Published runs

One folder a run; [docs/result-format.md](../docs/result-format.md) says what is in it.
A number carries its clock: *guest instructions* are counted by QEMU and are no
time. Reports are made from the files here with `plots/pagemix-report report RUN...`.

| folder | machine | kernel | clock | date | what |
| --- | --- | --- | --- | --- | --- |
"""


def write(results: pathlib.Path) -> pathlib.Path:
    """Writes README.md into the results folder; RunError names a run that may not be published."""
    text = page(published_runs.load(results))
    readme = results / "README.md"
    readme.write_text(text, encoding="utf-8")
    return readme


def page(runs: list[Run]) -> str:
    return _HEAD + "".join(_row(run) for run in runs)


def _row(run: Run) -> str:
    clock = "guest instructions" if run.clock.kind == "instructions" else run.clock.kind
    sizes = sorted({key.bytes for key in run.keys})
    mixes = sorted({key.mix for key in run.keys}, key=run.mix_rank)
    what = f"{run.profile}: {', '.join(names.bytes_words(s) for s in sizes)}; {', '.join(mixes)}"
    folder = run.folder.name
    link = f"[{_cell(folder)}]({urllib.parse.quote(folder)}/)"
    cells = [run.machine, run.kernel["release"], clock, run.started.date().isoformat(), what]
    return "| " + " | ".join([link, *map(_cell, cells)]) + " |\n"


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
