# SPDX-License-Identifier: Apache-2.0
"""Reads a result folder (docs/result-format.md) into dataclasses, or raises RunError."""

from __future__ import annotations

import datetime
import json
import math
import pathlib
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..stats import stats
from . import names
from .fields import LARGEST, Fields, RunError

SCHEMA = 1
CLOCKS = ("instructions", "hardware-ns", "emulated-ns")
# Google Benchmark's own fields of an entry; every other number is a counter.
_ENTRY_FIELDS = {
    "name", "run_name", "run_type", "repetitions", "repetition_index", "threads", "iterations",
    "real_time", "cpu_time", "time_unit", "label", "family_index", "per_family_instance_index",
    "aggregate_name", "aggregate_unit", "error_occurred", "error_message",
}


@dataclass(frozen=True)
class Clock:
    kind: str  # one of CLOCKS
    source: str
    resolution: float  # in the clock's unit
    overhead: float  # of one sample, in the clock's unit

    @property
    def unit(self) -> str:
        """What an axis or a table calls the numbers."""
        return {"instructions": "guest instructions", "hardware-ns": "ns",
                "emulated-ns": "emulated ns (noise)"}[self.kind]

    @property
    def is_noise(self) -> bool:
        """Time of an emulated machine: not evidence of anything."""
        return self.kind == "emulated-ns"


@dataclass(frozen=True)
class Iommu:
    driver: str  # empty without IOMMU, as `device`
    device: str
    pgsize_bitmap: int  # 0 without IOMMU or where it is not known, as `granule`
    granule: int  # bytes
    domain_mode: str  # strict, lazy, identity, none, or the kernel's word for another


@dataclass(frozen=True)
class Block:
    """One turn of the interleaving: the counters of one entry of `benchmarks`."""

    index: int
    iterations: int
    counters: dict[str, float]


@dataclass(frozen=True)
class Benchmark:
    """Every block of one benchmark name. Samples are in the clock's unit, blocks in order."""

    name: names.Name
    blocks: tuple[Block, ...]
    samples: NDArray[np.float64]

    def by_block(self) -> Iterator[tuple[Block, NDArray[np.float64]]]:
        """Each block with its samples."""
        start = 0
        for block in self.blocks:
            yield block, self.samples[start:start + block.iterations]
            start += block.iterations

    @cached_property
    def summary(self) -> stats.Summary:
        return stats.summarize(self.samples)

    def counter(self, key: str) -> float | None:
        """Mean over the blocks that have it, weighted by their iterations."""
        found = [(block.counters[key], block.iterations)
                 for block in self.blocks if key in block.counters]
        if not found:
            return None
        if all(value == found[0][0] for value, _ in found):
            return found[0][0]  # exactly: a weighted mean may round
        return sum(v * n for v, n in found) / sum(n for _, n in found)

    def counters(self, prefix: str) -> dict[int, float]:
        """`leaves_` -> {4096: 2560.0}: counters whose name ends in a number, zeros left out."""
        keys = {key for block in self.blocks for key in block.counters}
        result: dict[int, float] = {}
        for key in keys:
            match = re.fullmatch(re.escape(prefix) + r"(\d+)", key)
            value = self.counter(key) if match else None
            if match and value:
                result[int(match.group(1))] = value
        return dict(sorted(result.items()))


