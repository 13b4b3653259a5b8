# SPDX-License-Identifier: Apache-2.0
"""A reader that stops reading, as `pagemix-report ... | head` does, is no error."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

PLOTS = pathlib.Path(__file__).resolve().parents[3] / "plots"


def test_nothing_is_said_when_the_reader_is_gone(folder: Callable[..., pathlib.Path]) -> None:
    run = folder("a", mixes=("order0", "order4"), iterations=10)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = subprocess.run([sys.executable, PLOTS / "pagemix-report", "verdict", run],
                                stdout=writer, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writer)
    assert result.stderr == ""
    assert result.returncode in (0, 1)  # not Python's 120
