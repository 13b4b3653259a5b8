# SPDX-License-Identifier: Apache-2.0
"""Real runs in QEMU, shared by the tests of this folder."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parents[3]
GUEST = SOURCE / "guest" / "pagemix-guest"
Run = dict[str, Any]


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Run]:
    """quick_run(machine, n): run.json of the n-th boot with the quick profile."""

    @functools.cache
    def boot(machine: str, n: int) -> Run:
        out = tmp_path_factory.mktemp("runs") / f"{machine}-{n}"
        subprocess.run(
            [GUEST, "run", "--machine", machine, "--out", out, "--quiet", "--",
             "pagemix", "run", "--config", "/etc/pagemix/profiles/quick.ini"],
            check=True, cwd=SOURCE)
        return json.loads((out / "run.json").read_text(encoding="utf-8"))

    return boot


@pytest.fixture(scope="session")
def use_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """use_run(machine, *keys, guest=...): run.json of a boot with the use profile and these keys."""

    @functools.cache
    def boot(machine: str, *keys: str, guest: tuple[str, ...] = ()) -> Run:
        out = tmp_path_factory.mktemp("runs") / f"use-{machine}"
        subprocess.run(
            [GUEST, "run", "--machine", machine, *guest, "--out", out, "--quiet", "--",
             "pagemix", "run", "--config", "/etc/pagemix/profiles/use.ini", *keys],
            check=True, cwd=SOURCE)
        return json.loads((out / "run.json").read_text(encoding="utf-8"))

    return boot
