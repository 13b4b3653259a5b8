# SPDX-License-Identifier: Apache-2.0
"""A model of an IOTLB: entries, ways, replacement, leaf sizes, on an order of accesses."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

FLUSH, LRU, FIFO, RANDOM = "flush", "lru", "fifo", "random"
POLICIES = (FLUSH, LRU, FIFO, RANDOM)
MASK = (1 << 64) - 1

# What is known of real ones.
QEMU_SMMU_ENTRIES = 256  # hw/arm/smmu-common.h, SMMU_IOTLB_MAX_SIZE; emptied when full
PCIE_BENCH_ENTRIES = 64  # Broadwell: its 4 KiB reach of 256 KiB (SIGCOMM 2018)


@dataclass(frozen=True)
class Shape:
    """`ways` 0: fully associative. FLUSH empties all of it when an entry would be one too many."""

    entries: int
    ways: int = 0
    policy: str = LRU

    def __post_init__(self) -> None:
        if self.entries < 1:
            raise ValueError(f"{self.entries} entries: want at least 1")
        if self.ways and self.entries % self.ways:
            raise ValueError(f"{self.ways} ways: want a divisor of {self.entries} entries")
        if self.policy not in POLICIES:
            raise ValueError(f"policy {self.policy!r}: want one of {', '.join(POLICIES)}")
        if self.policy == FLUSH and self.ways:
            raise ValueError("policy flush has no ways: all of it is emptied")


QEMU_SMMU = Shape(QEMU_SMMU_ENTRIES, policy=FLUSH)


@dataclass(frozen=True)
class Leaf:
    """A last-level entry: [iova, iova + bytes) of an address space."""

    iova: int
    bytes: int
    asid: int = 0


@dataclass
class Iotlb:
    """State of one IOTLB. access() tells hits from misses; invalidate() and clear() are the
    commands that a driver sends."""

    shape: Shape
    seed: int = 1
    hits: int = 0
    misses: int = 0
    _sets: list[OrderedDict[Leaf, None]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ways = self.shape.ways or self.shape.entries
        self._sets = [OrderedDict() for _ in range(self.shape.entries // ways)]
        self._ways = ways
        self._random = np.random.default_rng(self.seed)

    def access(self, leaf: Leaf) -> bool:
        """True for a hit. A miss inserts the leaf."""
        entries = self._sets[(leaf.iova // leaf.bytes) % len(self._sets)]
        if leaf in entries:
            self.hits += 1
            if self.shape.policy == LRU:
                entries.move_to_end(leaf)
            return True
        self.misses += 1
        if len(entries) >= self._ways:
            self._make_room(entries)
        entries[leaf] = None
        return False

    def _make_room(self, entries: OrderedDict[Leaf, None]) -> None:
        if self.shape.policy == FLUSH:
            entries.clear()
        elif self.shape.policy == RANDOM:
            victim = list(entries)[int(self._random.integers(len(entries)))]
            del entries[victim]
        else:
            entries.popitem(last=False)

    def holds(self, leaf: Leaf) -> bool:
        return any(leaf in entries for entries in self._sets)

    def __len__(self) -> int:
        return sum(map(len, self._sets))

    def clear(self) -> None:
        for entries in self._sets:
            entries.clear()

    def clear_space(self, asid: int) -> None:
        """Forgets every leaf of an address space."""
        self._forget(lambda leaf: leaf.asid == asid)

    def invalidate(self, iova: int, size: int, asid: int = 0) -> None:
        """Forgets every leaf of an address space that touches [iova, iova + size)."""
        self._forget(lambda leaf: leaf.asid == asid and leaf.iova < iova + size
                     and iova < leaf.iova + leaf.bytes)

    def _forget(self, which: Callable[[Leaf], bool]) -> None:
        for entries in self._sets:
            for leaf in [leaf for leaf in entries if which(leaf)]:
                del entries[leaf]


@dataclass(frozen=True)
class MappedBuffer:
    """A mapped buffer: its leaves, ascending and without gaps."""

    leaves: tuple[Leaf, ...]

    @staticmethod
    def of(iova: int, runs: Iterable[int], page_sizes: int) -> MappedBuffer:
        """Leaves of physically contiguous runs (bytes), by the IOMMU core's rule: the largest
        page size that the address is a multiple of and the rest of the run holds.

        Runs are taken to begin at an address of their own size's alignment, as chunks do.
        """
        sizes = [1 << bit for bit in range(64) if page_sizes >> bit & 1]
        leaves: list[Leaf] = []
        at = iova
        for run in runs:
            offset = 0
            while offset < run:
                fits = [s for s in sizes if s <= run - offset and at % s == 0 and offset % s == 0]
                if not fits:
                    raise ValueError(f"no page size of {page_sizes:#x} maps {run - offset} bytes "
                                     f"at {at:#x}")
                leaves.append(Leaf(at, fits[-1]))
                at += fits[-1]
                offset += fits[-1]
        return MappedBuffer(tuple(leaves))

    def find(self, iovas: NDArray[np.int64]) -> list[Leaf]:
        """The leaf of each address; ValueError for one that is not mapped."""
        starts = np.array([leaf.iova for leaf in self.leaves], dtype=np.int64)
        places = np.searchsorted(starts, iovas, side="right") - 1
        found = [self.leaves[max(0, int(place))] for place in places]
        for iova, leaf in zip(iovas, found, strict=True):
            if not leaf.iova <= iova < leaf.iova + leaf.bytes:
                raise ValueError(f"address {int(iova):#x} is not mapped")
        return found

    def count(self) -> dict[int, int]:
        """Leaves by size."""
        sizes, counts = np.unique([leaf.bytes for leaf in self.leaves], return_counts=True)
        return dict(zip(map(int, sizes), map(int, counts), strict=True))


class Mt19937_64:
    """std::mt19937_64 (Nishimura and Matsumoto 2000): numpy has only the 32-bit one."""

    def __init__(self, seed: int) -> None:
        state = [seed & MASK]
        for i in range(1, 312):
            state.append((6364136223846793005 * (state[-1] ^ state[-1] >> 62) + i) & MASK)
        self._state = state
        self._at = 312

    def __call__(self) -> int:
        if self._at == 312:
            self._twist()
        x = self._state[self._at]
        self._at += 1
        x ^= x >> 29 & 0x5555555555555555
        x ^= x << 17 & 0x71D67FFFEDA60000
        x ^= x << 37 & 0xFFF7EEE000000000
        return (x ^ x >> 43) & MASK

    def _twist(self) -> None:
        s = self._state
        for i in range(312):
            x = s[i] & 0xFFFFFFFF80000000 | s[(i + 1) % 312] & 0x7FFFFFFF
            s[i] = s[(i + 156) % 312] ^ x >> 1 ^ (0xB5026F5AA96619E9 if x & 1 else 0)
        self._at = 0

    def below(self, bound: int) -> int:
        """Evenly from 0..bound-1, as bench/base/random.cpp: too large numbers are drawn again."""
        limit = MASK - MASK % bound
        number = self()
        while number >= limit:
            number = self()
        return number % bound


def random_pages(window: int, page: int, seed: int, at_most: int = 0) -> NDArray[np.int64]:
    """Offsets of use_random's accesses of one pass, as bench/plan/access_order.cpp makes them."""
    pages = window // page
    wanted = min(pages, at_most) if at_most else pages
    numbers = list(range(pages))
    random = Mt19937_64(seed)
    for i in range(wanted):
        j = i + random.below(pages - i)
        numbers[i], numbers[j] = numbers[j], numbers[i]
    return np.array(numbers[:wanted], dtype=np.int64) * page


def drive_misses(shape: Shape, leaf_bytes: int, orders: Sequence[NDArray[np.int64]],
                 buffer: int = 0, queues: tuple[int, int] = (1 << 40, (1 << 40) + 4096)
                 ) -> list[int]:
    """Misses of each pass of a drive that moves one block a command: it reads the submission
    queue's page, moves the block, writes the completion queue's page."""
    tlb = Iotlb(shape)
    submission, completion = (Leaf(page, 4096) for page in queues)
    result: list[int] = []
    for order in orders:
        before = tlb.misses
        for offset in order:
            iova = buffer + int(offset)
            tlb.access(submission)
            tlb.access(Leaf(iova // leaf_bytes * leaf_bytes, leaf_bytes))
            tlb.access(completion)
        result.append(tlb.misses - before)
    return result
