# SPDX-License-Identifier: Apache-2.0
"""What the drive of target nvme-file holds: no two of its 8-byte words are equal.

The word at byte offset 8 * i is (i + 1) * FACTOR modulo 2^64, little-endian;
tests/in_guest/support/pattern.hpp says the same in C++.
"""

from __future__ import annotations

import array
import sys
from pathlib import Path

BYTES = 16 << 20
FACTOR = 0x9E3779B97F4A7C15  # odd, so i -> i * FACTOR repeats nothing


def write_pattern(path: Path, size: int = BYTES) -> None:
    """Writes a file of `size` bytes, a multiple of 8."""
    words = array.array("Q", ((i * FACTOR) & 0xFFFFFFFFFFFFFFFF for i in range(1, size // 8 + 1)))
    if sys.byteorder == "big":
        words.byteswap()
    path.write_bytes(words.tobytes())
