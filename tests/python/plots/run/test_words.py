# SPDX-License-Identifier: Apache-2.0
"""Names of benchmarks, and numbers as words."""

from __future__ import annotations

import pytest
from pagemix_plots.pages.environment import page_sizes_words
from pagemix_plots.run import names


def test_name_of_a_buffer() -> None:
    name = names.parse("map_sgtable/mix:8-4-0-mid/layout:scattered/bytes:10485760/state:cold")
    assert name.family == "map_sgtable"
    assert name.key == names.BufferKey("8-4-0-mid", "scattered", 10485760, "cold")
    assert name.extra == ()


def test_name_without_a_buffer() -> None:
    assert names.parse("sample_cost").key is None
    assert names.parse("sample_cost/timer:kernel").extra == (("timer", "kernel"),)


def test_name_with_further_parts_is_another_benchmark() -> None:
    name = names.parse("use/mix:order0/layout:buddy/bytes:4096/queue:8")
    assert name.key is not None and name.extra == (("queue", "8"),)


@pytest.mark.parametrize("text", [
    "", "/", "Alloc", "sample_cost/", "sample_cost/a", "sample_cost/:b", "sample_cost/a:",
    "sample_cost/a:1/a:2", "alloc", "alloc/mix:order0/layout:buddy/bytes:-1",
    "alloc/mix:order0/layout:buddy/bytes:0", "alloc/mix:order0/layout:buddy/bytes:1e6"])
def test_bad_name(text: str) -> None:
    with pytest.raises(ValueError, match="benchmark name"):
        names.parse(text)


def test_mixes_sort_by_order_then_name() -> None:
    """By what they are made of: a name may say nothing, or something else."""
    mixes = {"9-4-0": "9:high 4:high 0:low", "ten": "10:high 10:low", "8-4-0": "8:high 4:mid 0:low",
             "order9": "0:low", "large": "9:mid"}
    assert sorted([*mixes, "own"], key=lambda mix: names.mix_rank(mix, mixes)) == [
        "order9", "large", "ten", "8-4-0", "9-4-0", "own"]


@pytest.mark.parametrize("steps, orders", [
    ("0:low", (0,)), ("8:high 0:low 0:low", (8, 0)), ("10:mid  4:high", (10, 4))])
def test_orders_of_steps(steps: str, orders: tuple[int, ...]) -> None:
    assert names.orders(steps) == orders


@pytest.mark.parametrize("steps", ["", "8", "8:", ":low", "8:high,4:high", "eight:high"])
def test_steps_that_are_none(steps: str) -> None:
    with pytest.raises(ValueError, match="want <order>:<class>"):
        names.orders(steps)


@pytest.mark.parametrize("count, words", [
    (4096, "4 KiB"), (65536, "64 KiB"), (10 << 20, "10 MiB"), (5 << 18, "1.25 MiB"),
    (1 << 30, "1 GiB"), (4097, "4,097 bytes"), (3 << 29, "1.5 GiB")])
def test_bytes(count: int, words: str) -> None:
    assert names.bytes_words(count) == words


@pytest.mark.parametrize("value, words", [
    (0, "0"), (6.0, "6"), (6.05, "6.05"), (1747392, "1,747,392"), (2430.5, "2,430"),
    (0.25, "0.25"), (123.456, "123.5")])
def test_counts(value: float, words: str) -> None:
    assert names.count_words(value) == words


@pytest.mark.parametrize("value, words", [
    (2768, "2,768"), (9994, "9,994"), (9999, "10 k"), (10752, "10.8 k"), (171168, "171 k"),
    (1747392, "1.75 M"), (2.5e9, "2.5 G"), (999_999, "1 M")])
def test_short_counts(value: float, words: str) -> None:
    assert names.short_words(value) == words


@pytest.mark.parametrize("bitmap, words", [
    (0x40201000, "4 KiB, 2 MiB, 1 GiB"), (0x2010000, "64 KiB, 32 MiB"), (0, "none"),
    (0xfffffffffffff000, "every power of two from 4 KiB")])
def test_page_sizes(bitmap: int, words: str) -> None:
    assert page_sizes_words(bitmap) == words
