# SPDX-License-Identifier: Apache-2.0
"""Blocks of one order by state of memory: rates and counts worked out by hand."""

from __future__ import annotations

import pathlib

import make_run
import make_use
import numpy as np
import pytest
from pagemix_plots.figures import gallery_alloc
from pagemix_plots.run.load import load_run
from pagemix_plots.tables import order_speed


@pytest.fixture(scope="module")
def speeds(tmp_path_factory: pytest.TempPathFactory) -> list[order_speed.Speed]:
    return order_speed.of_run(_run(tmp_path_factory.mktemp("speed") / "run"))


def _run(folder: pathlib.Path):  # type: ignore[no-untyped-def]
    document, arrays = make_run.build(make_run.Options(families=()))
    for memory, cost, obtained, stalls in (("pinned", 9000.0, 1, 5), ("fresh", 1000.0, 4, 0)):
        name = f"order_speed/order:4/memory:{memory}/bytes:262144"
        for block in range(2):
            samples = np.full(4 if obtained == 4 else 2, cost)
            document["benchmarks"].append(make_use.entry(
                name, samples, block, {"blocks_wanted": 4.0, "blocks": float(obtained),
                                       "compact_stall": float(stalls)}, "instructions"))
            arrays[name] = np.concatenate([arrays.get(name, np.empty(0)), samples])
    return load_run(make_run.write(folder, document, arrays))


def test_states_stand_in_the_order_of_distress(speeds: list[order_speed.Speed]) -> None:
    assert [s.memory for s in speeds] == ["fresh", "pinned"]


def test_rate_is_of_blocks_obtained_and_all_attempts(speeds: list[order_speed.Speed]) -> None:
    fresh, pinned = speeds
    assert fresh.per_billion == pytest.approx(1e9 / 1000)  # 8 blocks in 8 attempts of 1000
    assert pinned.per_billion == pytest.approx(2e9 / 36000)  # 2 blocks in 4 attempts of 9000


def test_counts_are_those_of_all_sets(speeds: list[order_speed.Speed]) -> None:
    fresh, pinned = speeds
    assert (fresh.wanted, fresh.obtained, fresh.counts["compact_stall"]) == (8, 8, 0)
    assert (pinned.wanted, pinned.obtained, pinned.counts["compact_stall"]) == (8, 2, 10)
    assert pinned.label == "pinned, order 4\n2 of 8, 10 stalls"


def test_figure_and_its_data(tmp_path: pathlib.Path) -> None:
    groups = gallery_alloc.groups([_run(tmp_path / "run")], ["guest"])
    (figure,) = [f for g in groups for f in g.figures]
    assert figure.slug == "order-speed-guest"
    assert "pinned, order 4: 2 of 8, 10 stalls, 55,556 blocks in 1e9 guest instructions" \
        in figure.svg
    head, *rows = figure.rows
    assert [dict(zip(head, row, strict=True))["blocks"] for row in rows] == ["8", "2"]
