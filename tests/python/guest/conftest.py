# SPDX-License-Identifier: Apache-2.0
import os
import sys
from pathlib import Path

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "guest"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test touches the user's cache."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("PAGEMIX_CACHE", str(cache))
    return cache


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a shell script in front of PATH, in place of a program of that name."""
    folder = tmp_path / "bin"

    def put(name: str, script: str) -> None:
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    return put
