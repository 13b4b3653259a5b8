# SPDX-License-Identifier: Apache-2.0
"""Screenshots: the script makes those that the docs show."""

from __future__ import annotations

import pathlib
import re
import struct
import subprocess

import make_run
import pytest
from chromium import CHROMIUM

SOURCE = pathlib.Path(__file__).resolve().parents[4]
SIZES = {"site-desktop": (1280, 1250), "run-desktop": (1280, 1250),
         "site-phone": (390, 1500), "run-phone": (390, 1500)}


def size(file: pathlib.Path) -> tuple[int, int]:
    """Width and height out of a PNG's header."""
    head = file.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n", file
    width, height = struct.unpack(">II", head[16:])
    return width, height


def test_the_docs_show_what_is_there() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(screens/([a-z-]+)\.png\)",
                       (SOURCE / "docs" / "site.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(SIZES)
    for name in shown:
        file = SOURCE / "docs" / "screens" / f"{name}.png"
        assert size(file) == SIZES[name] and file.stat().st_size < 200_000


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_the_script_makes_them(tmp_path: pathlib.Path) -> None:
    make_run.make_run(tmp_path / "results" / "run", mixes=("order0", "8-4-0", "9-4-0"))
    subprocess.run([SOURCE / "scripts" / "screenshots", "--results", tmp_path / "results",
                    "--out", tmp_path / "out"], check=True, stdout=subprocess.DEVNULL)
    made = {file.stem: size(file) for file in (tmp_path / "out").iterdir()}
    assert made == SIZES
    assert len({(tmp_path / "out" / f"{name}.png").read_bytes() for name in SIZES}) == 4


def test_no_runs_no_pictures(tmp_path: pathlib.Path) -> None:
    done = subprocess.run([SOURCE / "scripts" / "screenshots", "--results", tmp_path, "--out",
                           tmp_path / "out"], capture_output=True, text=True)
    assert done.returncode != 0 and "holds no run" in done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "out").exists()