@dataclass(frozen=True)
class Run:
    """One result folder."""

    folder: pathlib.Path
    complete: bool
    clock: Clock
    iommu: Iommu
    machine: str
    kernel: dict[str, str]
    cpu: dict[str, str]
    target: dict[str, str]
    module_version: str
    git: str
    profile: str
    config: dict[str, str]
    mixes: dict[str, str]
    command: tuple[str, ...]
    seed: int
    started: datetime.datetime
    skipped: tuple[tuple[str, str], ...]  # what, why
    memory: dict[str, Any]  # buddyinfo and meminfo as recorded
    guest: dict[str, Any]  # empty on a board
    benchmarks: dict[str, Benchmark]

    def find(self, family: str, key: names.BufferKey) -> Benchmark | None:
        """The benchmark of a family on a buffer, without further name parts."""
        return self._by_key.get((family, key))

    def mix_rank(self, mix: str) -> tuple[int, int, str]:
        return names.mix_rank(mix, self.mixes)

    @cached_property
    def pure(self) -> dict[int, str]:
        """The mix of each order that has one of its own: of several the first by name."""
        return {order: mix for mix in sorted(self.mixes, key=self.mix_rank, reverse=True)
                if (order := names.pure_order(mix, self.mixes)) is not None}

    @cached_property
    def _by_key(self) -> dict[tuple[str, names.BufferKey], Benchmark]:
        return {(b.name.family, b.name.key): b for b in self.benchmarks.values()
                if b.name.key and not b.name.extra}

    @cached_property
    def keys(self) -> list[names.BufferKey]:
        """Every buffer measured: by size, state, mix, layout."""
        return sorted({key for _, key in self._by_key},
                      key=lambda k: (k.bytes, names.STATES.index(k.state),
                                     self.mix_rank(k.mix), names.LAYOUTS.index(k.layout)))

    @cached_property
    def page_size(self) -> int | None:
        """Bytes of an order-0 page, from a buffer whose chunks add up to it; else None."""
        for (_, key), benchmark in self._by_key.items():
            pages = sum(n * (1 << order) for order, n in benchmark.counters("chunks_order").items())
            if pages and key.bytes % pages == 0:
                return int(key.bytes // pages)
        return None


def load_run(path: str | pathlib.Path) -> Run:
    """Reads a run folder or its run.json; RunError on anything wrong with it."""
    file = pathlib.Path(path)
    if file.is_dir():
        file = file / "run.json"
    top = Fields(file, "", _read_json(file))
    context = top.object("context").object("pagemix")
    schema = context.integer("schema", least=0)
    if schema != SCHEMA:
        raise context.error("schema", f"want {SCHEMA}, found {schema}")
    clock = _clock(context.object("clock"))
    iommu = _iommu(context.object("iommu"))
    entries, failed = _entries(top, clock, iommu.domain_mode)
    return Run(
        folder=file.parent,
        complete=context.flag("complete"),
        clock=clock,
        iommu=iommu,
        machine=context.text("machine"),
        kernel=_texts_of(context.object("kernel"), ("release", "version", "cmdline")),
        cpu=_cpu(context.object("cpu")),
        target=context.mapping("target") if context.any("target") is not None else {},
        module_version=context.object("module").text_or_null("version"),
        git=context.text("git", empty=True),
        profile=context.text("profile"),
        config=context.mapping("config"),
        mixes=_mixes(context),
        command=context.texts("command"),
        seed=context.integer("seed", least=0),
        started=_started(context),
        skipped=tuple((item.text("what"), item.text("why"))
                      for item in context.objects("skipped")) + failed,
        memory={key: context.object(key).value for key in ("buddyinfo", "meminfo")},
        guest=context.object("guest").value if context.has("guest") else {},
        benchmarks=_benchmarks(file.with_name("samples.npz"), entries),
    )


def _read_json(file: pathlib.Path) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise RunError(f"{file}: holds {constant}, which is no JSON number")

    try:
        return json.loads(file.read_bytes().decode("utf-8"), parse_constant=refuse)
    except OSError as error:
        raise RunError(f"{file}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise RunError(f"{file}: byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise RunError(f"{file}: line {error.lineno} column {error.colno}: "
                       f"not JSON: {error.msg}") from None
    except RecursionError:
        raise RunError(f"{file}: nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits
        raise RunError(f"{file}: not JSON: {error}") from None


def _clock(fields: Fields) -> Clock:
    return Clock(fields.choice("kind", CLOCKS), fields.text("source"),
                 fields.number("resolution"), fields.number("overhead"))


def _iommu(fields: Fields) -> Iommu:
    bitmap = fields.text_or_null("pgsize_bitmap")
    if bitmap and not re.fullmatch(r"0x[0-9a-fA-F]{1,16}", bitmap):
        raise fields.wrong("pgsize_bitmap", "a hexadecimal number such as '0x40201000'")
    return Iommu(fields.text_or_null("driver"), fields.text_or_null("device"),
                 int(bitmap or "0", 16), fields.integer_or_null("granule", least=0),
                 fields.text("domain_mode"))


def _texts_of(fields: Fields, keys: tuple[str, ...]) -> dict[str, str]:
    return {key: fields.text(key, empty=True) for key in keys}


def _cpu(fields: Fields) -> dict[str, str]:
    return {"model": fields.text("model", empty=True),
            "count": str(fields.integer("count", least=1)),
            "governor": fields.text_or_null("governor")}


def _mixes(context: Fields) -> dict[str, str]:
    found = context.mapping("mixes")
    for name, steps in found.items():
        try:
            names.orders(steps)
        except ValueError as error:
            raise context.object("mixes").error(name, str(error)) from None
    return found


def _started(context: Fields) -> datetime.datetime:
    text = context.text("started")
    try:
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise context.wrong("started", "a date such as '2026-01-31T12:00:00Z'") from None


@dataclass(frozen=True)
class _Entry:
    name: names.Name  # without the part of the run's own domain mode
    text: str  # as recorded
    block: Block


def _entries(top: Fields, clock: Clock, domain_mode: str
             ) -> tuple[list[_Entry], tuple[tuple[str, str], ...]]:
    """Entries with samples, and those that Google Benchmark marks as failed (what, why)."""
    entries: list[_Entry] = []
    failed: list[tuple[str, str]] = []
    seen: set[tuple[str, int]] = set()
    for fields in top.objects("benchmarks"):
        text = fields.text("name")
        if fields.choice("run_type", ("iteration", "aggregate")) == "aggregate":
            continue  # made from the iterations, which are read themselves
        if fields.value.get("error_occurred") is True:
            failed.append((text, str(fields.value.get("error_message", "no reason recorded"))))
            continue
        entry = _entry(fields, text, clock, domain_mode)
        if (entry.name.text, entry.block.index) in seen:
            raise fields.error("repetition_index", f"{entry.block.index} twice for {text}")
        seen.add((entry.name.text, entry.block.index))
        entries.append(entry)
    if not entries:
        raise top.error("benchmarks", "holds no measurement")
    return entries, tuple(failed)


def _entry(fields: Fields, text: str, clock: Clock, domain_mode: str) -> _Entry:
    try:
        name = names.parse(names.without_domain(text, domain_mode))
    except ValueError as error:
        raise fields.error("name", str(error)) from None
    if fields.text("label") != f"clock:{clock.kind}":
        raise fields.wrong("label", f"'clock:{clock.kind}' as in context.pagemix.clock.kind")
    fields.number("real_time")
    fields.choice("time_unit", ("ns",))
    counters = {key: fields.number(key) for key, value in fields.value.items()
                if key not in _ENTRY_FIELDS and not isinstance(value, str)}
    return _Entry(name, text, Block(fields.integer("repetition_index", least=0),
                              fields.integer("iterations", least=1), counters))


def _benchmarks(file: pathlib.Path, entries: list[_Entry]) -> dict[str, Benchmark]:
    by_name: dict[str, list[_Entry]] = {}
    for entry in entries:
        by_name.setdefault(entry.name.text, []).append(entry)
    samples = _read_samples(file, [group[0].text for group in by_name.values()])
    result: dict[str, Benchmark] = {}
    for text, group in by_name.items():
        blocks = tuple(sorted((e.block for e in group), key=lambda block: block.index))
        expected = sum(block.iterations for block in blocks)
        taken = samples[group[0].text]
        if taken.size != expected:
            raise RunError(f"{file}: {text}: want {expected} samples (the iterations in run.json), "
                           f"found {taken.size}")
        result[text] = Benchmark(group[0].name, blocks, taken)
        _check_medians(file, result[text])
    return result


def _check_medians(file: pathlib.Path, benchmark: Benchmark) -> None:
    """The blocks' medians in run.json must be those of the samples, else the files do not match."""
    for block, part in benchmark.by_block():
        median = float(np.median(part))
        recorded = block.counters.get("median", median)
        if not math.isclose(recorded, median, rel_tol=1e-6, abs_tol=1e-6):
            raise RunError(f"{file}: {benchmark.name.text}: median of block {block.index} is "
                           f"{median:g}, but run.json says {recorded:g}")


def _read_samples(file: pathlib.Path, wanted: list[str]) -> dict[str, NDArray[np.float64]]:
    try:
        with np.load(file, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise RunError(f"{file}: not an npz archive")
            missing = [name for name in wanted if name not in archive.files]
            if missing:
                raise RunError(f"{file}: {missing[0]}: missing")
            return {name: _checked(file, name, archive[name]) for name in wanted}
    except OSError as error:
        raise RunError(f"{file}: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, AttributeError) as error:
        raise RunError(f"{file}: not a readable npz archive: {error}") from None


def _checked(file: pathlib.Path, name: str, data: NDArray[Any]) -> NDArray[np.float64]:
    if data.dtype != np.float64:
        raise RunError(f"{file}: {name}: want float64 samples, found {data.dtype}")
    try:
        checked = stats.checked(data)
    except ValueError as error:
        raise RunError(f"{file}: {name}: {error}") from None
    if checked.min() < 0:
        raise RunError(f"{file}: {name}: sample {int(checked.argmin())} is negative")
    if checked.max() > LARGEST:
        raise RunError(f"{file}: {name}: sample {int(checked.argmax())} is more than 2^64")
    return checked


def labels(runs: list[Run]) -> list[str]:
    """A short label a run, told apart by kernel, then folder, when machines repeat."""
    for result in ([r.machine for r in runs],
                   [f"{r.machine}, Linux {r.kernel['release']}" for r in runs],
                   [f"{r.machine} ({r.folder.resolve().name})" for r in runs]):
        if len(set(result)) == len(result):
            return result
    return [f"{text} #{index}" for index, text in enumerate(result, 1)]
