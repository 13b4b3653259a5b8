# SPDX-License-Identifier: Apache-2.0
"""Characters that a guest sent, out of QEMU's trace events of its serial ports.

Spellings: QEMU 7.2 writes `pl011_write addr 0x00000000 value 0x00000041`, later
ones `pl011_write addr 0x000 value 0x00000041 reg DR`.
"""

from __future__ import annotations

import re
from typing import Protocol


class Uart(Protocol):
    """A port whose register writes are traced."""

    def character(self, rest: bytes) -> str | None:
        """What a write sent: a character, '' for another register, None if not understood.

        `rest` is the event's text behind its name.
        """


class Pl011:
    """Arm's PL011: the data register is the first."""

    WRITE = re.compile(rb"^addr 0x([0-9a-f]+) value 0x([0-9a-f]{8})(?: reg \S+)?$")

    def character(self, rest: bytes) -> str | None:
        match = self.WRITE.match(rest)
        if not match:
            return None
        return chr(int(match[2], 16) & 0xff) if int(match[1], 16) == 0 else ""


class Ns16550:
    """The PC's serial port. Bit 7 of its line control register puts the divisor
    of the baud rate in the place of the data register.
    """

    WRITE = re.compile(rb"^write addr 0x([0-9a-f]{2}) val 0x([0-9a-f]{2})$")
    DATA, LINE_CONTROL, DIVISOR_LATCH = 0, 3, 0x80

    def __init__(self) -> None:
        self._divisor = False

    def character(self, rest: bytes) -> str | None:
        match = self.WRITE.match(rest)
        if not match:
            return None
        register, value = int(match[1], 16), int(match[2], 16)
        if register == self.LINE_CONTROL:
            self._divisor = bool(value & self.DIVISOR_LATCH)
        return chr(value) if register == self.DATA and not self._divisor else ""
