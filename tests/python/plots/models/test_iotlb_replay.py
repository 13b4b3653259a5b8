# SPDX-License-Identifier: Apache-2.0
"""A trace of QEMU through the model: agreement, and that disagreement is seen."""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Iterator

import pytest
from pagemix_plots.models.iotlb import FIFO, FLUSH, Shape
from pagemix_plots.models.iotlb_replay import Replay

# QEMU 7.2 gives no vmid, later ones do.
TRACE = """smmu_iotlb_lookup_miss IOTLB cache MISS asid=1 addr=0x1000 hit=0 miss=1 hit rate=0
smmu_iotlb_insert IOTLB ++ asid=1 addr=0x1000 tg=1 level=3
smmu_iotlb_lookup_hit IOTLB cache HIT asid=1 addr=0x1000 hit=1 miss=1 hit rate=50
smmu_iotlb_lookup_miss IOTLB cache MISS asid=1 vmid=-1 addr=0x200000 hit=1 miss=2 hit rate=33
smmu_iotlb_insert IOTLB ++ asid=1 vmid=-1 addr=0x200000 tg=1 level=2
smmu_iotlb_lookup_hit IOTLB cache HIT asid=1 vmid=-1 addr=0x3ff000 hit=2 miss=2 hit rate=50
""".splitlines()
HIT = TRACE[2]
ANOTHER_SPACE = "smmu_iotlb_lookup_hit IOTLB cache HIT asid=2 addr=0x1000 hit=1 miss=1 hit rate=50"


def miss(page: int, *, room: bool = False) -> Iterator[str]:
    """A lookup that misses and its insertion; `room`: all is emptied for it."""
    what = f"asid=1 addr={page << 12:#x}"
    yield f"smmu_iotlb_lookup_miss IOTLB cache MISS {what} hit=0 miss=1 hit rate=0"
    if room:
        yield "smmu_iotlb_inv_all IOTLB invalidate all"
    yield f"smmu_iotlb_insert IOTLB ++ {what} tg=1 level=3"


def test_a_trace_that_agrees() -> None:
    found = Replay().read(TRACE)
    assert (found.hits, found.misses, found.differing) == (2, 2, 0)
    assert found.levels == {3: 1, 2: 1}
    assert (found.tlb.hits, found.tlb.misses) == (2, 2)


@pytest.mark.parametrize("line", [
    "smmuv3_s1_range_inval vmid=0 asid=1 addr=0x0 tg=1 num_pages=0x2 ttl=0 leaf=1",
    "smmuv3_s1_range_inval vmid=0 asid=1 addr=0x1000 tg=0 num_pages=0x1 ttl=3 leaf=1",
    "smmu_iotlb_inv_asid IOTLB invalidate asid=1",
    "smmu_iotlb_inv_all IOTLB invalidate all"])
def test_what_is_invalidated_misses(line: str) -> None:
    assert Replay().read([*TRACE, line, HIT]).differing == 1
    assert Replay().read([*TRACE, line, *TRACE[:3]]).differing == 0


@pytest.mark.parametrize("line", [
    "smmuv3_s1_range_inval vmid=0 asid=1 addr=0x2000 tg=1 num_pages=0x2 ttl=0 leaf=1",
    "smmuv3_s1_range_inval vmid=0 asid=2 addr=0x1000 tg=1 num_pages=0x1 ttl=0 leaf=1",
    "smmu_iotlb_inv_asid IOTLB invalidate asid=2"])
def test_what_is_not_invalidated_hits(line: str) -> None:
    assert Replay().read([*TRACE, line, HIT]).differing == 0


def test_disagreement_is_seen() -> None:
    """Through one entry the hits cannot all be; a miss of what is held is seen, and a hit of
    another address space."""
    assert Replay(Shape(1, policy=FLUSH)).read([*TRACE, HIT]).differing == 1
    assert Replay().read(TRACE + TRACE[:2]).differing == 1
    assert Replay().read([*TRACE, ANOTHER_SPACE]).differing == 1


def test_room_is_made_as_qemu_makes_it() -> None:
    """Two entries: the third insertion empties, in the trace and in the model."""
    full = [*miss(1), *miss(2), *miss(3, room=True)]
    found = Replay(Shape(2, policy=FLUSH)).read(full)
    assert (found.emptied, found.overflows, found.differing, len(found.tlb)) == (1, 1, 0, 1)
    larger = Replay(Shape(3, policy=FLUSH)).read(full)
    assert (larger.emptied, larger.overflows, larger.differing) == (1, 0, 0)
    assert larger.read(miss(1)).differing == 1  # it still holds what QEMU does not


def test_another_shape_on_the_same_accesses() -> None:
    """1 2 1 3 1 through two entries that forget the least recently used: 1 2 and 3 miss, and 3
    takes the place of 2. QEMU, which holds all three, hits twice."""
    again = "smmu_iotlb_lookup_hit IOTLB cache HIT asid=1 addr=0x1000 hit=1 miss=1 hit rate=50"
    lines = [*miss(1), *miss(2), again, *miss(3), again]
    found = Replay(Shape(2)).read(lines)
    assert (found.tlb.hits, found.tlb.misses, found.differing) == (2, 3, 0)
    # First in, first out: 3 takes the place of 1, which then misses.
    fifo = Replay(Shape(2, policy=FIFO)).read(lines)
    assert (fifo.tlb.hits, fifo.tlb.misses, fifo.differing) == (1, 4, 1)
    # A larger one than QEMU's still holds what that looks up anew.
    larger = Replay(Shape(3)).read([*lines, *miss(2)])
    assert (larger.tlb.hits, larger.tlb.misses, larger.differing) == (3, 3, 1)


def test_command(tmp_path: pathlib.Path, program: pathlib.Path) -> None:
    trace = tmp_path / "trace.log"
    trace.write_text("\n".join(TRACE) + "\n")

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, "iotlb", *map(str, words)], capture_output=True, text=True)

    assert run(trace).stdout == (f"{trace}: QEMU: 2 hits, 2 misses; model: 2 hits, 2 misses, 0 "
                                 "lookups answered otherwise\n")
    assert "model: 2 hits, 2 misses, 0" in run(trace, "--entries", 4, "--ways", 2, "--policy",
                                               "lru").stdout
    for words, message in (((trace, "--entries", 0), "0 entries: want at least 1"),
                           ((trace, "--ways", 4), "flush has no ways"),
                           ((tmp_path / "none",), "none: No such file"),
                           ((program,), "holds no smmu_iotlb_lookup event")):
        failed = run(*words)
        assert failed.returncode == 1 and message in failed.stderr
        assert failed.stderr.count("\n") == 1 and failed.stdout == ""
