# SPDX-License-Identifier: Apache-2.0
"""Properties that hold for any input: statistics, and files that are broken in any way."""

from __future__ import annotations

import copy
import json
import math
import pathlib
import shutil
from typing import Any

import make_run
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pagemix_plots.answers import compare, headline, noise, project, verdict
from pagemix_plots.models import hardware
from pagemix_plots.pages import compare_text, report
from pagemix_plots.run.fields import RunError
from pagemix_plots.run.load import load_run
from pagemix_plots.stats import pairs, stats

CASES = settings(max_examples=150, deadline=None, derandomize=True,
                 suppress_health_check=[HealthCheck.too_slow,
                                        HealthCheck.function_scoped_fixture])
NUMBERS = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False)
SAMPLES = st.lists(NUMBERS, min_size=1, max_size=60)
# Few different values, so that most are tied, and a heavy tail.
TIED = st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.0, 1e300]), min_size=1, max_size=60)
ANY = st.one_of(SAMPLES, TIED)


@CASES
@given(ANY)
def test_summary_is_in_order(samples: list[float]) -> None:
    found = stats.summarize(samples)
    assert found.n == len(samples) and found.max == max(samples)
    assert min(samples) <= found.median <= found.max
    if found.low is None or found.high is None:
        assert found.n < stats.LEAST_FOR_INTERVAL
    else:
        assert min(samples) <= found.low <= found.high <= found.max
    quantiles = [q for q in (found.median, found.p90, found.p99, found.p999) if q is not None]
    assert quantiles == sorted(quantiles)


@CASES
@given(ANY, st.randoms(use_true_random=False))
def test_order_of_samples_does_not_matter(samples: list[float], random: Any) -> None:
    shuffled = list(samples)
    random.shuffle(shuffled)
    assert stats.summarize(samples) == stats.summarize(shuffled)


@CASES
@given(st.lists(st.integers(0, 10**6), min_size=5, max_size=60), st.integers(1, 1000))
def test_units_do_not_matter(samples: list[int], factor: int) -> None:
    """In another unit, every number of the summary is that many times as large."""
    one, other = stats.summarize(samples), stats.summarize([s * factor for s in samples])
    assert other.median == pytest.approx(one.median * factor)
    assert other.low == pytest.approx((one.low or 0) * factor)
    assert other.high == pytest.approx((one.high or 0) * factor)


@CASES
@given(NUMBERS, st.integers(1, 60))
def test_constant_samples(value: float, count: int) -> None:
    found = stats.summarize([value] * count)
    assert found.median == value and found.low in (None, value) and found.high in (None, value)
    shift = pairs.compare([value] * count, [value] * count)
    assert (shift.shift, shift.p, shift.superiority) == (0, 1, 0.5)


@CASES
@given(ANY, st.sampled_from([math.nan, math.inf, -math.inf]), st.integers(0, 60))
def test_what_is_no_number_is_named(samples: list[float], bad: float, place: int) -> None:
    place = min(place, len(samples))
    broken = samples[:place] + [bad] + samples[place:]
    for function in (stats.summarize,
                     lambda s: pairs.compare(s, samples), lambda s: pairs.compare(samples, s)):
        with pytest.raises(ValueError, match=f"sample {place} is "):
            function(broken)


@CASES
@given(ANY, ANY)
def test_comparing_the_other_way_round_turns_the_sign(a: list[float], b: list[float]) -> None:
    one, back = pairs.compare(a, b), pairs.compare(b, a)
    assert one.shift == pytest.approx(-back.shift, rel=1e-9, abs=1e-6)
    assert one.p == pytest.approx(back.p) and 0 <= one.p <= 1
    assert one.superiority == pytest.approx(1 - back.superiority)
    if one.low is not None and one.high is not None:
        assert one.low <= one.shift <= one.high


@CASES
@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_only_raises_and_keeps_the_order(values: list[float]) -> None:
    found = pairs.holm(values)
    assert all(p <= q <= 1 for p, q in zip(values, found, strict=True))
    order = sorted(range(len(values)), key=lambda i: values[i])
    assert [found[i] for i in order] == sorted(found)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return make_run.make_run(tmp_path_factory.mktemp("good") / "run", mixes=("order0", "order9"),
                             families=("map_sgtable", "alloc"), layouts=("scattered",))


