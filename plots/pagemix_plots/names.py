# SPDX-License-Identifier: Apache-2.0
"""Benchmark names (`family/key:value/...`) and the words and units made from them."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Families that work on one buffer; their names must say which.
BUFFER_FAMILIES = ("alloc", "free", "map_sgtable", "unmap_sgtable", "vfio_map", "vfio_unmap")
SAMPLE_COST = "sample_cost"
LAYOUTS = ("scattered", "buddy")  # scattered is the main layout: see the design's rule on scatter
STATES = ("warm", "cold")
MAIN_BYTES = 10 << 20  # the buffer that the published allocation times are about

_FAMILY = re.compile(r"[a-z][a-z0-9_]*\Z")
_KEY = re.compile(r"[a-z][a-z0-9_]*\Z")
_PURE = re.compile(r"order(\d+)\Z")


@dataclass(frozen=True, order=True)
class BufferKey:
    """What a buffer is made of and how it is met: the part of a name that families share."""

    mix: str
    layout: str
    bytes: int
    state: str  # warm or cold

    @property
    def order(self) -> int | None:
        return pure_order(self.mix)


@dataclass(frozen=True)
class Name:
    """A parsed benchmark name. `key` is None for a family without a buffer."""

    text: str
    family: str
    params: tuple[tuple[str, str], ...]
    key: BufferKey | None
    # Parts beyond the buffer's, e.g. ("queue", "8"): such entries are listed, never merged.
    extra: tuple[tuple[str, str], ...]


def parse(text: str) -> Name:
    """Parses a benchmark name; ValueError says which part is wrong."""
    family, *parts = text.split("/")
    if not _FAMILY.match(family):
        raise ValueError(f"bad family {family!r} in benchmark name {text!r}")
    params: dict[str, str] = {}
    for part in parts:
        key, colon, value = part.partition(":")
        if not colon or not value or not _KEY.match(key):
            raise ValueError(f"bad part {part!r} in benchmark name {text!r}: want key:value")
        if key in params:
            raise ValueError(f"{key!r} twice in benchmark name {text!r}")
        params[key] = value
    key = _buffer_key(text, family, params)
    known = {"mix", "layout", "bytes", "state"} if key else set()
    extra = tuple(item for item in params.items() if item[0] not in known)
    return Name(text, family, tuple(params.items()), key, extra)


def without_domain(text: str, mode: str) -> str:
    """The name without the part of domain mode `mode`, as a machine that has it writes it."""
    return "/".join(part for part in text.split("/") if part != f"domain:{mode}")


def _buffer_key(text: str, family: str, params: dict[str, str]) -> BufferKey | None:
    missing = [key for key in ("mix", "layout", "bytes") if key not in params]
    if missing:
        if family in BUFFER_FAMILIES:
            raise ValueError(f"no {missing[0]!r} in benchmark name {text!r}")
        return None
    if params["layout"] not in LAYOUTS:
        raise ValueError(f"layout {params['layout']!r} in benchmark name {text!r}: "
                         f"want one of {', '.join(LAYOUTS)}")
    if not re.match(r"[1-9][0-9]{0,15}\Z", params["bytes"]):
        raise ValueError(f"bytes {params['bytes']!r} in benchmark name {text!r}: "
                         "want a positive integer")
    state = params.get("state", "warm")
    if state not in STATES:
        raise ValueError(f"state {state!r} in benchmark name {text!r}: "
                         f"want one of {', '.join(STATES)}")
    return BufferKey(params["mix"], params["layout"], int(params["bytes"]), state)


def pure_order(mix: str) -> int | None:
    """The order of a mix that has only one (`order4` -> 4), else None."""
    match = _PURE.match(mix)
    return int(match.group(1)) if match else None


def mix_rank(mix: str) -> tuple[int, int, str]:
    """Sort key: pure orders by size, then the heap's mixes by name."""
    order = pure_order(mix)
    return (0, order, mix) if order is not None else (1, 0, mix)


def size_rank(size: int) -> tuple[bool, int]:
    """Sort key of buffer sizes: MAIN_BYTES, then the largest first."""
    return (size != MAIN_BYTES, -size)


def bytes_words(count: float) -> str:
    """10485760 -> '10 MiB'; a size that fits no unit stays in bytes."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size and count % (size // 4 if size > 1 << 10 else size) == 0:
            return f"{count / size:g} {unit}"
    return f"{count:,.0f} bytes"


def count_words(value: float) -> str:
    """A count or a cost as digits: whole numbers stay whole, others keep what is told apart."""
    if value == round(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:,.3g}"


def short_words(value: float) -> str:
    """A cost for a figure: 1747392 -> '1.75 M'."""
    rounded = float(f"{value:.3g}")
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rounded >= max(size, 1e4):  # up to 9,999 the digits are as short
            return f"{rounded / size:g} {unit}"
    return count_words(value)


def list_words(items: list[str]) -> str:
    """['0', '4', '8'] -> '0, 4 and 8'."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]
