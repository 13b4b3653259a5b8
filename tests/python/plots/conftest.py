# SPDX-License-Identifier: Apache-2.0
"""Makes plots/ importable and offers run folders."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

HERE = pathlib.Path(__file__).resolve().parent
PLOTS = HERE.parents[2] / "plots"
sys.path[:0] = [str(PLOTS), str(HERE)]

import make_run  # noqa: E402
from pagemix_plots.run.load import Run, load_run  # noqa: E402


@pytest.fixture
def program() -> pathlib.Path:
    """The executable as a user starts it."""
    return PLOTS / "pagemix-report"


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    """folder(name, **options) writes a run folder of that name."""
    def write(name: str = "run", **changes: Any) -> pathlib.Path:
        return make_run.make_run(tmp_path / name, **changes)
    return write


@pytest.fixture
def run(folder: Callable[..., pathlib.Path]) -> Callable[..., Run]:
    """run(**options) writes a run folder and loads it."""
    def load(name: str = "run", **changes: Any) -> Run:
        return load_run(folder(name, **changes))
    return load


@pytest.fixture(scope="session")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[pathlib.Path]:
    """Folders of both machines, guest instructions, warm and cold; tests only read them."""
    base = tmp_path_factory.mktemp("both")
    return [make_run.make_run(base / machine, machine=machine) for machine in make_run.DRIVERS]
