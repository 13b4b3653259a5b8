# SPDX-License-Identifier: Apache-2.0
"""QEMU's own IOTLB against the model: the trace of an SMMUv3 run through it, lookup by lookup.

Events of hw/arm/trace-events, QEMU 7.2 and later: smmu_iotlb_lookup_hit,
smmu_iotlb_lookup_miss, smmu_iotlb_insert, and the invalidations
smmu_iotlb_inv_all, smmu_iotlb_inv_asid and smmuv3_s1_range_inval. A trace without
the invalidations replays as long as none took place.
"""

from __future__ import annotations

import pathlib
import re
from collections import Counter
from collections.abc import Iterable

from ..run.fields import RunError
from .iotlb import QEMU_SMMU, Iotlb, Leaf, Shape

LEAF_BYTES = {1: 1 << 30, 2: 1 << 21, 3: 1 << 12}  # by level, 4 KiB granule

_ASID = r"asid=(?P<asid>-?\d+)"
_LOOKUP = re.compile(rf"IOTLB cache (?P<what>HIT|MISS) {_ASID}.*?addr=0x(?P<addr>[0-9a-f]+)")
_INSERT = re.compile(rf"IOTLB \+\+ {_ASID}.*?addr=0x(?P<addr>[0-9a-f]+) tg=\d+ "
                     r"level=(?P<level>\d+)")
_RANGE = re.compile(rf"s1_range_inval .*?{_ASID} addr=0x(?P<addr>[0-9a-f]+) tg=(?P<tg>\d+) "
                    r"num_pages=0x(?P<pages>[0-9a-f]+)")
_SPACE = re.compile(rf"IOTLB invalidate {_ASID}(?!.*addr=)")
_ALL = "IOTLB invalidate all"


class Replay:
    """How the model and QEMU agree on the lines fed so far."""

    def __init__(self, shape: Shape = QEMU_SMMU) -> None:
        self.tlb = Iotlb(shape)
        self.hits = 0  # as traced
        self.misses = 0
        self.differing = 0  # lookups that the model answers otherwise
        self.emptied = 0  # by QEMU, to make room, as traced
        self.overflows = 0  # insertions for which the model had to make room
        self.levels: Counter[int] = Counter()  # insertions
        self._inserting = False  # between QEMU's miss and its insertion
        self._missed = False  # the model, in the last lookup
        self._inserted: dict[Leaf, int] = {}  # by QEMU, and when

    def read(self, lines: Iterable[str]) -> Replay:
        for line in lines:
            self.feed(line)
        return self

    def feed(self, line: str) -> None:
        if "IOTLB" not in line and "s1_range_inval" not in line:
            return
        if (found := _LOOKUP.search(line)) is not None:
            self._lookup(found["what"] == "HIT", int(found["addr"], 16), int(found["asid"]))
        elif (found := _INSERT.search(line)) is not None:
            self._insert(int(found["addr"], 16), int(found["level"]), int(found["asid"]))
        elif (found := _RANGE.search(line)) is not None:
            granule = 10 + 2 * (int(found["tg"]) or 1)  # without range support: 4 KiB
            self.tlb.invalidate(int(found["addr"], 16), int(found["pages"], 16) << granule,
                                int(found["asid"]))
        elif (found := _SPACE.search(line)) is not None:
            self.tlb.clear_space(int(found["asid"]))
        elif _ALL in line:
            if self._inserting:  # to make room: the model is to do that by itself
                self.emptied += 1
            else:
                self.tlb.clear()

    def _lookup(self, hit: bool, address: int, asid: int) -> None:
        leaves = [Leaf(address // size * size, size, asid) for size in LEAF_BYTES.values()]
        held = next((leaf for leaf in leaves if self.tlb.holds(leaf)), None)
        self.differing += hit != (held is not None)
        self.hits += hit
        self.misses += not hit
        self._inserting = not hit
        self._missed = held is None
        if held is None and hit:  # QEMU inserted it before; a smaller model has to do so again
            known = [leaf for leaf in leaves if leaf in self._inserted]
            held = max(known, key=lambda leaf: self._inserted[leaf]) if known else None
        if held:
            self.tlb.access(held)

    def _insert(self, address: int, level: int, asid: int) -> None:
        size = LEAF_BYTES[level]
        leaf = Leaf(address // size * size, size, asid)
        self.levels[level] += 1
        self._inserted[leaf] = sum(self.levels.values())
        if self._missed:
            self.overflows += len(self.tlb) >= self.tlb.shape.entries
            self.tlb.access(leaf)
        self._inserting = self._missed = False

    @property
    def words(self) -> str:
        return (f"QEMU: {self.hits:,} hits, {self.misses:,} misses; model: {self.tlb.hits:,} hits, "
                f"{self.tlb.misses:,} misses, {self.differing:,} lookups answered otherwise")


def read(path: str | pathlib.Path, shape: Shape = QEMU_SMMU) -> Replay:
    """A trace file; RunError names the file, also when it holds no lookup."""
    file = pathlib.Path(path)
    try:
        with file.open("r", encoding="utf-8", errors="replace") as lines:
            found = Replay(shape).read(lines)
    except OSError as error:
        raise RunError(f"{file}: {error.strerror or error}") from None
    if not found.hits + found.misses:
        raise RunError(f"{file}: holds no smmu_iotlb_lookup event of QEMU")
    return found
