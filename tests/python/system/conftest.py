# SPDX-License-Identifier: Apache-2.0
"""Real runs in QEMU, shared by the tests of this folder."""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from boots import Boot, Run

SOURCE = Path(__file__).resolve().parents[3]
GUEST = SOURCE / "guest" / "pagemix-guest"
PROFILES = "/etc/pagemix/profiles"
sys.path[:0] = [str(SOURCE / "plots"), str(SOURCE / "guest")]


def load(folder: Path) -> Run:
    run: Run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return run


@pytest.fixture(scope="session")
def boot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Boot]]:
    """boot(machine, words, guest=...): one boot of these commands, with these options."""
    kept: list[Path] = []

    def start(machine: str, words: list[str], guest: tuple[str, ...] = ()) -> Boot:
        out = tmp_path_factory.mktemp("runs") / machine
        done = subprocess.run(
            [GUEST, "run", "--machine", machine, *guest, "--out", out, "--quiet", "--", *words],
            check=False, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(done.stdout)
        done.check_returncode()
        if found := re.search(r"\bkept (.+)$", done.stdout, re.MULTILINE):
            kept.append(Path(found[1]))
            return Boot(out, kept[-1] / "trace.log")
        return Boot(out)

    yield start
    for folder in kept:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def quick_folder(boot: Callable[..., Boot]) -> Callable[[str, int], Path]:
    """quick_folder(machine, n): folder of the n-th boot with the quick profile."""
    return functools.cache(lambda machine, n: boot(
        machine, ["pagemix", "run", "--config", f"{PROFILES}/quick.ini"]).out)


@pytest.fixture(scope="session")
def quick_run(quick_folder: Callable[[str, int], Path]) -> Callable[[str, int], Run]:
    """quick_run(machine, n): run.json of the n-th boot with the quick profile."""
    return lambda machine, n: load(quick_folder(machine, n))


@pytest.fixture(scope="session")
def use_boot(boot: Callable[..., Boot]) -> Callable[..., Boot]:
    """use_boot(machine, *keys, guest=...): a boot with the use profile and these keys; keeps
    its trace."""

    @functools.cache
    def start(machine: str, *keys: str, guest: tuple[str, ...] = ()) -> Boot:
        return boot(machine, ["pagemix", "run", "--config", f"{PROFILES}/use.ini", *keys],
                    ("--keep", *guest))

    return start


@pytest.fixture(scope="session")
def use_run(use_boot: Callable[..., Boot]) -> Callable[..., Run]:
    """use_run(machine, *keys, guest=...): run.json of such a boot."""
    return lambda machine, *keys, guest=(): load(use_boot(machine, *keys, guest=guest).out)
