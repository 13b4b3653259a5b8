# SPDX-License-Identifier: Apache-2.0
"""What a reader needs to judge and repeat a run: its surroundings and its command."""

from __future__ import annotations

import shlex
from typing import Any

from ..run import names
from ..run.load import Run

# Where guest/ records the command that reproduces a run on the host.
GUEST_COMMAND = "command"


def page_sizes_words(bitmap: int) -> str:
    """0x40201000 -> '4 KiB, 2 MiB, 1 GiB'."""
    sizes = [1 << bit for bit in range(64) if bitmap >> bit & 1]
    if not sizes:
        return "none"
    if len(sizes) > 8 and sizes[-1] == sizes[0] << (len(sizes) - 1):
        return f"every power of two from {names.bytes_words(sizes[0])}"
    return ", ".join(names.bytes_words(size) for size in sizes)


def command(run: Run) -> str:
    """The command that repeats the run: the host's for a guest, else pagemix's own."""
    value = run.guest.get(GUEST_COMMAND, list(run.command))
    return shlex.join(str(part) for part in value) if isinstance(value, list) else str(value)


def rows(run: Run) -> list[tuple[str, str]]:
    """Label and value, the ones that decide the numbers first."""
    clock, iommu = run.clock, run.iommu
    result = [
        ("clock", f"{clock.kind}, from {clock.source}"),
        ("clock resolution", f"{names.count_words(clock.resolution)} {clock.unit}"),
        ("kernel", f"{run.kernel['release']} ({run.kernel['version']})"),
        ("kernel command line", run.kernel["cmdline"]),
        ("machine", run.machine),
        ("IOMMU", f"{iommu.driver} {iommu.device}".strip() or "none"),
        ("IOMMU page sizes", f"{page_sizes_words(iommu.pgsize_bitmap)} ({iommu.pgsize_bitmap:#x})"
         if iommu.pgsize_bitmap else ""),
        ("IOMMU granule", names.bytes_words(iommu.granule) if iommu.granule else ""),
        ("domain mode", iommu.domain_mode),
        ("CPU", f"{run.cpu['count']} x {run.cpu['model'] or 'unknown model'}"),
        ("governor", run.cpu["governor"] or "no cpufreq"),
        ("target", ", ".join(f"{k} {v}" for k, v in run.target.items()) or "none"),
        ("module", run.module_version),
        ("source revision", run.git),
        ("profile", f"{run.profile}, seed {run.seed}"),
        ("started", run.started.strftime("%Y-%m-%d %H:%M:%S %Z").strip()),
    ]
    result += [("mix " + name, steps) for name, steps in
               sorted(run.mixes.items(), key=lambda item: run.mix_rank(item[0]))]
    result += [("memory " + when, _memory(run, when)) for when in ("before", "after")
               if _memory(run, when)]
    result += [(f"guest: {key.replace('_', ' ')}", _plain(value))
               for key, value in run.guest.items() if key != GUEST_COMMAND]
    return [(label, value or "not recorded") for label, value in result]


def _memory(run: Run, when: str) -> str:
    """Kernel's figures as recorded; MemFree and the like are in KiB."""
    meminfo, buddy = run.memory["meminfo"].get(when), run.memory["buddyinfo"].get(when)
    parts = [f"{key} {value:,} KiB" for key, value in meminfo.items()
             if isinstance(value, int)] if isinstance(meminfo, dict) else []
    parts += [" ".join(str(line).split()) for line in buddy] if isinstance(buddy, list) else []
    return "; ".join(parts)


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return shlex.join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(item)}" for key, item in value.items())
    return "" if value is None else str(value)
