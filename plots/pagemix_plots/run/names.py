# SPDX-License-Identifier: Apache-2.0
"""Benchmark names (`family/key:value/...`) and the words and units made from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

# Families that work on one buffer; their names must say which.
BUFFER_FAMILIES = ("alloc", "free", "map_sgtable", "unmap_sgtable", "vfio_map", "vfio_unmap")
SAMPLE_COST = "sample_cost"
LAYOUTS = ("scattered", "buddy")  # scattered is the main layout: see the design's rule on scatter
STATES = ("warm", "cold")
MAIN_BYTES = 10 << 20  # the buffer that the published allocation times are about

_FAMILY = re.compile(r"[a-z][a-z0-9_]*\Z")
_KEY = re.compile(r"[a-z][a-z0-9_]*\Z")
_STEP = re.compile(r"(\d{1,2}):[a-z]+\Z")


@dataclass(frozen=True, order=True)
class BufferKey:
    """What a buffer is made of and how it is met: the part of a name that families share."""

    mix: str
    layout: str
    bytes: int
    state: str  # warm or cold


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
    buffer = _buffer_key(text, family, params)
    known = {"mix", "layout", "bytes", "state"} if buffer else set()
    extra = tuple(item for item in params.items() if item[0] not in known)
    return Name(text, family, tuple(params.items()), buffer, extra)


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


def orders(steps: str) -> tuple[int, ...]:
    """The orders of a mix's steps, each once: '8:high 0:low 0:low' -> (8, 0).

    ValueError on a step that is no <order>:<class>.
    """
    found = [_STEP.match(step) for step in steps.split()]
    if not found or None in found:
        raise ValueError(f"steps {steps!r}: want <order>:<class> ..., such as '8:high 0:low'")
    return tuple(dict.fromkeys(int(match[1]) for match in found if match))


def pure_order(mix: str, mixes: Mapping[str, str]) -> int | None:
    """The order of a mix that has only one; None of others, and of one that `mixes` (steps by
    name) does not tell."""
    found = orders(mixes[mix]) if mix in mixes else ()
    return found[0] if len(found) == 1 else None


def mix_rank(mix: str, mixes: Mapping[str, str]) -> tuple[int, int, str]:
    """Sort key: mixes of one order by it, then the heap's mixes by name."""
    order = pure_order(mix, mixes)
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
