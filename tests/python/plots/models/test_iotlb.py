# SPDX-License-Identifier: Apache-2.0
"""The IOTLB model on access orders whose misses are known, and on QEMU's and published ones."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from numpy.typing import NDArray
from pagemix_plots.models import iotlb
from pagemix_plots.models.iotlb import FIFO, FLUSH, LRU, RANDOM, Leaf, Shape
from pagemix_plots.stats import knee

PAGE = 4096
PAGES = 1 << 12 | 1 << 21 | 1 << 30


def pages(*numbers: int) -> list[Leaf]:
    return [Leaf(n * PAGE, PAGE) for n in numbers]


def misses(shape: Shape, leaves: Iterable[Leaf]) -> NDArray[np.bool_]:
    """True for each access that misses a cold IOTLB."""
    tlb = iotlb.Iotlb(shape)
    return np.array([not tlb.access(leaf) for leaf in leaves], dtype=bool)


@pytest.mark.parametrize("policy, missed", [
    # Two entries and 0 1 0 2 0 1, worked by hand.
    (LRU, [1, 1, 0, 1, 0, 1]),    # 2 replaces 1; 1 replaces 2
    (FIFO, [1, 1, 0, 1, 1, 1]),   # 2 replaces 0, 0 replaces 1, 1 replaces 2
    (FLUSH, [1, 1, 0, 1, 1, 1]),  # 2 empties; 0 fills; 1 empties
])
def test_replacement_by_hand(policy: str, missed: list[int]) -> None:
    found = misses(Shape(2, policy=policy), pages(0, 1, 0, 2, 0, 1))
    assert found.astype(int).tolist() == missed


def test_ways_divide_by_address() -> None:
    """Four entries in two sets: 0, 2 and 4 share a set of two ways, 1 has its own."""
    found = misses(Shape(4, 2), pages(0, 2, 1, 4, 1, 0))
    assert found.tolist() == [True, True, True, True, False, True]


def test_a_large_leaf_covers_its_pages() -> None:
    buffer = iotlb.MappedBuffer.of(2 << 20, [2 << 20, 64 << 10], PAGES)
    assert buffer.count() == {PAGE: 16, 2 << 20: 1}
    offsets = np.arange(2 << 20, (4 << 20) + (64 << 10), PAGE)
    assert misses(Shape(64), buffer.find(offsets)).sum() == 17


@pytest.mark.parametrize("order, leaves", [
    (0, {PAGE: 2560}), (4, {PAGE: 2560}), (8, {PAGE: 2560}), (9, {2 << 20: 5})])
def test_leaves_of_known_buffers(order: int, leaves: dict[int, int]) -> None:
    """10 MiB on SMMUv3 with a 4 KiB granule, scattered: only order 9 gets a large leaf."""
    runs = [PAGE << order] * (2560 >> order)
    assert iotlb.MappedBuffer.of(1 << 32, runs, PAGES).count() == leaves


def test_contiguous_hint_sizes_give_order_4_its_leaves() -> None:
    wide = PAGES | 1 << 16 | 1 << 25
    assert iotlb.MappedBuffer.of(1 << 32, [PAGE << 4] * 160, wide).count() == {64 << 10: 160}
    assert iotlb.MappedBuffer.of(1 << 32, [PAGE << 8] * 10, wide).count() == {64 << 10: 160}


def test_an_unmapped_address_is_named() -> None:
    buffer = iotlb.MappedBuffer.of(1 << 20, [PAGE], PAGES)
    for iova in (0, (1 << 20) + PAGE):
        with pytest.raises(ValueError, match=f"{iova:#x} is not mapped"):
            buffer.find(np.array([iova]))
    with pytest.raises(ValueError, match="no page size"):
        iotlb.MappedBuffer.of(0, [100], PAGES)


def test_random_numbers_are_those_of_the_c_plus_plus_library() -> None:
    """The standard gives the 10,000th number of the default seed, 5489."""
    random = iotlb.Mt19937_64(5489)
    for _ in range(9999):
        random()
    assert random() == 9981545732273789042


def test_a_pass_visits_each_page_once() -> None:
    order = iotlb.random_pages(256 * PAGE, PAGE, seed=3)
    assert sorted(order) == list(range(0, 256 * PAGE, PAGE))
    assert (iotlb.random_pages(256 * PAGE, PAGE, 3, at_most=10) == order[:10]).all()
    assert (iotlb.random_pages(256 * PAGE, PAGE, 4) != order).any()


def steady_misses(leaf_bytes: int, window: int) -> float:
    """Misses per access of random passes over a working set of equal leaves, once warm."""
    tlb = iotlb.Iotlb(iotlb.QEMU_SMMU)
    missed = counted = 0
    for number in range(3):
        offsets = iotlb.random_pages(window, PAGE, 1 + number)
        before = tlb.misses
        for offset in offsets:
            tlb.access(iotlb.Leaf(int(offset) // leaf_bytes * leaf_bytes, leaf_bytes))
        if number:
            missed += tlb.misses - before
            counted += offsets.size
    return missed / counted


@pytest.mark.parametrize("count", [16, 128, 240, 256])
def test_qemu_holds_256(count: int) -> None:
    assert steady_misses(PAGE, count * PAGE) == 0


def test_qemu_misses_every_access_of_512() -> None:
    """The second half of a pass fills it to the brim, so that the first insertion of the next pass
    empties it: nothing of one pass is left for the next."""
    assert steady_misses(PAGE, 512 * PAGE) > 500 / 512
    assert steady_misses(2 << 20, 2560 * PAGE) == 0


def test_queue_pages_are_evicted_with_the_rest() -> None:
    """At each emptying both queue pages miss again: 512 pages a pass and two emptyings make 516,
    which is what QEMU 7.2 counted; 240 pages fit beside the queues."""
    small, large = (np.arange(count) * PAGE for count in (240, 512))
    assert iotlb.drive_misses(iotlb.QEMU_SMMU, PAGE, [large] * 3)[1:] == [516, 516]
    assert iotlb.drive_misses(iotlb.QEMU_SMMU, PAGE, [small] * 3) == [242, 0, 0]
    assert iotlb.drive_misses(iotlb.QEMU_SMMU, 2 << 20, [large] * 2) == [3, 0]


def uniform(shape: Shape, window: int, rng: np.random.Generator) -> float:
    """Misses of independent random accesses, once warm."""
    tlb = iotlb.Iotlb(shape)
    count = max(4000, 4 * window // PAGE)
    drawn = rng.integers(0, window // PAGE, 2 * count)
    for number in drawn[:count]:
        tlb.access(Leaf(int(number) * PAGE, PAGE))
    before = tlb.misses
    for number in drawn[count:]:
        tlb.access(Leaf(int(number) * PAGE, PAGE))
    return (tlb.misses - before) / count


def test_64_entries_have_the_published_knee() -> None:
    """pcie-bench's windows, through 64 entries: flat to 256 KiB, knee below 512 KiB."""
    rng = np.random.default_rng(1)
    windows = [4 << 10, 16 << 10, 256 << 10, 512 << 10, 1 << 20, 3 << 19, 2 << 20, 3 << 20, 4 << 20]
    for policy in (LRU, RANDOM):
        misses = [uniform(Shape(64, policy=policy), w, rng) for w in windows]
        assert misses[:3] == [0, 0, 0]
        assert misses[3] == pytest.approx(0.5, abs=0.03)  # 1 - 64/128
        found = knee.find(windows, misses, least_rise=0.02)
        assert found is not None and found.low == 256 << 10 and found.high <= 512 << 10


