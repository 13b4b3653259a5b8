# SPDX-License-Identifier: Apache-2.0
"""QEMU's monitor, for a guest that has a drive unplugged or slowed down.

A program in the guest writes `@pagemix-guest qmp {"execute": ...}` on a line of
its own; QEMU's answer, one line of JSON with "return" or "error", comes to its
standard input. What the command does may be seen later than the answer.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence

from .errors import GuestError

SECONDS = 60.0  # for an answer: draining a drive that is stopped may take long


class Monitor:
    """One QMP connection, over a socket that QEMU inherits."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.settimeout(SECONDS)
        self._received = b""
        self._greeted = False

    @property
    def inherited(self) -> int:
        """The descriptor to pass on."""
        return self._theirs.fileno()

    def arguments(self) -> Sequence[str]:
        """What QEMU's command line needs."""
        return ("-chardev", f"socket,id=monitor,fd={self.inherited}",
                "-mon", "chardev=monitor,mode=control")

    def started(self) -> None:
        """QEMU has its end: when it goes, so does the connection."""
        self._theirs.close()

    def close(self) -> None:
        """Ends the connection."""
        self._theirs.close()
        self._ours.close()

    def execute(self, text: str) -> str:
        """Runs one command, given as JSON text; returns the answer as one line of JSON."""
        try:
            command = json.loads(text)
        except ValueError as error:
            raise GuestError(f"the guest asked for the QMP command '{text}': {error}") from error
        try:
            if not self._greeted:
                self._message()  # QEMU speaks first
                self._exchange({"execute": "qmp_capabilities"})
                self._greeted = True
            return json.dumps(self._exchange(command))
        except OSError as error:
            raise GuestError(f"QMP command '{text}': {error}") from error

    def _exchange(self, command: object) -> dict[str, object]:
        self._ours.sendall(json.dumps(command).encode() + b"\n")
        while True:
            message = self._message()
            if "return" in message or "error" in message:
                return message  # anything else is an event

    def _message(self) -> dict[str, object]:
        while b"\n" not in self._received:
            data = self._ours.recv(1 << 16)
            if not data:
                raise ConnectionError("QEMU closed its monitor")
            self._received += data
        line, self._received = self._received.split(b"\n", 1)
        message: dict[str, object] = json.loads(line)
        return message
