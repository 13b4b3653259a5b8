# SPDX-License-Identifier: Apache-2.0
"""The published site: an index with filters, a page per run, pages that compare runs."""

from __future__ import annotations

import itertools
import pathlib
import shutil
from dataclasses import dataclass

from . import compare, compare_text, gallery, names, report, tables, verdict
from .compare import Comparison
from .fields import RunError
from .load import Run, labels, load_run
from .report import Site

FILES = ("run.json", "samples.npz", "events.json")  # copied beside a run's page
FILTERS = (("machine", "machine"), ("kernel", "kernel"), ("granule", "granule"),
           ("domain", "domain mode"), ("clock", "clock"))
MOST_PAIRS = 60  # compare pages grow with the square of the runs
# The questions that the first page answers, most asked first.
ASKED = (("8-4-0", "9-4-0"), ("order0", "order4"), ("8-0-0", "8-4-0"))
CAVEATS = {
    "instructions": "Guest instructions tell how much work the kernel does. They are no time: "
                    "cache misses, the bus and the IOMMU's own work do not show in them. What the "
                    "IOMMU was asked to do is counted exactly.",
    "hardware-ns": "Times hold for the machine they were measured on, and its load.",
}


@dataclass(frozen=True)
class RunRow:
    """One line of the index."""

    label: str
    folder: str
    values: dict[str, str]  # by key of FILTERS
    date: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Pair:
    file: str
    title: str
    summary: str
    folders: tuple[str, str]


def load_all(results: pathlib.Path) -> list[Run]:
    """Runs of a results folder, newest first. RunError names what may not be published."""
    if not results.is_dir():
        raise RunError(f"{results}: not a folder")
    folders = sorted(f for f in results.iterdir() if f.is_dir() and not f.name.startswith("."))
    if not folders:
        raise RunError(f"{results}: holds no run")
    runs = [load_run(folder) for folder in folders]
    for run in runs:
        if run.clock.is_noise:
            raise RunError(f"{run.folder}: clock emulated-ns is noise and is not published; "
                           "want instructions or hardware-ns")
        if not run.complete:
            raise RunError(f"{run.folder}: the run was interrupted and is not published")
    return sorted(runs, key=lambda run: (run.started, run.folder.name), reverse=True)


def publish(results: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    """Writes the site into `out` (made if missing); returns its first page."""
    runs = load_all(results)
    run_labels = labels(runs)
    out.mkdir(parents=True, exist_ok=True)
    pairs = _pairs(runs, run_labels, out)
    rows = [_run(run, label, out, pairs) for run, label in zip(runs, run_labels, strict=True)]
    place = _main(runs)
    lead = runs[place]
    figure = _figure(lead)
    page = report.template("site.html.j2").render(
        answers=answers(lead), caveat=CAVEATS[lead.clock.kind], figure=figure,
        figure_words=f"What mapping one buffer costs, by order, on {lead.machine}.",
        figure_folder=rows[place].folder,
        filters=[(key, words, sorted({row.values[key] for row in rows})) for key, words in FILTERS],
        runs=rows, pairs=pairs)
    path = out / "index.html"
    path.write_text(page, encoding="utf-8")
    return path


def _main(runs: list[Run]) -> int:
    """The run that the first page speaks of: one with answers, of a board if there is one, with
    the most to say."""
    said = [len(verdict.verdicts(run)) for run in runs]
    return max(range(len(runs)), key=lambda i: (
        said[i] > 0, runs[i].clock.kind == "hardware-ns", said[i], len(runs[i].benchmarks), -i))


def answers(run: Run) -> tuple[str, ...]:
    """Sentences of the first questions that the run answers, most asked first."""
    found = verdict.verdicts(run, ASKED)
    chosen = [next((v for v in found if (v.answer.base.mix, v.answer.other.mix) == pair
                    and v.pattern == verdict.EACH.name), None) for pair in ASKED]
    result: list[str] = []
    for one in chosen:
        if one:
            lead, costs, caveat = verdict.sentences(one)
            result.append(f"{lead} {costs}")
            last = caveat
    if not result:
        return ("No run has two mixes with an allocation, a map and an unmap of one size: there "
                "is no verdict yet.",)
    return (*result, last)


def _figure(run: Run) -> gallery.Figure | None:
    """The main figure of the run's own page, by the same name."""
    groups = gallery.groups(tables.views([run], labels([run])))
    return groups[0].figures[0] if groups and groups[0].figures else None


def _pairs(runs: list[Run], run_labels: list[str], out: pathlib.Path) -> list[Pair]:
    """A page for each two runs that share benchmarks and a clock."""
    result: list[Pair] = []
    named = list(zip(runs, run_labels, strict=True))
    for (other, other_label), (base, base_label) in itertools.combinations(named, 2):
        if len(result) == MOST_PAIRS:
            break
        if base.clock.kind != other.clock.kind:
            continue
        try:
            found = compare.runs(base, other, base_label, other_label)
        except RunError:  # nothing in common: no page, no link
            continue
        file = f"compare-{gallery.slug(base.folder.name)}-{gallery.slug(other.folder.name)}.html"
        (out / file).write_text(compare_text.document(
            [found], (("all runs", "index.html"),)), encoding="utf-8")
        result.append(_pair(file, found, base, other))
    return result


def _pair(file: str, found: Comparison, base: Run, other: Run) -> Pair:
    return Pair(file, f"{found.other} against {found.base}", compare_text.summary(found),
                (base.folder.name, other.folder.name))


def _run(run: Run, label: str, out: pathlib.Path, pairs: list[Pair]) -> RunRow:
    folder = run.folder.resolve().name
    links = [("all runs", "../index.html")]
    links += [(pair.title, f"../{pair.file}") for pair in pairs if run.folder.name in pair.folders]
    report.write([run], out / folder, site=Site(tuple(links), answers(run)),
                 page_name="index.html")
    files = tuple(name for name in FILES if (run.folder / name).is_file())
    for name in files:
        shutil.copyfile(run.folder / name, out / folder / name)
    granule = names.bytes_words(run.iommu.granule) if run.iommu.granule else "none"
    clock = "guest instructions" if run.clock.kind == "instructions" else run.clock.kind
    return RunRow(label, folder, {
        "machine": run.machine, "kernel": run.kernel["release"], "granule": granule,
        "domain": run.iommu.domain_mode, "clock": clock}, run.started.date().isoformat(), files)
