# SPDX-License-Identifier: Apache-2.0
"""Hardware profiles and projections, by hand; published figures with their misses."""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Callable

import pytest
from pagemix_plots.answers import project, published
from pagemix_plots.models import hardware
from pagemix_plots.models.hardware import Range
from pagemix_plots.run.fields import RunError
from pagemix_plots.run.load import Run

Load = Callable[..., Run]
GOOD = """[hardware]
title = test
iotlb_entries = 64 128
iotlb_source = a
[instruction]
ns = 0.5 1
source = b
[smmu_cmd_sync]
ns = 240 550
source = c
"""


@pytest.mark.parametrize("name", hardware.known())
def test_every_profile_loads_and_cites(name: str) -> None:
    found = hardware.load(name)
    assert hardware.INSTRUCTION in found.prices
    for price in found.prices.values():
        assert len(price.source) > 10 and price.ns.low <= price.ns.high


def test_there_are_profiles() -> None:
    assert {"arm-smmuv3-server", "intel-broadwell", "fast-and-safe"} <= set(hardware.known())


@pytest.mark.parametrize("change, message", [
    (("ns = 240 550", "ns = 550 240"), r"\[smmu_cmd_sync\] ns: want two numbers, the lower first"),
    (("ns = 240 550", "ns = 240"), r"\[smmu_cmd_sync\] ns: want two numbers"),
    (("ns = 240 550", "ns = a b"), r"\[smmu_cmd_sync\] ns: want two numbers"),
    (("ns = 240 550", "ns = -1 550"), r"\[smmu_cmd_sync\] ns: want two numbers"),
    (("source = c", ""), r"\[smmu_cmd_sync\] source: missing"),
    (("[smmu_cmd_sync]", "[sync]"), r"\[sync\]: want \[hardware\] or one of instruction"),
    (("[instruction]", "[iotlb_miss]"), r"no section \[instruction\]"),
    (("iotlb_entries = 64 128", "iotlb_entries = 0 1"), "iotlb_entries: want at least 1"),
    (("[hardware]", "hardware"), "no section headers"),
    (("title = test", "title = test\ntitle = b"), "title"),
])
def test_bad_profiles_are_named(tmp_path: pathlib.Path, change: tuple[str, str], message: str
                                ) -> None:
    file = tmp_path / "board.ini"
    file.write_text(GOOD.replace(*change, 1))
    with pytest.raises(RunError, match=f"board.ini: .*{message}"):
        hardware.load(str(file))


def test_an_unknown_profile_lists_the_known() -> None:
    with pytest.raises(RunError, match="nope.ini: No such file.*arm-smmuv3-server"):
        hardware.load("nope")


@pytest.fixture
def prices(tmp_path: pathlib.Path) -> hardware.Hardware:
    file = tmp_path / "board.ini"
    file.write_text(GOOD)
    return hardware.load(str(file))


def test_projection_by_hand(run: Load, prices: hardware.Hardware) -> None:
    """Unmap of order 0: 10,752 instructions at 0.5 to 1 ns, 6 syncs at 240 to 550 ns."""
    found = {p.benchmark.name.text: p for p in project.project(run(mixes=("order0",)), prices)}
    one = found["unmap_sgtable/mix:order0/layout:scattered/bytes:10485760"]
    assert one.ns == Range(10_752 * 0.5 + 6 * 240, 10_752 + 6 * 550)
    assert one.unpriced == ("smmu_cmd_tlbi",)
    mapped = found["map_sgtable/mix:order0/layout:scattered/bytes:10485760"]
    assert mapped.ns == Range(1_652_800 * 0.5, 1_652_800)


def test_what_if_of_contiguous_leaves(run: Load, prices: hardware.Hardware) -> None:
    found = {w.mix: w for w in project.what_if(run(), prices)}
    four = found["order4"]
    assert four.leaves == {4096: 2560} and four.leaves_with == {65536: 160}
    assert four.reach == Range(64 * 4096, 128 * 4096)
    assert four.reach_with == Range(64 * 65536, 128 * 65536)
    assert found["order0"].leaves_with == {4096: 2560}
    assert found["order9"].leaves_with == {2 << 20: 5}
    mixed = found["8-4-0"]  # 9 of order 8, 12 of order 4, 64 of order 0
    assert mixed.leaves_with == {65536: 9 * 16 + 12, 4096: 64}


def test_text_is_headed_and_narrow(run: Load, prices: hardware.Hardware) -> None:
    text = project.text(run(), "smmuv3", prices)
    assert text.startswith("PROJECTION, not a measurement")
    assert max(map(len, text.splitlines())) <= 72
    assert "without smmu_cmd_tlbi: no price in the profile" in text.replace("\n", " ")


def test_only_instructions_are_priced(run: Load, prices: hardware.Hardware) -> None:
    for clock in ("hardware-ns", "emulated-ns"):
        with pytest.raises(RunError, match=f"clock {clock}: a projection is made from"):
            project.project(run(clock, clock=clock), prices)


def test_published_figures() -> None:
    """What is known to hit and what is known to miss; the misses are part of the answer."""
    found = {check.what: check for check in published.checks()}
    assert len(found) >= 20
    hits = {what for what, check in found.items() if check.hit}
    assert {"map of 64 KiB of order 0", "map of 32768 KiB of order 0",
            "strict against lazy, a 4 KiB read, Grace, 8 SSDs",
            "strict against lazy, a 1,500-byte packet, Graviton 4",
            "read latency at a window of 4096 KiB",
            "QEMU: misses of a second pass over 512 pages, 4 KiB leaves"} <= hits
    assert {"read latency at a window of 512 KiB", "page-table-only map of 256 pages",
            "TLB misses with leaves of 4 KiB"} & hits == set()


def test_strict_figures_by_hand() -> None:
    """2.8 M and 16.4 M reads a second: 357.1 and 61.0 ns apart by 296; packets by 504."""
    found = {check.what: check for check in published.checks()}
    assert found["strict against lazy, a 4 KiB read, Grace, 8 SSDs"].published == pytest.approx(
        296.2, abs=0.1)
    assert found["strict against lazy, a 1,500-byte packet, Graviton 4"].published == pytest.approx(
        503.9, abs=0.1)


def test_command(folder: Callable[..., pathlib.Path], program: pathlib.Path) -> None:
    def projected(*args: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, "project", *map(str, args)], capture_output=True, text=True)

    alone = projected()
    assert alone.returncode == 0 and "MISS by" in alone.stdout and "hit:" in alone.stdout
    run = folder(mixes=("order0", "order4"))
    assert projected(run, "--hardware", "arm-smmuv3-server").returncode == 0
    assert "want --hardware, one of" in projected(run).stderr
