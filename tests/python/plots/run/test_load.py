# SPDX-License-Identifier: Apache-2.0
"""Each way a run can be malformed gives one line that names the file and the field."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
from collections.abc import Callable
from typing import Any

import make_run
import numpy as np
import pytest
from pagemix_plots.run.fields import RunError
from pagemix_plots.run.load import labels, load_run

SMALL: dict[str, Any] = {"mixes": ("order0", "order9"), "blocks": 2, "iterations": 3}


def test_reads_a_run_from_its_folder_or_file(folder: Callable[..., pathlib.Path]) -> None:
    path = folder(**SMALL)
    run = load_run(path)
    assert run.machine == load_run(path / "run.json").machine == "smmuv3"
    assert run.clock.unit == "guest instructions"
    assert run.iommu.pgsize_bitmap == 0x40201000
    assert run.page_size == 4096
    benchmark = run.benchmarks["map_sgtable/mix:order9/layout:buddy/bytes:10485760"]
    assert benchmark.samples.tolist() == [1650.0] * 6
    assert [block.index for block in benchmark.blocks] == [0, 1]
    assert benchmark.counters("leaves_") == {2 << 20: 5.0}
    assert benchmark.counter("smmu_cmd_tlbi") == 1.0
    assert benchmark.counter("no_such_counter") is None
    assert benchmark.name.key is not None and benchmark.name.key.state == "warm"


def test_a_counter_that_varies_is_weighted_by_iterations(tmp_path: pathlib.Path) -> None:
    document, arrays = make_run.build(make_run.Options(**SMALL))
    name = "alloc/mix:order0/layout:buddy/bytes:10485760"
    first, second = (e for e in document["benchmarks"] if e["name"] == name)
    first["runs"], second["runs"] = 10.0, 40.0
    second["iterations"] = 6
    arrays[name] = np.full(9, arrays[name][0])
    run = load_run(make_run.write(tmp_path / "run", document, arrays))
    assert run.benchmarks[name].counter("runs") == pytest.approx(30.0)


def test_a_machine_without_iommu_has_nulls(tmp_path: pathlib.Path) -> None:
    document, arrays = make_run.build(make_run.Options(**SMALL))
    pagemix = document["context"]["pagemix"]
    pagemix["iommu"] = {"driver": None, "device": None, "pgsize_bitmap": None, "granule": None,
                        "domain_mode": "none"}
    pagemix["target"], pagemix["module"]["version"] = None, None
    run = load_run(make_run.write(tmp_path / "run", document, arrays))
    assert (run.iommu.driver, run.iommu.pgsize_bitmap, run.iommu.granule) == ("", 0, 0)
    assert run.target == {} and run.module_version == ""


def test_failed_entries_are_skipped_with_their_reason(tmp_path: pathlib.Path) -> None:
    document, arrays = make_run.build(make_run.Options(**SMALL))
    document["benchmarks"].append({
        "name": "vfio_map/mix:order4/layout:buddy/bytes:10485760", "run_type": "iteration",
        "error_occurred": True, "error_message": "no memory"})
    run = load_run(make_run.write(tmp_path / "run", document, arrays))
    assert run.skipped == (("vfio_map/mix:order4/layout:buddy/bytes:10485760", "no memory"),)


def test_aggregates_are_left_out(tmp_path: pathlib.Path) -> None:
    document, arrays = make_run.build(make_run.Options(**SMALL))
    before = len(document["benchmarks"])
    document["benchmarks"].append({"name": "alloc/any_mean", "run_type": "aggregate"})
    run = load_run(make_run.write(tmp_path / "run", document, arrays))
    assert sum(len(b.blocks) for b in run.benchmarks.values()) == before


def _pagemix(document: dict[str, Any]) -> dict[str, Any]:
    return document["context"]["pagemix"]


def _set(*path: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        target: Any = document
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = to
    return change


def _drop(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        target: Any = document
        for key in path[:-1]:
            target = target[key]
        del target[path[-1]]
    return change


P = ("context", "pagemix")
B = ("benchmarks", 0)
WRONG_FIELDS: list[tuple[str, Callable[[dict[str, Any]], None], str]] = [
    ("no context", _drop("context"), r"context: missing"),
    ("context is a list", _set("context", to=[]), r"context: want an object, found a list"),
    ("no pagemix", _drop(*P), r"context\.pagemix: missing"),
    ("no schema", _drop(*P, "schema"), r"context\.pagemix\.schema: missing"),
    ("later schema", _set(*P, "schema", to=2), r"schema: want 1, found 2"),
    ("schema is text", _set(*P, "schema", to="1"), r"schema: want an integer .*found '1'"),
    ("schema is true", _set(*P, "schema", to=True), r"schema: want an integer .*found true"),
    ("complete is text", _set(*P, "complete", to="yes"), r"complete: want true or false"),
    ("no clock", _drop(*P, "clock"), r"clock: missing"),
    ("unknown clock", _set(*P, "clock", "kind", to="sundial"),
     r"clock\.kind: want one of instructions, hardware-ns, emulated-ns, found 'sundial'"),
    ("clock kind is a list", _set(*P, "clock", "kind", to=[]), r"clock\.kind: want one of"),
    ("negative overhead", _set(*P, "clock", "overhead", to=-1),
     r"clock\.overhead: want a number from 0 to 2\^64"),
    ("overhead is null", _set(*P, "clock", "overhead", to=None),
     r"overhead: want a number, .*null"),
    ("bitmap is a number", _set(*P, "iommu", "pgsize_bitmap", to=4096),
     r"iommu\.pgsize_bitmap: want a string or null"),
    ("bitmap is no hex", _set(*P, "iommu", "pgsize_bitmap", to="4K,2M"),
     r"iommu\.pgsize_bitmap: want a hexadecimal"),
    ("domain is null", _set(*P, "iommu", "domain_mode", to=None), r"domain_mode: want a non-empty"),
    ("granule is a float", _set(*P, "iommu", "granule", to=4096.5), r"granule: want an integer"),
    ("no kernel release", _drop(*P, "kernel", "release"), r"kernel\.release: missing"),
    ("empty machine", _set(*P, "machine", to=""), r"machine: want a non-empty string"),
    ("no processors", _set(*P, "cpu", "count", to=0), r"cpu\.count: want an integer of at least 1"),
    ("governor is a number", _set(*P, "cpu", "governor", to=3), r"cpu\.governor: want a string"),
    ("config is nested", _set(*P, "config", "run.bytes", to={}),
     r"config\.run\.bytes: want a plain"),
    ("command is text", _set(*P, "command", to="pagemix run"), r"command: want a list of strings"),
    ("no date", _set(*P, "started", to="yesterday"), r"started: want a date"),
    ("skipped without why", _set(*P, "skipped", to=[{"what": "x"}]), r"skipped\[0\]\.why: missing"),
    ("guest is a list", _set(*P, "guest", to=[]), r"guest: want an object"),
    ("no benchmarks", _drop("benchmarks"), r"benchmarks: missing"),
    ("benchmarks is an object", _set("benchmarks", to={}), r"benchmarks: want a list"),
    ("nothing measured", _set("benchmarks", to=[]), r"benchmarks: holds no measurement"),
    ("an entry is text", _set(*B, to="fast"), r"benchmarks\[0\]: want an object, found 'fast'"),
    ("entry without name", _drop(*B, "name"), r"benchmarks\[0\]\.name: missing"),
    ("name without layout", _set(*B, "name", to="alloc/mix:order0/bytes:4096"),
     r"benchmarks\[0\]\.name: no 'layout'"),
    ("name with a bad part", _set(*B, "name", to="alloc/fast"), r"name: bad part 'fast'"),
    ("name with bad bytes", _set(*B, "name", to="alloc/mix:order0/layout:buddy/bytes:10M"),
     r"bytes '10M'"),
    ("name with unknown layout", _set(*B, "name", to="alloc/mix:order0/layout:odd/bytes:4096"),
     r"layout 'odd' .*scattered, buddy"),
    ("name with unknown state",
     _set(*B, "name", to="alloc/mix:order0/layout:buddy/bytes:4096/state:hot"), r"state 'hot'"),
    ("label of another clock", _set(*B, "label", to="clock:hardware-ns"),
     r"benchmarks\[0\]\.label: want 'clock:instructions'"),
    ("no iterations", _set(*B, "iterations", to=0), r"iterations: want an integer of at least 1"),
    ("counter is null", _set(*B, "runs", to=None), r"benchmarks\[0\]\.runs: want a number"),
    ("time is text", _set(*B, "real_time", to="12"), r"real_time: want a number, found '12'"),
    ("other time unit", _set(*B, "time_unit", to="us"), r"time_unit: want one of ns"),
    ("block given twice", _set("benchmarks", 1, "repetition_index", to=0),
     r"repetition_index: 0 twice"),
]


@pytest.mark.parametrize("change, message", [w[1:] for w in WRONG_FIELDS],
                         ids=[w[0] for w in WRONG_FIELDS])
def test_wrong_field(tmp_path: pathlib.Path, change: Callable[[dict[str, Any]], None],
                     message: str) -> None:
    document, arrays = make_run.build(make_run.Options(**SMALL))
    change(document)
    path = make_run.write(tmp_path / "run", document, arrays)
    with pytest.raises(RunError) as caught:
        load_run(path)
    text = str(caught.value)
    assert text.startswith(str(path / "run.json") + ": ")
    assert re.search(message, text), text
    assert "\n" not in text


NAME = "alloc/mix:order0/layout:scattered/bytes:10485760"
WRONG_TEXTS: list[tuple[str, Callable[[bytes], bytes], str]] = [
    ("empty", lambda text: b"", r"line 1 column 1: not JSON"),
    ("cut in the middle", lambda text: text[:len(text) // 2], r"line \d+ column \d+: not JSON"),
    ("a list", lambda text: b"[]", r"top level: want an object, found a list"),
    ("NaN", lambda text: text.replace(b'"overhead": 32.0', b'"overhead": NaN'), r"holds NaN"),
    ("Infinity", lambda text: text.replace(b'"overhead": 32.0', b'"overhead": -Infinity'),
     r"holds -Infinity"),
    ("a number beyond a float",
     lambda text: text.replace(b'"overhead": 32.0', b'"overhead": 1e999'),
     r"clock\.overhead: want a number from 0 to 2\^64"),
    ("not UTF-8", lambda text: text.replace(b"smmuv3", b"smmu\xff3"), r"byte \d+ is not UTF-8"),
    ("nested without end", lambda text: b"[" * 100_000, r"nested too deeply"),
    ("an integer without end", lambda text: text.replace(b'"seed": 1', b'"seed": ' + b"1" * 5000),
     r"not JSON"),
]


@pytest.mark.parametrize("change, message", [w[1:] for w in WRONG_TEXTS],
                         ids=[w[0] for w in WRONG_TEXTS])
def test_wrong_text(folder: Callable[..., pathlib.Path], change: Callable[[bytes], bytes],
                    message: str) -> None:
    path = folder(**SMALL)
    file = path / "run.json"
    before = file.read_bytes()
    file.write_bytes(change(before))
    assert file.read_bytes() != before
    with pytest.raises(RunError, match=message) as caught:
        load_run(path)
    assert str(caught.value).startswith(str(file))


def _array(change: Callable[[np.ndarray], Any]) -> Callable[[dict[str, Any]], None]:
    def apply(arrays: dict[str, Any]) -> None:
        arrays[NAME] = change(arrays[NAME])
    return apply


def _with(value: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda a: np.concatenate([a[:-1], [value]])


WRONG_ARRAYS: list[tuple[str, Callable[[dict[str, Any]], Any], str]] = [
    ("missing", lambda arrays: arrays.pop(NAME), r"missing"),
    ("too few", _array(lambda a: a[:-1]), r"want 6 samples .*found 5"),
    ("none", _array(lambda a: a[:0]), r"no samples"),
    ("NaN", _array(_with(np.nan)), r"sample 5 is nan, not a finite number"),
    ("infinite", _array(_with(np.inf)), r"sample 5 is inf"),
    ("negative", _array(_with(-1.0)), r"sample 5 is negative"),
    ("integers", _array(lambda a: a.astype(np.int64)), r"want float64 samples, found int64"),
    ("two rows", _array(lambda a: a.reshape(2, 3)), r"want one row of samples, found 2"),
    ("of another run", _array(lambda a: a + 100), r"median of block 0 is .* but run.json says"),
]


@pytest.mark.parametrize("change, message", [w[1:] for w in WRONG_ARRAYS],
                         ids=[w[0] for w in WRONG_ARRAYS])
def test_wrong_samples(tmp_path: pathlib.Path, change: Callable[[dict[str, Any]], Any],
                       message: str) -> None:
    document, arrays = make_run.build(make_run.Options(**SMALL))
    change(arrays)
    path = make_run.write(tmp_path / "run", document, arrays)
    with pytest.raises(RunError, match=message) as caught:
        load_run(path)
    assert str(caught.value).startswith(f"{path / 'samples.npz'}: {NAME}: ")


@pytest.mark.parametrize("content", [
    None, b"", b"not an archive", b"PK\x03\x04 cut", "half", "flipped", "pickled"],
    ids=["absent", "empty", "text", "header", "half", "flipped", "pickled"])
def test_wrong_archive(folder: Callable[..., pathlib.Path], content: bytes | str | None) -> None:
    path = folder(**SMALL)
    file = path / "samples.npz"
    whole = file.read_bytes()
    if content is None:
        file.unlink()
    elif content == "half":
        file.write_bytes(whole[:len(whole) // 2])
    elif content == "flipped":  # inside the first array's compressed data
        file.write_bytes(whole[:120] + bytes(b ^ 0xff for b in whole[120:160]) + whole[160:])
    elif content == "pickled":
        arrays = {name: np.array([{"a": 1}], dtype=object) for name in np.load(file).files}
        np.savez(file, **arrays)
    else:
        assert isinstance(content, bytes)
        file.write_bytes(content)
    with pytest.raises(RunError) as caught:
        load_run(path)
    assert str(caught.value).startswith(str(file) + ": ")
    assert "\n" not in str(caught.value)


def test_the_program_prints_one_line_and_exits_1(program: pathlib.Path, tmp_path: pathlib.Path,
                                                 folder: Callable[..., pathlib.Path]) -> None:
    broken = folder(**SMALL)
    (broken / "run.json").write_text(json.dumps({"context": {}}))
    for path in (tmp_path / "nothing here", broken):
        for command in ("report", "headline"):
            result = subprocess.run([program, command, path], capture_output=True, text=True)
            assert result.returncode == 1
            assert result.stdout == ""
            assert result.stderr.count("\n") == 1
            assert result.stderr.startswith(f"pagemix-report: {path}")


def test_labels_tell_runs_apart(run: Callable[..., Any]) -> None:
    first, second = run("a", **SMALL), run("b", **SMALL)
    other = run("c", machine="virtio-iommu", **SMALL)
    assert labels([first, other]) == ["smmuv3", "virtio-iommu"]
    assert labels([first, second]) == ["smmuv3 (a)", "smmuv3 (b)"]
    assert labels([first, first]) == ["smmuv3 (a) #1", "smmuv3 (a) #2"]
