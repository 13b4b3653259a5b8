# SPDX-License-Identifier: Apache-2.0
"""The published compaction and reclaim trace, and lines that are no trace."""

from __future__ import annotations

import pathlib

import pytest
from pagemix_plots.run import vmtrace
from pagemix_plots.run.fields import RunError

TRACE = pathlib.Path(__file__).resolve().parents[3] / "data" / "heap-alloc-2023.trace"


def test_published_sums() -> None:
    work = vmtrace.read(TRACE)
    assert work.events == 58
    assert work.us("compaction") == 12_606
    assert work.us("reclaim") == 4_973
    assert work.reclaimed == 209
    assert work.open == 0 and not work.others
    assert work.words == ("12.606 ms direct compaction, 4.973 ms direct reclaim, "
                          "209 pages reclaimed")


def test_spells_by_mode_and_status() -> None:
    work = vmtrace.read(TRACE)
    modes = work.by("compaction", "mode")
    assert set(modes) == {"async", "sync"}
    assert sum(us for _, us in modes.values()) == 12_606
    assert modes["sync"] == (4, 850 + 4_891 + 3_683 + 312)  # read off the four sync pairs
    assert set(work.by("compaction", "status")) == {"contended", "success", "partial_skipped"}
    assert work.by("reclaim", "order") == {"4": (10, 4_973)}


def test_tasks_are_kept_apart() -> None:
    text = """# tracer: nop
   kswapd0-44 [000] ....  1.000000: mm_compaction_begin: zone_start=0x0, mode=sync
       app-7  [001] ....  1.000010: mm_compaction_begin: zone_start=0x0, mode=async
       app-7  [002] ....  1.000030: mm_compaction_end: zone_start=0x0, mode=async status=success
   kswapd0-44 [000] ....  1.000100: mm_compaction_end: zone_start=0x0, mode=sync status=complete
       app-7  [002] ....  1.000200: sched_switch: prev_comm=app
       app-7  [002] ....  1.000300: mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=GFP_KERNEL
"""
    work = vmtrace.parse(text)
    assert sorted(s.us for s in work.spells) == [20, 100]
    assert work.open == 1 and work.others == {"sched_switch": 1}
    assert work.words.endswith("(1 not ended)")


@pytest.mark.parametrize("text, message", [
    ("nonsense", "line 1: not a trace event: 'nonsense'"),
    ("\n a-1 [0] .... 1.0: mm_compaction_end: mode=sync", "line 2: compaction of task 1 ends "
     "without a begin"),
    (" a-1 [0] .... 1.0: mm_compaction_begin: x=1\n" * 2, "line 2: .* begins twice"),
    (" a-1 [0] .... 2.0: mm_compaction_begin: x=1\n a-1 [0] .... 1.0: mm_compaction_end: x=1",
     "line 2: .* ends before it begins"),
])
def test_bad_lines_are_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        vmtrace.parse(text)


def test_bad_files_are_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RunError, match="missing.txt: No such file"):
        vmtrace.read(tmp_path / "missing.txt")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(RunError, match="bytes: byte 0 is not UTF-8"):
        vmtrace.read(tmp_path / "bytes")
    (tmp_path / "bad").write_text("x")
    with pytest.raises(RunError, match="bad: line 1"):
        vmtrace.read(tmp_path / "bad")
