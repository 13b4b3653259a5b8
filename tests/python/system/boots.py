# SPDX-License-Identifier: Apache-2.0
"""What a boot leaves for the tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

Run = dict[str, Any]


@dataclass(frozen=True)
class Boot:
    """What a boot left: the run's folder, and QEMU's trace where it was kept."""

    out: Path
    trace: Path | None = None
