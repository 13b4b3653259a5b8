# SPDX-License-Identifier: Apache-2.0
"""The published site: an index with filters, a page per run, pages that compare runs."""

from __future__ import annotations

import itertools
import pathlib
import shutil
from dataclasses import dataclass

from ..answers import advice, compare
from ..answers.compare import Comparison
from ..figures import gallery
from ..run import names, published_runs
from ..run.fields import RunError
from ..run.load import Run, labels
from ..tables import tables
from . import compare_text, report
from .report import Site

FILES = ("run.json", "samples.npz", "events.json")  # copied beside a run's page
FILTERS = (("machine", "machine"), ("kernel", "kernel"), ("granule", "granule"),
           ("domain", "domain mode"), ("clock", "clock"))
MOST_PAIRS = 60  # compare pages grow with the square of the runs


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


def publish(results: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    """Writes the site into `out` (made if missing); returns its first page."""
    runs = published_runs.load(results)
    if not runs:
        raise RunError(f"{results}: holds no run")
    run_labels = labels(runs)
    out.mkdir(parents=True, exist_ok=True)
    pairs = _pairs(runs, run_labels, out)
    rows = [_run(run, label, out, pairs) for run, label in zip(runs, run_labels, strict=True)]
    place = advice.main_run(runs)
    lead = runs[place]
    figure = _figure(lead)
    page = report.template("site.html.j2").render(
        advice=advice.advice(lead), numbers=advice.numbers(advice.asked(lead)),
        caveat=advice.CAVEATS[lead.clock.kind], figure=figure,
        figure_words=f"What mapping one buffer costs, by order, on {lead.machine}.",
        figure_folder=rows[place].folder,
        filters=[(key, words, sorted({row.values[key] for row in rows})) for key, words in FILTERS],
        runs=rows, pairs=pairs)
    path = out / "index.html"
    path.write_text(page, encoding="utf-8")
    return path


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
    report.write([run], out / folder, site=Site(tuple(links), advice.advice(run)),
                 page_name="index.html")
    files = tuple(name for name in FILES if (run.folder / name).is_file())
    for name in files:
        shutil.copyfile(run.folder / name, out / folder / name)
    granule = names.bytes_words(run.iommu.granule) if run.iommu.granule else "none"
    clock = "guest instructions" if run.clock.kind == "instructions" else run.clock.kind
    return RunRow(label, folder, {
        "machine": run.machine, "kernel": run.kernel["release"], "granule": granule,
        "domain": run.iommu.domain_mode, "clock": clock}, run.started.date().isoformat(), files)
