# SPDX-License-Identifier: Apache-2.0
"""Entries of a run with the quick profile, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Run = dict[str, Any]
Entry = dict[str, Any]
QuickRun = Callable[[str, int], Run]

MIXES = ("order0", "order4", "order8", "order9", "8-4-0", "8-4-0-mid", "8-0-0", "9-4-0")
LAYOUTS = ("scattered", "buddy")
MAP_FAMILIES = ("map_sgtable", "unmap_sgtable", "vfio_map", "vfio_unmap")
BYTES = 10485760


def entries(run: Run, prefix: str) -> Iterator[Entry]:
    """Iteration entries whose name starts with `prefix`; at least one."""
    found = [e for e in run["benchmarks"]
             if e["run_type"] == "iteration" and e["name"].startswith(prefix)]
    assert found, f"no benchmark {prefix}"
    yield from found


def warm(run: Run, family: str, mix: str, layout: str) -> Iterator[Entry]:
    """Entries of both blocks of one warm case."""
    name = f"{family}/mix:{mix}/layout:{layout}/bytes:{BYTES}"
    yield from (e for e in entries(run, name) if e["name"] == name)
