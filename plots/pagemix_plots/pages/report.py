# SPDX-License-Identifier: Apache-2.0
"""The report page: one self-contained HTML file for one run or several."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

import jinja2
from markupsafe import Markup

from ..answers import check, headline
from ..figures import gallery, gallery_alloc, gallery_family, gallery_use, svg
from ..run import names
from ..run.load import Benchmark, Run, labels
from ..run.names import BufferKey
from ..stats.stats import Summary
from ..tables import alloc_series, data, tables
from . import environment

COST_FAMILIES = names.BUFFER_FAMILIES


@dataclass(frozen=True)
class BufferRow:
    """One line of the main table."""

    key: BufferKey
    costs: tuple[Summary | None, ...]  # by the table's families
    chunks: str
    fails: str  # failed attempts of the allocation, empty when there were none
    runs: str
    leaves: str
    commands: str


@dataclass(frozen=True)
class BufferTable:
    """The medians of one size and state; families without a number have no column."""

    title: str
    families: tuple[str, ...]
    rows: tuple[BufferRow, ...]
    n_words: str


@dataclass(frozen=True)
class SampleCost:
    """What taking one sample adds, against the smallest cost in the report."""

    words: tuple[str, ...]
    heavy: bool  # more than a twentieth of the smallest cost


@dataclass(frozen=True)
class Section:
    """All that the page says of one run."""

    run: Run
    label: str
    headline: headline.Headline
    tables: tuple[BufferTable, ...]
    checks: tuple[check.Check, ...]
    sample_cost: SampleCost
    benchmarks: tuple[Benchmark, ...]
    environment: tuple[tuple[str, str], ...]
    command: str


@dataclass(frozen=True)
class Site:
    """What a page says more when it is part of a site: ways to other pages, the answer on top."""

    links: tuple[tuple[str, str], ...]  # words, relative address
    answers: tuple[str, ...]


def write(runs: list[Run], out: pathlib.Path,
          published: list[alloc_series.Series] | None = None, *, site: Site | None = None,
          page_name: str = "report.html") -> pathlib.Path:
    """Writes the page and plots/*.svg and *.csv into `out` (made if missing); returns the page's
    path.

    `published` allocation series are drawn beside those of the runs. Without a
    `site` the page stands alone: it links to no file.
    """
    run_labels = labels(runs)
    views = tables.views(runs, run_labels)
    groups = (gallery.groups(views) + gallery_use.groups(runs, run_labels)
              + gallery_alloc.groups(runs, run_labels, published or [])
              + gallery_family.groups(runs, run_labels))
    page = template("report.html.j2").render(
        title="pagemix: " + names.list_words(run_labels),
        sections=[_section(run, label) for run, label in zip(runs, run_labels, strict=True)],
        groups=groups, noise=headline.NOISE, site=site)
    (out / "plots").mkdir(parents=True, exist_ok=True)
    drawn = [figure for group in groups for figure in group.figures + group.others]
    main = gallery.overview(views)
    for figure in drawn + ([main] if main else []):
        file = out / "plots" / f"{figure.slug}.svg"
        file.write_text(svg.standalone(figure.svg), encoding="utf-8")
        file.with_suffix(".csv").write_text(data.text(figure.rows), encoding="utf-8")
    path = out / page_name
    path.write_text(page, encoding="utf-8")
    return path


def template(name: str) -> jinja2.Template:
    """A page of templates/, with the filters that they use."""
    loader = jinja2.FileSystemLoader(pathlib.Path(__file__).with_name("templates"))
    env = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True,
                             undefined=jinja2.StrictUndefined)
    env.filters["count"] = names.count_words
    env.filters["interval"] = _interval
    env.filters["commands"] = lambda b: tables.commands_words(tables.commands_of(b))
    env.filters["markup"] = Markup  # only for SVG made here, whose text is escaped
    return env.get_template(name)


def _interval(summary: Summary) -> str:
    """'-0.2 to +1.5 %' of the median; the digits themselves where the median is 0."""
    assert summary.low is not None and summary.high is not None
    if summary.median == 0:
        return f"{names.count_words(summary.low)} to {names.count_words(summary.high)}"
    low, high = ((end / summary.median - 1) * 100 for end in (summary.low, summary.high))
    if max(-low, high) < 0.1:
        return "within 0.1 %"
    digits = 1 if max(-low, high) < 10 else 0
    return f"{low:+.{digits}f} to {high:+.{digits}f} %"


def _section(run: Run, label: str) -> Section:
    return Section(
        run=run, label=label, headline=headline.headline(run),
        tables=tuple(t for view in tables.views([run], [label]) if (t := _table(view))),
        checks=tuple(check.check_run(run)),
        sample_cost=_sample_cost(run),
        benchmarks=tuple(sorted(run.benchmarks.values(), key=lambda b: b.name.text)),
        environment=tuple(environment.rows(run)),
        command=environment.command(run))


def _fails(run: Run, key: BufferKey) -> str:
    benchmark = run.find("alloc", key)
    return tables.chunks_words(benchmark.counters("fails_order")) if benchmark else ""


def _table(view: tables.View) -> BufferTable | None:
    """None where the buffers were met by other families only."""
    run, keys = view.run, view.keys
    families = tuple(f for f in COST_FAMILIES if any(run.find(f, key) for key in keys))
    counts = {b.summary.n for f in families for key in keys if (b := run.find(f, key))}
    if not counts:
        return None
    return BufferTable(f"{names.bytes_words(view.bytes)}, {view.state}", families,
                       tuple(_row(run, key, families) for key in keys), tables.n_words(counts))


def _row(run: Run, key: BufferKey, families: tuple[str, ...]) -> BufferRow:
    found = [run.find(family, key) for family in families]
    runs = tables.counter_of(run, key, "runs")
    leaves = tables.leaves(run, key)
    return BufferRow(
        key=key, costs=tuple(b.summary if b else None for b in found),
        chunks=tables.chunks_words(tables.chunks(run, key)), fails=_fails(run, key),
        runs="" if runs is None else names.count_words(runs),
        leaves=tables.parts_words(leaves, tables.leaf_names(set(leaves))),
        commands=tables.commands_words(tables.commands(run, key)))


# What each timer of sample_cost is part of; a name without timer is part of all.
TIMED_BY = {"kernel": ("map_sgtable", "unmap_sgtable"),
            "user": ("alloc", "free", "vfio_map", "vfio_unmap")}


def _sample_cost(run: Run) -> SampleCost:
    """States the cost of a sample beside the smallest median that contains it."""
    unit = run.clock.unit
    parts = [(f"Recorded overhead: {names.count_words(run.clock.overhead)} {unit} a sample",
              run.clock.overhead, COST_FAMILIES if not run.iommu.driver else TIMED_BY["kernel"])]
    for benchmark in run.benchmarks.values():
        if benchmark.name.family == names.SAMPLE_COST:
            summary = benchmark.summary
            timer = dict(benchmark.name.params).get("timer", "")
            parts.append((f"{benchmark.name.text}: median {names.count_words(summary.median)} "
                          f"{unit} around nothing (n = {summary.n:,})", summary.median,
                          TIMED_BY.get(timer, COST_FAMILIES)))
    words: list[str] = []
    heavy = False
    for text, cost, families in parts:
        costs = [b.summary.median for b in run.benchmarks.values() if b.name.family in families]
        if costs:
            smallest = min(costs)
            heavy = heavy or cost > smallest / 20
            share = f"{cost / smallest * 100:.2g} %" if smallest else "no part"
            text += f", {share} of the smallest median it is in ({names.count_words(smallest)})"
        words.append(text + ".")
    if len(parts) == 1:
        words.append("The benchmark sample_cost was not part of this run.")
    words.append("Nothing is subtracted.")
    return SampleCost(tuple(words), heavy)
