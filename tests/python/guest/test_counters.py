# SPDX-License-Identifier: Apache-2.0
"""configs/counters.ini: a new counter is a section there."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagemix_guest.counters import FILE, load
from pagemix_guest.errors import UsageError
from pagemix_guest.events import counters_of, merge, parse_trace

TRACE = ["@pagemix begin map_sgtable/x 0", "new_iommu_flush pages=3", "new_iommu_flush pages=1",
         "new_iommu_flush pages=2", "@pagemix end map_sgtable/x 0 2"]


def lines() -> list[bytes]:
    found = []
    for line in TRACE:
        if line.startswith("@"):
            found += [f"pl011_write addr 0x0 value 0x{ord(c):08x} reg DR\n".encode()
                      for c in line + "\n"]
        else:
            found.append(f"{line}\n".encode())
    return found


def test_one_section_makes_a_counter_of_an_unknown_event(tmp_path: Path) -> None:
    file = tmp_path / "counters.ini"
    file.write_text(FILE.read_text() + "\n[new_flush]\nevents = new_iommu_flush pages=\\d+\n")
    known = load(file)
    run = {"benchmarks": [{"name": "map_sgtable/x", "run_type": "iteration"}]}
    parsed = parse_trace(lines(), known)
    assert not parsed.problems
    merge(run, parsed.phases, counters_of(["new_iommu_flush"], known))
    assert run["benchmarks"][0]["new_flush"] == 1.5
    assert counters_of(["new_iommu_flush"]) == []  # nothing else names it


@pytest.mark.parametrize("text, why", [
    ("[a]\nevent = x y\n", "key 'event' is not known, want events, half"),
    ("[a]\nword = A\n", "[a]: events: missing"),
    ("[a]\nevents =\n", "events: empty"),
    ("[a]\nevents = x (\n", "'(' is not a regular expression"),
    ("events = x y\n", "no section headers"),
])
def test_a_bad_file_is_named(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "counters.ini"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        load(file)
    assert str(file) in str(caught.value) and why in str(caught.value)


def test_a_counter_of_boards_alone_needs_no_event(tmp_path: Path) -> None:
    file = tmp_path / "counters.ini"
    file.write_text("[walks]\npmu = unit_/walk\n[maps]\nevents = map \\d+\n")
    assert list(load(file)) == ["map"]
