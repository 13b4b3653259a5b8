# SPDX-License-Identifier: Apache-2.0
"""Writes run folders for tests: the shape of a real run, numbers from a model.

Nothing here is a measurement. The model follows known SMMUv3 behaviour so that
the sentences and figures made from it can be checked against known answers.
Run as a program, it writes one folder for each machine: make_run.py DIR.
"""

from __future__ import annotations

import json
import pathlib
import sys
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np

BYTES = 10 << 20
PAGE = 4096
SOURCE = "counter of the CPU at 62500000 Hz; CLOCK_MONOTONIC_RAW in user space"
DRIVERS = {"smmuv3": "arm-smmu-v3", "virtio-iommu": "virtio-iommu"}
MIXES = {
    "order0": "0:low", "order4": "4:high", "order8": "8:high", "order9": "9:high",
    "8-4-0": "8:high 4:high 0:low", "8-4-0-mid": "8:high 4:mid 0:low",
    "8-0-0": "8:high 0:low", "9-4-0": "9:high 4:high 0:low",
}
CHUNKS = {
    "order0": {0: 2560}, "order4": {4: 160}, "order8": {8: 10}, "order9": {9: 5},
    "8-4-0": {8: 9, 4: 12, 0: 64}, "8-4-0-mid": {8: 9, 4: 16}, "8-0-0": {8: 9, 0: 256},
    "9-4-0": {9: 5},
}


@dataclass
class Options:
    """What to write; tests change single fields."""

    machine: str = "smmuv3"
    clock: str = "instructions"
    blocks: int = 4
    iterations: int = 10
    complete: bool = True
    mixes: tuple[str, ...] = tuple(MIXES)
    layouts: tuple[str, ...] = ("scattered", "buddy")
    states: tuple[str, ...] = ("warm",)
    families: tuple[str, ...] = ("alloc", "map_sgtable", "unmap_sgtable", "vfio_map", "vfio_unmap")
    sizes: tuple[int, ...] = (BYTES,)
    skipped: tuple[tuple[str, str], ...] = ()
    guest: bool = True
    started: str = "2026-01-31T12:00:00Z"
    # Replaces the medians of one family: (family, mix, layout) -> cost or None.
    cost: Callable[[str, str, str], float | None] = field(default=lambda f, m, l: None)


@dataclass
class Buffer:
    chunks: dict[int, int]
    runs: int
    leaves: dict[int, int]