def use(folder: pathlib.Path) -> None:
    """All that reads a run; whatever is wrong with it may only be a RunError of one line that
    names the file."""
    prices = hardware.load("arm-smmuv3-server")
    try:
        run = load_run(folder)
    except RunError as error:
        assert all(word in str(error) for word in (str(folder), ": ")) and "\n" not in str(error)
        return
    for read in (headline.text,
                 lambda runs: compare_text.text(compare.runs(*runs, *runs, "a", "b")),
                 lambda runs: compare_text.text(compare.mixes(*runs, "a", "order0", "order9")),
                 lambda runs: compare_text.noise_text("a", noise.halves(*runs), ""),
                 lambda runs: verdict.text(*runs, "a"),
                 lambda runs: project.text(*runs, "a", prices)):
        try:
            read([run])
        except RunError as error:
            text = str(error)
            assert "\n" not in text and len(text) < 1000
            assert any(w in text for w in ("run.json", "samples.npz", str(folder), "a and b"))


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value of a JSON document."""
    items = (list(value.items()) if isinstance(value, dict)
             else list(enumerate(value[:3])) if isinstance(value, list) else [])
    return [path] + [p for key, item in items for p in paths(item, (*path, key))]


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2**70, 2**70),
              st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=3),
                            st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5)


@CASES
@given(data=st.data())
def test_any_value_anywhere_in_run_json(good: pathlib.Path, tmp_path: pathlib.Path,
                                        data: st.DataObject) -> None:
    document = json.loads((good / "run.json").read_text())
    place = data.draw(st.sampled_from(paths(document)[1:]))
    document = copy.deepcopy(document)
    target = document
    for key in place[:-1]:
        target = target[key]
    if data.draw(st.booleans()):
        target[place[-1]] = data.draw(JSON)
    else:
        del target[place[-1]]
    folder = tmp_path / "any"
    folder.mkdir(exist_ok=True)
    shutil.copyfile(good / "samples.npz", folder / "samples.npz")
    (folder / "run.json").write_text(json.dumps(document))
    use(folder)


@CASES
@given(data=st.data(), name=st.sampled_from(["run.json", "samples.npz"]))
def test_truncated_and_flipped_files(good: pathlib.Path, tmp_path: pathlib.Path,
                                     data: st.DataObject, name: str) -> None:
    folder = tmp_path / "cut"
    folder.mkdir(exist_ok=True)
    for file in ("run.json", "samples.npz"):
        shutil.copyfile(good / file, folder / file)
    content = bytearray((good / name).read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:place]
    else:
        content[place] ^= data.draw(st.integers(1, 255))
    (folder / name).write_bytes(bytes(content))
    use(folder)


@CASES
@given(st.lists(NUMBERS, min_size=0, max_size=50))
def test_any_samples(good: pathlib.Path, tmp_path: pathlib.Path, samples: list[float]) -> None:
    folder = tmp_path / "samples"
    folder.mkdir(exist_ok=True)
    shutil.copyfile(good / "run.json", folder / "run.json")
    with np.load(good / "samples.npz") as archive:
        arrays = dict(archive)
    arrays[next(iter(arrays))] = np.array(samples)
    np.savez_compressed(folder / "samples.npz", **arrays)
    use(folder)


@settings(CASES, max_examples=12)
@given(data=st.data())
def test_a_run_that_loads_can_be_drawn(good: pathlib.Path, tmp_path: pathlib.Path,
                                       data: st.DataObject) -> None:
    """Any counters and samples: tied, constant, zero, heavy-tailed."""
    document = json.loads((good / "run.json").read_text())
    with np.load(good / "samples.npz") as archive:
        arrays = dict(archive)
    values = st.one_of(st.just(0.0), st.floats(0, 1e15), st.sampled_from([1.0, 1e300]))
    for name in data.draw(st.sets(st.sampled_from(sorted(arrays)), max_size=3)):
        arrays[name] = np.array([data.draw(values)] * arrays[name].size)
        arrays[name][-1] = data.draw(values)
    for entry in document["benchmarks"]:
        entry.pop("median")
    for entry in data.draw(st.lists(st.sampled_from(document["benchmarks"]), max_size=4)):
        for key in data.draw(st.sets(st.sampled_from(sorted(entry)), max_size=3)):
            if isinstance(entry[key], float):
                entry[key] = data.draw(values)
    folder = tmp_path / "draw"
    make_run.write(folder, document, arrays)
    try:
        report.write([load_run(folder)], tmp_path / "out")
    except RunError as error:
        assert str(folder) in str(error)
