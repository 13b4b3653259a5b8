# SPDX-License-Identifier: Apache-2.0
"""The folder of published runs: what may enter it, under which name."""

from __future__ import annotations

import json
import pathlib
import re
import shutil

from .fields import RunError
from .load import Run, load_run

MOST_BYTES = 1_000_000  # of one run's folder


def check(run: Run) -> None:
    """RunError for a run that may not be published."""
    if run.clock.is_noise:
        raise RunError(f"{run.folder}: clock emulated-ns is noise and is not published; "
                       "want instructions or hardware-ns")
    if not run.complete:
        raise RunError(f"{run.folder}: the run was interrupted and is not published")


def load(results: pathlib.Path) -> list[Run]:
    """Runs of a results folder, newest first. RunError names what may not be published."""
    if not results.is_dir():
        raise RunError(f"{results}: not a folder")
    runs = [load_run(folder) for folder in sorted(results.iterdir())
            if folder.is_dir() and not folder.name.startswith(".")]
    for run in runs:
        check(run)
    return sorted(runs, key=lambda run: (run.started, run.folder.name), reverse=True)


def folder_name(run: Run) -> str:
    """<date>-<machine>-<kernel>-<profile>; the kernel without the word for its architecture."""
    kernel = re.sub(r"-(arm64|amd64)(?=-|\Z)", "", run.kernel["release"])
    words = f"{run.started.date().isoformat()}-{run.machine}-{kernel}-{run.profile}"
    return re.sub(r"[^A-Za-z0-9.+_-]+", "-", words)


def add(path: pathlib.Path, results: pathlib.Path) -> pathlib.Path:
    """Copies a run into the results folder, in place of the machine's earlier ones of the same
    kernel (6.12, 16k) and profile; returns its folder there.

    What reports are made from is copied, and no report. RunError names a run that
    may not be published or is larger than MOST_BYTES; then nothing is changed.
    """
    run = load_run(path)
    check(run)
    text = _compact(run.folder / "run.json")
    samples = run.folder / "samples.npz"
    size = len(text.encode()) + samples.stat().st_size
    if size > MOST_BYTES:
        raise RunError(f"{run.folder}: {size:,} bytes; a published run has at most "
                       f"{MOST_BYTES:,}: want fewer blocks, sizes or samples")
    earlier = [old for old in load(results) if _kind(old) == _kind(run)]
    target = results / folder_name(run)
    fresh = results / f".{target.name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    (fresh / "run.json").write_text(text, encoding="utf-8")
    shutil.copyfile(samples, fresh / "samples.npz")
    load_run(fresh)  # as it will be read
    for folder in {target, *(old.folder for old in earlier)}:
        if folder.is_dir():
            shutil.rmtree(folder)
    fresh.rename(target)
    return target


def _kind(run: Run) -> tuple[str, str, str]:
    """Of runs of one kind only the newest is published."""
    release = run.kernel["release"]
    version = re.match(r"\d+\.\d+", release)
    flavour = release.split("-")[-1]
    return run.machine, f"{version[0] if version else release} {flavour}", run.profile


def _compact(file: pathlib.Path) -> str:
    """run.json with a line for each entry: a quarter smaller, and its changes can be read."""
    document = json.loads(file.read_text(encoding="utf-8"))
    entries = ",\n".join(json.dumps(entry, separators=(",", ":"))
                         for entry in document.pop("benchmarks"))
    head = json.dumps(document, indent=1)
    return f"{head[:-2]},\n \"benchmarks\": [\n{entries}\n]}}\n"