@pytest.mark.parametrize("options, message", [
    ({"entries": 0}, "0 entries"), ({"entries": 6, "ways": 4}, "4 ways: want a divisor of 6"),
    ({"entries": 4, "policy": "best"}, "policy 'best': want one of flush"),
    ({"entries": 4, "ways": 2, "policy": FLUSH}, "flush has no ways")])
def test_impossible_shapes(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Shape(**options)  # type: ignore[arg-type]


def test_invalidation_forgets_what_it_touches() -> None:
    tlb = iotlb.Iotlb(Shape(4))
    big = Leaf(2 << 20, 2 << 20)
    for leaf in [*pages(0, 1), big]:
        tlb.access(leaf)
    tlb.invalidate((2 << 20) + PAGE, PAGE)
    assert [tlb.access(leaf) for leaf in [*pages(0, 1), big]] == [True, True, False]
    tlb.clear()
    assert not tlb.access(pages(0)[0])


def test_address_spaces_are_apart() -> None:
    tlb = iotlb.Iotlb(Shape(4))
    one, other = Leaf(0, PAGE, 1), Leaf(0, PAGE, 2)
    assert [tlb.access(leaf) for leaf in (one, other, one)] == [False, False, True]
    tlb.invalidate(0, PAGE, 2)
    assert (tlb.holds(one), tlb.holds(other), len(tlb)) == (True, False, 1)
    tlb.clear_space(1)
    assert len(tlb) == 0
