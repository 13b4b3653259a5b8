# SPDX-License-Identifier: Apache-2.0
"""Comparisons as text for a mailing list (72 columns, also Markdown) and as HTML."""

from __future__ import annotations

import html
import pathlib
from collections.abc import Mapping, Sequence

from ..answers import noise
from ..answers.compare import VERDICTS, Comparison, CountRow, Row
from ..run import names
from ..run.names import Name
from ..tables import mail
from ..tables.tables import n_words

_SIZES = ("bytes", "window")


def part_words(part: float | None) -> str:
    """0.103 -> '+10.3 %'; None (a base of zero) has no percentage."""
    if part is None:
        return "from 0"
    percent = part * 100
    return f"{percent:+.0f} %" if abs(percent) >= 99.95 else f"{percent:+.1f} %"


def interval_words(row: Row) -> str:
    low, high = row.shift.part(row.shift.low), row.shift.part(row.shift.high)
    if low is None or high is None:
        return "-"
    return ", ".join(f"{v * 100:+.0f}" if abs(v) >= 0.9995 else f"{v * 100:+.1f}"
                     for v in (low, high))


def _row_key(found: Sequence[Name]) -> str:
    """The part of the names that varies most: what a table's rows are told apart by."""
    values: dict[str, set[str]] = {}
    for name in found:
        for key, value in name.params:
            values.setdefault(key, set()).add(value)
    order = sorted(values, key=lambda key: (-len(values[key]), key != "mix", key))
    return order[0] if order else ""


def _value(key: str, value: str) -> str:
    return names.bytes_words(int(value)) if key in _SIZES and value.isdigit() else value


def heading(name: Name, key: str, *, mixes: bool = False) -> str:
    """'map_sgtable, layout scattered, 10 MiB': the parts that a table's rows share. `key` is what
    the rows are told apart by, `mixes` compare mixes, which the title has."""
    parts = [name.family]
    for part, value in name.params:
        if part != key and not (mixes and part == "mix"):
            words = _value(part, value)
            parts.append(words if part == "bytes" else f"{part} {words}")
    return ", ".join(parts)


def grouped(found: Comparison) -> list[tuple[str, str, list[tuple[str, Row]]]]:
    """(heading, what the rows are, labelled rows), by family and shared parts."""
    families: dict[str, list[Row]] = {}
    for row in found.rows:
        families.setdefault(row.name.family, []).append(row)
    mixes = len({dict(row.name.params).get("mix") for row in found.rows} - {None}) == 1
    result: list[tuple[str, str, list[tuple[str, Row]]]] = []
    for rows in families.values():
        key = _row_key([row.name for row in rows])
        groups: dict[str, list[tuple[str, Row]]] = {}
        for row in rows:
            label = _value(key, dict(row.name.params).get(key, "all"))
            groups.setdefault(heading(row.name, key, mixes=mixes), []).append((label, row))
        for title, group in groups.items():
            group.sort(key=lambda item: _rank(key, dict(item[1].name.params).get(key, ""),
                                              found.mixes))
            result.append((title, key or "name", group))
    return result


def _rank(key: str, value: str, mixes: Mapping[str, str]) -> tuple[float, tuple[int, int, str]]:
    return (float(value) if value.isdigit() else 0.0,
            names.mix_rank(value, mixes) if key == "mix" else (0, 0, value))


def summary(found: Comparison) -> str:
    """One sentence on the whole."""
    if found.refused:
        return (f"{found.refused[0].upper()}{found.refused[1:]}. Of {found.counted:,} counts "
                f"that both have, {len(found.counts):,} differ.")
    counts = {kind: sum(1 for row in found.rows if row.verdict == kind) for kind in VERDICTS}
    said = [f"{n:,} {kind}" for kind, n in counts.items() if n]
    return (f"Of {len(found.rows):,} benchmarks: {names.list_words(said)}; noise floor "
            f"from {found.floor.source}.")


def count_groups(found: Sequence[CountRow]) -> list[tuple[str, list[str]]]:
    """Differing counts: 'smmu_cmd_tlbi 6 -> 1' with the benchmarks that show it."""
    groups: dict[str, list[str]] = {}
    for row in found:
        words = (f"{row.counter}: {names.count_words(row.base)} -> "
                 f"{names.count_words(row.other)}")
        groups.setdefault(words, []).append(row.name.text)
    return sorted(groups.items())


def text(found: Comparison) -> str:
    """Markdown that fits a mail of 72 columns, paragraphs wrapped and no line longer."""
    lines = [*mail.wrap(f"{found.other} against {found.base}, {found.unit}"), ""]
    lines += mail.wrap(summary(found))
    for what, left, right in found.differs:
        lines += mail.wrap(f"Not the same: {what}: {left or 'none'} and {right or 'none'}.")
    for title, kind, rows in grouped(found):
        counts = {n for _, row in rows for n in row.shift.n}
        lines += ["", *mail.wrap(f"{title} ({n_words(counts)}, {floors_words(rows)})"), "",
                  *_table(kind, rows)]
    if found.counts:
        lines += ["", "Counts that differ:", ""]
        for words, where in count_groups(found.counts):
            more = f" (and {len(where) - 1} more)" if len(where) > 1 else ""
            lines += mail.item(f"{words} in {where[0]}{more}")
    if found.alone:
        lines += ["", *mail.wrap(f"Only on one side: {len(found.alone)} benchmarks, first "
                             f"{found.alone[0]}.")]
    lines += ["", *mail.wrap(legend(found))]
    return "\n".join(lines) + "\n"


