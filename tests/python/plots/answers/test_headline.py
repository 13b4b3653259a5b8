# SPDX-License-Identifier: Apache-2.0
"""The words say what the numbers say, in every branch."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable

import make_run
import pytest
from make_run import Options
from pagemix_plots.answers import headline, lifecycle
from pagemix_plots.answers.headline import compare_words
from pagemix_plots.run.load import Run, load_run
from pagemix_plots.stats.stats import Summary
from pagemix_plots.tables import tables

Load = Callable[..., Run]


def summary(median: float, low: float | None = None, high: float | None = None,
            n: int = 40) -> Summary:
    if low is None and n >= 5:
        low = high = median
    return Summary(n, median, low, high, None, None, None, median)


@pytest.mark.parametrize("base, other, words", [
    (summary(1747392), summary(171168), "10.2x less"),
    (summary(1747392), summary(2768), "631x less"),
    (summary(100), summary(250), "2.5x more"),
    (summary(10752), summary(10752), "the same"),
    (summary(10752), summary(10768), "the same within 1 %"),
    (summary(1000), summary(1015), "the same within 2 %"),
    (summary(1000), summary(985), "the same within 2 %"),
    (summary(1000), summary(900), "10 % less"),
    (summary(1000), summary(1100), "10 % more"),
    (summary(1000), summary(1480), "48 % more"),
    (summary(1000), summary(1500), "1.5x more"),
    (summary(1000, 800, 1200), summary(1190, 1100, 1300),
     "neither provably more nor less (the intervals overlap)"),
    (summary(1000, 800, 1100), summary(1190, 1101, 1300), "19 % more"),
    (summary(1000, n=2), summary(400), "2.5x less (n = 2: too few for an interval)"),
    (summary(0), summary(0), "the same"),
    (summary(0), summary(5), "more, from or to nothing"),
    (summary(5), summary(0), "less, from or to nothing"),
])
def test_comparison(base: Summary, other: Summary, words: str) -> None:
    assert compare_words(base, other) == words


@pytest.mark.parametrize("other, words", [
    (250, "2.5x more than order 0"), (100, "the same as order 0"),
    (101, "the same as order 0 within 1 %")])
def test_comparison_names_its_base(other: float, words: str) -> None:
    assert compare_words(summary(100), summary(other), "order 0") == words


# Medians of the design's table for SMMUv3: map, unmap.
KNOWN = {"order0": (1747392.0, 10752.0), "order4": (171168.0, 10768.0),
         "order8": (73616.0, 10752.0), "order9": (2768.0, 2432.0)}


def known(family: str, mix: str, layout: str) -> float | None:
    if mix not in KNOWN or layout != "scattered":
        return None
    return {"map_sgtable": KNOWN[mix][0], "unmap_sgtable": KNOWN[mix][1]}.get(family)


def test_known_machine(run: Load) -> None:
    result = headline.headline(run(cost=known))
    assert result.lead == (
        "On smmuv3 (arm-smmu-v3, Linux 6.12.95+deb12-arm64, strict), mapping a 10 MiB buffer of "
        "scattered order-4 chunks costs 10.2x less than with order-0 chunks (171,168 against "
        "1,747,392 guest instructions), unmapping the same within 1 %; order 8: mapping 23.7x less "
        "(73,616), unmapping the same; order 9: mapping 631x less (2,768), unmapping 4.4x less.")
    assert result.warnings == ()
    text = " ".join(result.more)
    assert ("IOMMU leaves granted, scattered: orders 0, 4 and 8: 2,560 x 4 KiB; "
            "order 9: 5 x 2 MiB." in text)
    assert "orders 0, 4 and 8: 6 TLBI + 6 SYNC; order 9: 1 TLBI + 1 SYNC." in text
    assert "Mix 9-4-0 against 8-4-0: allocating costs 5 % less" in text


def test_commands_of_virtio(run: Load) -> None:
    text = " ".join(headline.headline(run(machine="virtio-iommu")).more)
    assert "order 0: 2,557 MAP + 2 UNMAP; order 4: 160 MAP + 2 UNMAP" in text
    assert "order 0: 2,560 x 4 KiB; order 4: 160 x 64 KiB; order 8: 10 x 1 MiB" in text


def test_a_board_has_no_command_counts(run: Load) -> None:
    result = headline.headline(run(clock="hardware-ns", guest=False))
    assert " ns)" in result.lead and "instructions" not in result.lead
    assert not any("commands" in sentence for sentence in result.more)


def test_slower_is_said_as_such(run: Load) -> None:
    result = headline.headline(run(cost=lambda f, m, l: {"order0": 100.0, "order4": 300.0}.get(m)))
    assert "order-4 chunks costs 3.0x more than with order-0 chunks (300 against 100" in result.lead


def test_no_order0_no_ratio(run: Load) -> None:
    lead = headline.headline(run(mixes=("order4", "order9"), cost=known)).lead
    assert "costs 171,168 at order 4 and 2,768 at order 9 (guest instructions)" in lead
    assert "order 0 was not measured, so there is no ratio" in lead


def test_only_order0(run: Load) -> None:
    lead = headline.headline(run(mixes=("order0",), cost=known)).lead
    assert "costs 1,747,392 guest instructions; no other order was measured" in lead


def test_orders_are_those_recorded_not_those_of_the_names(tmp_path: pathlib.Path) -> None:
    document, arrays = make_run.build(Options(mixes=("order4", "8-4-0"), cost=lambda f, m, l: {
        "order4": 300.0, "8-4-0": 100.0}[m]))
    document["context"]["pagemix"]["mixes"] = {"order4": "0:low", "8-4-0": "9:mid 9:low"}
    found = load_run(make_run.write(tmp_path / "run", document, arrays))
    assert ("scattered order-9 chunks costs 3.0x less than with order-0 chunks (100 against 300 "
            in headline.headline(found).lead)
    (view,) = tables.views([found], ["guest"])
    table = tables.cost_by_order(view, "map_sgtable")
    assert table and [s.points.keys() for s in table.series] == [{"0", "9"}] * 2
    assert lifecycle.mixes_of(found, 10 << 20) == ["order4", "8-4-0"]


def test_only_mixes(run: Load) -> None:
    result = headline.headline(run(mixes=("8-4-0", "9-4-0")))
    assert "no single-order buffer was mapped with map_sgtable: nothing to compare" in result.lead
    assert any(s.startswith("Mix 9-4-0 against 8-4-0: ") for s in result.more)


def test_no_map_at_all(run: Load) -> None:
    lead = headline.headline(run(families=("alloc",))).lead
    assert "nothing to compare" in lead


def test_no_buffer_at_all(run: Load) -> None:
    assert "no buffer was measured" in headline.headline(run(mixes=())).lead


def test_map_without_unmap_says_nothing_of_unmap(run: Load) -> None:
    assert "unmapping" not in headline.headline(run(families=("map_sgtable",))).lead


def test_only_buddy_layout_is_not_called_scattered(run: Load) -> None:
    result = headline.headline(run(layouts=("buddy",)))
    assert "order-4 chunks laid out as allocated costs" in result.lead
    assert "scattered" not in result.lead + " ".join(result.more)


def test_only_cold_is_called_cold(run: Load) -> None:
    assert "mapping a cold 10 MiB buffer" in headline.headline(run(states=("cold",))).lead
    assert "cold" not in headline.headline(run(states=("cold", "warm"))).lead


def test_the_largest_size_leads(run: Load) -> None:
    assert "a 10 MiB buffer" in headline.headline(run(sizes=(1 << 20, 10 << 20))).lead


def test_emulated_time_claims_nothing(run: Load) -> None:
    result = headline.headline(run(clock="emulated-ns"))
    assert result.warnings == (
        "smmuv3: emulated time: noise, not evidence. No cost is claimed from this run.",)
    assert "times were taken but mean nothing" in result.lead
    assert not re.search(r"\d(x| %) (less|more)", result.lead + " ".join(result.more))
    assert any("6 TLBI + 6 SYNC" in sentence for sentence in result.more)  # counts are evidence


def test_an_interrupted_run_says_so(run: Load) -> None:
    assert "interrupted" in headline.headline(run(complete=False)).warnings[0]


@pytest.mark.parametrize("mode, words", [
    ("lazy", "The domain is lazy"), ("identity", "The domain is identity"),
    ("none", "No IOMMU translates")])
def test_domain_modes(tmp_path, mode: str, words: str) -> None:  # type: ignore[no-untyped-def]
    document, arrays = make_run.build(Options(mixes=("order0", "order9")))
    document["context"]["pagemix"]["iommu"]["domain_mode"] = mode
    result = headline.headline(load_run(make_run.write(tmp_path, document, arrays)))
    assert result.more[-1].startswith(words)


def test_text_has_a_row_a_buffer_and_the_clock(run: Load) -> None:
    text = headline.text([run("a"), run("b", machine="virtio-iommu")])
    assert text.count("medians in guest instructions") == 2
    rows = [line for line in text.splitlines() if re.match(r"\S+ +(scattered|buddy) ", line)]
    assert len(rows) == 2 * 8 * 2
    assert not re.search(r"\b(ns|seconds?)\b", text)
    noise = headline.text([run("c", clock="emulated-ns")])
    assert noise.startswith("WARNING: smmuv3: emulated time: noise, not evidence")