def buffer(machine: str, mix: str, layout: str, size: int) -> Buffer:
    chunks = {order: n * size // BYTES for order, n in CHUNKS[mix].items()}
    total = sum(chunks.values())
    scattered = layout == "scattered"
    runs = max(1, total - total // 850) if scattered else max(1, total // 100)
    if machine == "smmuv3":  # leaves of 4 KiB or 2 MiB only
        whole = not scattered and mix in ("order8", "order9") or set(chunks) == {9}
        leaves = {2 << 20: size >> 21} if whole else {PAGE: size // PAGE}
    else:  # any power of two
        leaves = {PAGE << order: n for order, n in chunks.items()}
    return Buffer(chunks, runs, leaves)


def costs(machine: str, family: str, buf: Buffer, size: int) -> float:
    leaves = sum(buf.leaves.values())
    pages = size // PAGE
    per_run = 620.0 if machine == "smmuv3" else 2400.0
    cost_map = 900 + leaves * 26 + buf.runs * per_run
    return {
        "map_sgtable": cost_map,
        "unmap_sgtable": (2432.0 if leaves < 10 else 10752.0) if machine == "smmuv3"
        else 1800 + 324.0 * leaves,
        "vfio_map": pages * 310 + cost_map,
        "vfio_unmap": pages * 95 + 9000.0,
        "alloc": 12000 + pages * 210 + 400.0 * sum(buf.chunks.values()),
    }[family]


def events(machine: str, buf: Buffer) -> dict[str, float]:
    big = sum(buf.leaves.values()) < 10
    result = dict.fromkeys(("smmu_cmd_tlbi", "smmu_cmd_sync", "iotlb_hit", "iotlb_miss",
                            "viommu_map", "viommu_unmap"), 0.0)
    if machine == "smmuv3":
        result |= {"smmu_cmd_tlbi": 1.0 if big else 6.0, "smmu_cmd_sync": 1.0 if big else 6.0}
    else:
        result |= {"viommu_map": float(buf.runs), "viommu_unmap": 1.0 if big else 2.0}
    return result


def _samples(rng: np.random.Generator, options: Options, cost: float) -> np.ndarray:
    n = options.blocks * options.iterations
    if options.clock == "instructions":
        return np.full(n, round(cost), dtype=np.float64)
    spread = 0.04 if options.clock == "hardware-ns" else 0.6
    return np.round(cost * (1 + rng.gamma(2.0, spread / 2, n)))


def build(options: Options) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """run.json and the arrays of samples.npz."""
    rng = np.random.default_rng(7)
    entries: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}

    def add(name: str, cost: float, counters: dict[str, float]) -> None:
        arrays[name] = _samples(rng, options, cost)
        for block in range(options.blocks):
            part = arrays[name][block * options.iterations:(block + 1) * options.iterations]
            entries.append({
                "name": name, "run_name": name, "run_type": "iteration",
                "repetitions": options.blocks, "repetition_index": block, "threads": 1,
                "iterations": options.iterations, "real_time": float(part.mean()),
                "cpu_time": float(part.mean()), "time_unit": "ns",
                "label": f"clock:{options.clock}", "median": float(np.median(part)),
                "p90": float(np.quantile(part, 0.9)), "p99": float(np.quantile(part, 0.99)),
                "max": float(part.max()), **counters,
            })

    for size in options.sizes:
        for state in options.states:
            for mix in options.mixes:
                for layout in options.layouts:
                    buf = buffer(options.machine, mix, layout, size)
                    for family in options.families:
                        _add_family(add, options, family, mix, layout, size, state, buf)
    add("sample_cost/timer:kernel", 32.0, {})
    add("sample_cost/timer:user", 48.0, {})
    return {"context": _context(options), "benchmarks": entries}, arrays


def _add_family(add: Callable[[str, float, dict[str, float]], None], options: Options,
                family: str, mix: str, layout: str, size: int, state: str, buf: Buffer) -> None:
    if state == "cold" and family not in ("map_sgtable", "unmap_sgtable"):
        return  # the other families have no states
    counters: dict[str, float] = {f"chunks_order{k}": float(n) for k, n in buf.chunks.items()}
    counters["runs"] = float(buf.runs)
    if family != "alloc":
        counters |= {f"leaves_{k}": float(n) for k, n in buf.leaves.items()}
        counters["iova"] = float(0xffe00000)
    if family in ("map_sgtable", "unmap_sgtable"):
        big = sum(buf.leaves.values()) < 10
        counters |= {"map_calls": float(buf.runs), "unmap_calls": 1.0 if big else 2.0}
        if options.machine == "smmuv3":
            counters["tlbi_predicted"] = counters["sync_predicted"] = 1.0 if big else 6.0
    if family != "alloc" and options.guest:
        counters |= events(options.machine, buf)
    cost = options.cost(family, mix, layout)
    if cost is None:
        cost = costs(options.machine, family, buf, size)
        if state == "cold":
            cost = cost * 1.3 + 5000
    name = f"{family}/mix:{mix}/layout:{layout}/bytes:{size}"
    add(name + ("/state:cold" if state == "cold" else ""), cost, counters)


def _context(options: Options) -> dict[str, Any]:
    smmu = options.machine == "smmuv3"
    pagemix: dict[str, Any] = {
        "schema": 1, "complete": options.complete,
        "clock": {"kind": options.clock,
                  "source": SOURCE, "resolution": 16.0, "overhead": 32.0},
        "iommu": {"driver": DRIVERS.get(options.machine, "intel-iommu"), "device": "iommu0",
                  "pgsize_bitmap": "0x40201000" if smmu else "0xfffffffffffff000",
                  "granule": PAGE, "domain_mode": "strict"},
        "kernel": {"release": "6.12.95+deb12-arm64", "version": "#1 SMP Debian",
                   "cmdline": "console=ttyAMA0 nokaslr iommu.strict=1"},
        "machine": options.machine,
        "cpu": {"model": "Cortex-A72", "count": 1, "governor": None},
        "target": {"device": "0000:00:02.0", "id": "1234:11e8", "coherent": True},
        "module": {"version": "0.1.0"}, "git": "0123456789ab", "profile": "quick",
        "config": {"run.bytes": "10M", "run.blocks": str(options.blocks)},
        "mixes": {mix: MIXES[mix] for mix in options.mixes},
        "command": ["pagemix", "run", "--config", "configs/quick.ini"], "seed": 1,
        "buddyinfo": {"before": ["Node 0, zone DMA 1 2 3"], "after": ["Node 0, zone DMA 1 2 3"]},
        "meminfo": {"before": {"MemFree": 900000}, "after": {"MemFree": 899000}},
        "skipped": [{"what": what, "why": why} for what, why in options.skipped],
        "started": options.started,
    }
    if options.guest:
        pagemix["guest"] = {
            "qemu_version": "7.2.22",
            "qemu_command": ["qemu-system-aarch64", "-M", "virt,iommu=smmuv3"],
            "command": ["guest/pagemix-guest", "run", "--machine", options.machine],
        }
    return {"date": "2026-01-31T12:00:00+00:00", "host_name": "guest", "executable": "pagemix",
            "num_cpus": 1, "mhz_per_cpu": 1000, "cpu_scaling_enabled": False, "caches": [],
            "library_build_type": "release", "pagemix": pagemix}


def write(folder: pathlib.Path, document: dict[str, Any], arrays: dict[str, np.ndarray]
          ) -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(document, indent=1))
    np.savez_compressed(folder / "samples.npz", **arrays)
    return folder


def make_run(folder: pathlib.Path, **changes: Any) -> pathlib.Path:
    """Writes a run folder with the given Options fields; returns the folder."""
    return write(folder, *build(Options(**changes)))


if __name__ == "__main__":
    for machine_name in DRIVERS:
        print(make_run(pathlib.Path(sys.argv[1]) / machine_name, machine=machine_name))