def legend(found: Comparison) -> str:
    if found.refused:
        return "Counts are exact; they do not depend on the clock."
    return ("shift: Hodges-Lehmann, part of the base's median, with its 95 % interval; a "
            "difference is named when it is larger than its noise floor and "
            "Mann-Whitney's p is below 0.05 after Holm's correction.")


def _table(kind: str, rows: list[tuple[str, Row]]) -> list[str]:
    return mail.table([kind, "base", "other", "shift", "95 %", "verdict"], [
        [label, names.short_words(row.shift.base_median), names.short_words(row.shift.other_median),
         part_words(row.part), interval_words(row), row.verdict] for label, row in rows],
        left=(0, 5))


LEGEND = (f"floor: what {noise.QUANTILE * 100:.0f} % of the group's benchmarks stay below, "
          f"{noise.LEAST * 100:.1f} % at least; one that differs more has its own:")
MOST_NAMED = 5


def noise_text(title: str, shifts: noise.Shifts, source: str) -> str:
    """A/A: the floor of each family and where it comes from."""
    floor = noise.floor_of(shifts, source)
    lines = [*mail.wrap(f"{title}: noise floor, {source}"), ""]
    if not shifts:
        return "\n".join([*lines, *mail.wrap(
            f"No benchmark has two blocks: the floor is {floor_words(noise.LEAST)}, the least "
            "that is claimed of any clock.")]) + "\n"
    rows = []
    for group in floor.by_group:
        own = [floor.by_name[name.text] for name, _ in shifts
               if noise.group_of(name) == group and name.text in floor.by_name]
        rows.append([group, f"{len(own):,}", floor_words(floor.of_group(group)),
                     floor_words(max(own))])
    lines += [*mail.table(["group", "n", "floor", "largest"], rows), "", *mail.wrap(LEGEND)]
    for text in sorted(floor.by_name, key=lambda text: -floor.by_name[text])[:MOST_NAMED]:
        lines += mail.item(f"{floor_words(floor.by_name[text])} {text}")
    return "\n".join(lines) + "\n"


def floor_words(floor: float) -> str:
    return f"{floor * 100:.0f} %" if floor >= 0.1 else f"{floor * 100:.2g} %"


def floors_words(rows: Sequence[tuple[str, Row]]) -> str:
    found = sorted({row.floor for _, row in rows})
    low, high = floor_words(found[0]), floor_words(found[-1])
    return f"floor {low}" if low == high else f"floor {low} to {high}"


def document(found: Sequence[Comparison], links: Sequence[tuple[str, str]] = ()) -> str:
    """A whole page, self-contained; `links` are words and relative addresses."""
    css = pathlib.Path(__file__).with_name("templates").joinpath("report.css").read_text("utf-8")
    title = "pagemix: " + html.escape(f"{found[0].other} against {found[0].base}")
    return (f"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            f"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
            f"<meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title>"
            f"<link rel=\"icon\" href=\"data:,\"><style>{css}</style></head><body>"
            f"<header>{_nav(links)}<h1>{title}</h1></header><main>{page(found)}</main>"
            "</body></html>\n")


def _nav(links: Sequence[tuple[str, str]]) -> str:
    found = " · ".join(f'<a href="{html.escape(address, quote=True)}">{html.escape(words)}</a>'
                       for words, address in links)
    return f"<nav>{found}</nav>" if found else ""


def page(found: Sequence[Comparison]) -> str:
    """The comparisons as the body of an HTML page."""
    out: list[str] = []
    for one in found:
        out.append(f"<section><h2>{html.escape(one.other)} against {html.escape(one.base)}</h2>"
                   f"<p class=\"lead\">{html.escape(summary(one))}</p>")
        if one.differs:
            out.append("<dl>" + "".join(
                f"<dt>{html.escape(what)}</dt><dd>{html.escape(left or 'none')} and "
                f"{html.escape(right or 'none')}</dd>" for what, left, right in one.differs)
                + "</dl>")
        for title, kind, rows in grouped(one):
            out.append(_html_table(title, kind, rows, one.unit))
        if one.counts:
            items = "".join(f"<li>{html.escape(words)} in {html.escape(where[0])}"
                            + (f" and {len(where) - 1} more" if len(where) > 1 else "") + "</li>"
                            for words, where in count_groups(one.counts))
            out.append(f"<h3>Counts that differ</h3><ul>{items}</ul>")
        out.append(f"<p class=\"none\">{html.escape(legend(one))}</p></section>")
    return "\n".join(out)


def _html_table(title: str, kind: str, rows: list[tuple[str, Row]], unit: str) -> str:
    counts = n_words({n for _, row in rows for n in row.shift.n})
    body = "".join(
        f"<tr><th>{html.escape(label)}</th>"
        f"<td class=\"n\">{names.count_words(row.shift.base_median)}</td>"
        f"<td class=\"n\">{names.count_words(row.shift.other_median)}</td>"
        f"<td class=\"n\">{part_words(row.part)}<small>{interval_words(row)}</small></td>"
        f"<td class=\"verdict-{row.verdict.replace(' ', '-')}\">{row.verdict}</td></tr>"
        for label, row in rows)
    return (f"<h3>{html.escape(title)} <span class=\"none\">({counts}, {floors_words(rows)})</span>"
            "</h3>"
            f"<div class=\"wide\" tabindex=\"0\" role=\"region\" "
            f"aria-label=\"{html.escape(title)}\"><table><thead><tr><th>{html.escape(kind)}</th>"
            f"<th class=\"n\">base, {html.escape(unit)}</th><th class=\"n\">other</th>"
            f"<th class=\"n\">shift, 95 %</th><th>verdict</th></tr></thead>"
            f"<tbody>{body}</tbody></table></div>")
