# SPDX-License-Identifier: Apache-2.0
"""The page: self-contained, complete, honest about clock and mismatches."""

from __future__ import annotations

import pathlib
import re
import subprocess
from collections.abc import Callable
from typing import Any

import make_run
import pytest
from page_words import words_of
from pagemix_plots.pages import report
from pagemix_plots.run.load import Run, load_run
from pagemix_plots.stats.stats import Summary

Load = Callable[..., Run]
FEW: dict[str, Any] = {"mixes": ("order0", "order9"), "families": ("map_sgtable",)}
TIME_WORDS = re.compile(r"\b(ns|us|ms|(nano|micro|milli)?seconds?)\b", re.I)


def page_of(out: pathlib.Path, *runs: Run) -> str:
    return report.write(list(runs), out).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(both: list[pathlib.Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(tmp_path_factory.mktemp("page"), *map(load_run, both))


def test_page_is_self_contained(page: str) -> None:
    assert "http" not in page
    assert "<script" not in page and "@import" not in page and "src=" not in page
    for link in re.findall(r'(?:href=|url\()"?([^")\s>]+)', page):
        assert link.startswith("#") or link == "data:,", link


def test_instructions_are_never_called_time(page: str) -> None:
    found = TIME_WORDS.search(words_of(page))
    assert not found, words_of(page)[found.start() - 40:found.end() + 40]


def test_page_holds_what_a_reader_needs(page: str) -> None:
    words = words_of(page)
    for text in (
        "On smmuv3 (arm-smmu-v3, Linux 6.12.95+deb12-arm64, strict), mapping a 10 MiB buffer",
        "On virtio-iommu (virtio-iommu,",
        "tlbi_predicted and smmu_cmd_tlbi are equal in all 128 entries that carry both.",
        "map_calls and viommu_map are equal in all 128 entries that carry both.",
        "sample_cost/timer:kernel: median 32 guest instructions around nothing (n = 40), "
        "1.9 % of the smallest median it is in (1,650).",
        "sample_cost/timer:user: median 48 guest instructions around nothing (n = 40), "
        "0.019 % of the smallest median it is in (252,200).",
        "Nothing is subtracted.", "Nothing was skipped.",
        "guest/pagemix-guest run --machine smmuv3", "guest: qemu version 7.2.22",
        "console=ttyAMA0 nokaslr iommu.strict=1", "4 KiB, 2 MiB, 1 GiB (0x40201000)",
        "every power of two from 4 KiB", "Cortex-A72", "0123456789ab", "run.bytes 10M",
        "domain mode strict", "8:high 4:high 0:low", "MemFree 900,000 KiB",
    ):
        assert text in words, text
    # Seven kinds for each machine, and a figure of each family.
    assert page.count("<figure>") == 2 * (7 + 6)
    assert "MISMATCH" not in page


def test_table_has_a_row_a_buffer(page: str) -> None:
    section = page[page.index('<section id="table">'):page.index('<section id="caveats">')]
    assert section.count("<tr>") == 2 * (1 + 8 * 2)
    start = section.index("<tbody>")
    first = words_of(section[start:section.index("</tr>", start)])
    assert first.split() == ("order0 scattered 1,573,600 1,652,800 10,752 2,446,400 252,200 "
                             "2,560 x order 0 2,557 2,560 x 4 KiB 6 TLBI + 6 SYNC").split()


def test_every_benchmark_is_listed(page: str, both: list[pathlib.Path]) -> None:
    for name in load_run(both[0]).benchmarks:
        assert f"<th>{name}</th>" in page


def test_files_beside_the_page(run: Load, tmp_path: pathlib.Path) -> None:
    report.write([run("a"), run("b", machine="virtio-iommu")], tmp_path / "deep" / "out")
    files = sorted(f.name for f in (tmp_path / "deep" / "out" / "plots").iterdir())
    kinds = ("alloc-cost", "chunks", "commands", "leaves", "map-cost", "unmap-cost", "vfio-cost")
    kinds += tuple(f"family-{family}" for family in (
        "alloc", "map-sgtable", "sample-cost", "unmap-sgtable", "vfio-map", "vfio-unmap"))
    names = [f"{kind}-{machine}" for kind in kinds for machine in ("smmuv3", "virtio-iommu")]
    assert files == sorted(f"{name}.{kind}" for name in [*names, "map-cost"]
                           for kind in ("svg", "csv"))
    sizes = sum(f.stat().st_size for f in (tmp_path / "deep" / "out").rglob("*") if f.is_file())
    assert sizes < 1_000_000  # two machines together; a published folder holds one


def test_mismatch_is_loud(tmp_path: pathlib.Path) -> None:
    document, arrays = make_run.build(make_run.Options())
    name = "map_sgtable/mix:order0/layout:scattered/bytes:10485760"
    for entry in document["benchmarks"]:
        if entry["name"] == name:
            entry["smmu_cmd_tlbi"] = 7.0
    page = page_of(tmp_path / "out", load_run(make_run.write(tmp_path / "run", document, arrays)))
    banner = re.search(r'<p class="banner" role="alert">(.*?)</p>', page)
    assert banner and "MISMATCH" in banner.group(1) and name in banner.group(1)
    assert f"{name}, block 3: predicted 6, counted 7" in page
    assert "differ in 4 of 128 entries that carry both, in map_sgtable (warm)." in page


def test_emulated_time_has_a_banner_at_the_table_too(run: Load, tmp_path: pathlib.Path) -> None:
    page = page_of(tmp_path / "out", run(clock="emulated-ns", **FEW))
    assert page.count("emulated time: noise, not evidence") >= 4
    assert page.index("emulated time: noise") < page.index('<section id="headline">')
    assert "No cost is claimed" in page


def test_incomplete_and_skipped_are_said(run: Load, tmp_path: pathlib.Path) -> None:
    page = page_of(tmp_path, run(complete=False, skipped=(("vfio_map", "no IOMMU group"),),
                              **FEW))
    assert "the run was interrupted" in page
    assert "Skipped: vfio_map: no IOMMU group" in page
    assert "Nothing was skipped" not in page


def test_intervals_and_few_samples_show_in_the_table(run: Load, tmp_path: pathlib.Path) -> None:
    page = page_of(tmp_path / "a", run("a", clock="hardware-ns", guest=False, **FEW))
    assert re.search(r"<small>-[\d.]+ to \+[\d.]+ %</small>", page)
    page = page_of(tmp_path / "b", run("b", blocks=1, iterations=2, **FEW))
    assert "<small>n = 2</small>" in page


@pytest.mark.parametrize("low, high, words", [
    (999.5, 1000.5, "within 0.1 %"), (998, 1015, "-0.2 to +1.5 %"), (900, 1400, "-10 to +40 %")])
def test_interval_words(low: float, high: float, words: str) -> None:
    summary = Summary(40, 1000.0, low, high, None, None, None, 2000.0)
    assert report._interval(summary) == words


def test_a_heavy_sample_cost_is_flagged(run: Load, tmp_path: pathlib.Path) -> None:
    light = page_of(tmp_path / "a", run("a", **FEW))
    heavy = page_of(tmp_path / "b", run("b", cost=lambda f, m, l: 100.0, **FEW))
    assert 'class="bad">The cost of one sample' not in light
    assert 'class="bad">The cost of one sample' in heavy
    assert "32 % of the smallest median it is in (100)" in words_of(heavy)


def test_names_from_a_run_are_escaped(tmp_path: pathlib.Path) -> None:
    document, arrays = make_run.build(make_run.Options(**FEW))
    document["context"]["pagemix"]["machine"] = "<b>&\"x\"</b>"
    document["context"]["pagemix"]["kernel"]["cmdline"] = "<script>alert(1)</script>"
    page = page_of(tmp_path / "out", load_run(make_run.write(tmp_path / "run", document, arrays)))
    assert "<b>" not in page and "<script" not in page
    assert "&lt;script&gt;" in page


def test_default_output_is_the_runs_folder(program: pathlib.Path, tmp_path: pathlib.Path,
                                           folder: Callable[..., pathlib.Path]) -> None:
    one, two = folder("one", **FEW), folder("two", machine="virtio-iommu", **FEW)

    def call(*args: object) -> str:
        return subprocess.run([program, "report", *map(str, args)], cwd=tmp_path, check=True,
                              capture_output=True, text=True).stdout.strip()
    assert call(one / "run.json") == str(one / "report.html")
    assert call(one, two) == "out/report.html" and (tmp_path / "out" / "report.html").is_file()
    assert call(one, two, "--out", "x/y") == "x/y/report.html"
    blocked = tmp_path / "file"
    blocked.touch()
    failed = subprocess.run([program, "report", one, "--out", blocked], capture_output=True,
                            text=True)
    assert failed.returncode == 1 and failed.stderr.count("\n") == 1
    assert str(blocked) in failed.stderr


@pytest.mark.parametrize("args", [[], ["report"], ["paint", "x"], ["report", "x", "--colour"]])
def test_wrong_command_line_exits_2(program: pathlib.Path, args: list[str]) -> None:
    result = subprocess.run([program, *args], capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr.startswith("usage: pagemix-report")
