# SPDX-License-Identifier: Apache-2.0
"""The README's answer, table and figure, made from the published runs."""

from __future__ import annotations

import pathlib
import textwrap
import urllib.parse

from ..answers import advice, headline, lifecycle
from ..figures import gallery, svg
from ..figures.gallery import Figure
from ..run import names, published_runs
from ..run.fields import RunError
from ..run.load import Run
from ..tables import tables
from ..tables.tables import View

BEGIN = "<!-- From results/ by scripts/refresh-results: edit the runs, not these lines. -->"
END = "<!-- End of what comes from results/. -->"
FIGURE = "docs/map-cost.svg"  # beside the README
ORDERS = (0, 4, 8, 9)
COSTS = {"alloc": "allocate", "map_sgtable": "map", "unmap_sgtable": "unmap"}


def write(results: pathlib.Path, readme: pathlib.Path) -> pathlib.Path:
    """Rewrites the README's lines between BEGIN and END, and the figure; returns the README.

    RunError without runs to write of, or where the README lacks the two lines.
    """
    views = chosen(published_runs.load(results))
    if not views:
        raise RunError(f"{results}: no run maps {names.bytes_words(names.MAIN_BYTES)} of orders "
                       "0, 4, 8 and 9")
    try:
        text = readme.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{readme}: {error}") from None
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise RunError(f"{readme}: want the lines '{BEGIN}' and '{END}'")
    picture = readme.parent / FIGURE
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_text(svg.standalone(figure(views).svg), encoding="utf-8")
    readme.write_text(f"{before}{BEGIN}\n{block(views)}{END}{after}", encoding="utf-8")
    return readme


def chosen(runs: list[Run]) -> list[View]:
    """The view of each machine that the README shows: its run with the most samples, the newest of
    equals. First the one that the site's first page speaks of, and only runs of its clock."""
    best: dict[str, View] = {}
    for run in sorted(runs, key=lambda run: (_samples(run), run.started), reverse=True):
        if _samples(run):
            view = View(run, run.machine, names.MAIN_BYTES, "warm")
            best.setdefault(run.machine, view)
    if not best:
        return []
    views = [best[machine] for machine in sorted(best)]
    lead = views.pop(advice.main_run([view.run for view in views]))
    return [lead, *(view for view in views if view.run.clock.kind == lead.run.clock.kind)]


def _samples(run: Run) -> int:
    """Of the least sampled map that the table needs; 0 where one is missing."""
    view = View(run, run.machine, names.MAIN_BYTES, "warm")
    mixes = _mixes(view)
    if len(mixes) < len(ORDERS):
        return 0
    found = [run.find("map_sgtable", view.key(mix, view.main_layout)) for mix in mixes]
    return min((benchmark.summary.n if benchmark else 0) for benchmark in found)


def _mixes(view: View) -> list[str]:
    """Those of ORDERS that were measured."""
    return [view.pure[order] for order in ORDERS if order in view.pure]


def figure(views: list[View]) -> Figure:
    found = gallery.overview(views)
    if found is None:  # one machine: its own figure is the overview
        found = gallery.groups(views)[0].figures[0]
    return found


def block(views: list[View]) -> str:
    """Markdown: the answer, the figure, the table, where the numbers come from."""
    lead = views[0]
    lines = [""]
    for words in advice.advice(lead.run):
        lines += _item(words)
    asked = [v for v in advice.asked(lead.run) if v.answer.kind != lifecycle.UNDECIDED]
    lines += _item(advice.numbers(asked)[-1])
    lines += ["", f"![Cost of mapping a buffer, by page order]({FIGURE})", ""]
    lines += [_cells([f"{names.bytes_words(lead.bytes)} buffer, {lead.main_layout} chunks",
                      *(f"order {order}" for order in ORDERS)]),
              _cells(["---"] * (1 + len(ORDERS)))]
    for view in views:
        lines += [_cells([f"{view.label}: {words}", *cells]) for words, cells in _rows(view)]
    lines += ["", *textwrap.wrap(f"Costs are medians in *{lead.run.clock.unit}*. "
                                 f"{advice.CAVEATS[lead.run.clock.kind]}", 80), ""]
    for view in views:
        folder = view.run.folder.name
        lines += _item(f"{headline.place_words(view.run)}, {_granule(view.run)}, "
                       f"n = {_samples(view.run):,} a median: "
                       f"[results](results/{urllib.parse.quote(folder)}/)")
    return "\n".join(lines) + "\n\n"


def _granule(run: Run) -> str:
    return f"{names.bytes_words(run.iommu.granule)} granule" if run.iommu.granule else "no granule"


def _item(words: str) -> list[str]:
    return textwrap.wrap(f"- {words}", 80, subsequent_indent="  ", break_long_words=False,
                         break_on_hyphens=False)


def _cells(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _rows(view: View) -> list[tuple[str, list[str]]]:
    """What and the four cells; what was not measured or counted has no row."""
    run = view.run
    keys = [view.key(mix, view.main_layout) for mix in _mixes(view)]
    rows: list[tuple[str, list[str]]] = []
    for family, words in COSTS.items():
        found = [run.find(family, key) for key in keys]
        if all(found):
            rows.append((words, [names.count_words(b.summary.median) for b in found if b]))
    leaves = [tables.leaves(run, key) for key in keys]
    if all(leaves):
        rows.append(("leaves", [tables.parts_words(one, tables.leaf_names(set(one)))
                                for one in leaves]))
    commands = [tables.commands(run, key) for key in keys]
    kinds = list(commands[0])
    if kinds and all(list(one) == kinds for one in commands):
        rows.append((f"{' + '.join(kinds)} of a map/unmap cycle",
                     [" + ".join(map(names.count_words, one.values())) for one in commands]))
    return rows
