# SPDX-License-Identifier: Apache-2.0
"""What comes out of the guest's serial port, line by line.

Kernel messages and programs share the port. The kernel writes a message whole
but may start in the middle of a program's line; its time stamp tells the two
apart and puts the program's line together again.
"""

from __future__ import annotations

import re
import shutil
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

STAMP = re.compile(r"\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])? ")

# Kernel messages that fail a run. `fatal` ones leave a guest that may never
# come to its end; after the others the run goes on, to show what follows.
FAILURES: tuple[tuple[str, bool], ...] = (
    (r"WARNING: ", False),
    (r"BUG: ", True),
    (r"BUG \S+ \(.*\): ", False),  # SLUB's checks, slab_debug=
    (r"pagealloc: (?:memory corruption|single bit error)", False),  # page_poison=1
    (r"Kernel panic", True),
    (r"Internal error: ", True),
    (r"Oops\b", True),
    (r"Unable to handle kernel ", True),
    (r"general protection fault|PANIC: double fault", True),
    (r"kernel BUG at ", True),
    (r"rcu: INFO: .*(?:stall|expedited)", True),
    (r"INFO: rcu.*stall", True),
    (r"INFO: task .* blocked for more than", True),
    (r"INFO: (?:possible|inconsistent|trying to register)", False),
    (r"possible recursive locking|inconsistent lock state", False),
    (r"[Ww]atchdog.* (?:lockup|LOCKUP)", True),
    (r"refcount_t: ", False),
    (r"list_(?:add|del) corruption", False),
    (r"(?:KASAN|UBSAN|KCSAN|KFENCE|KMSAN): ", False),
    (r"kmemleak: \d+ new suspected memory leaks", False),
    (r"DMA-API: (?!.*(?:debugging enabled|preallocated|cacheline tracking))", False),
    (r"Out of memory: |oom-kill:", False),
    (r"arm-smmu-v3 .*(?:event 0x|CMD_SYNC timeout|unexpected global error)", False),
    (r"DMAR: .*(?:fault addr|fault status|Invalidation .*Error)", False),
    (r"AMD-Vi: (?:.*Event logged|Completion-Wait loop timed out)", False),
)
_FAILURE = [(re.compile(pattern), fatal) for pattern, fatal in FAILURES]


@dataclass(frozen=True)
class Line:
    """One line without its end; `kernel` if the kernel wrote it."""

    text: str
    kernel: bool


class LineAssembler:
    """Turns characters into lines."""

    def __init__(self) -> None:
        self._text = ""

    def feed(self, text: str) -> list[Line]:
        """Characters in the order they came; returns the lines they complete."""
        *complete, rest = (self._text + text).split("\n")
        lines: list[Line] = []
        pending = ""
        for part in complete:
            whole = pending + part.rstrip("\r")
            stamp = STAMP.search(whole)
            if stamp:
                pending = whole[:stamp.start()]
                lines.append(Line(whole[stamp.start():], True))
            else:
                pending = ""
                lines.append(Line(whole, False))
        self._text = pending + rest
        return lines

    @property
    def rest(self) -> str:
        """The line that has no end yet."""
        return self._text


def failure_in(line: Line) -> tuple[bool, bool]:
    """(is a failure, is fatal) of one line; only kernel messages count."""
    if line.kernel:
        stamp = STAMP.match(line.text)
        text = line.text[stamp.end():] if stamp else line.text
        for pattern, fatal in _FAILURE:
            if pattern.search(text):
                return True, fatal
    return False, False


INIT = re.compile(r"@pagemix-guest (start|exit|fail|qmp) ?(.*)")
MARKER = re.compile(r"@pagemix (?:begin|end) ")
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PROGRESS = re.compile(r"\[ *\d+/\d+\] ")


def plain(text: str) -> str:
    """What a terminal would show of a line in the end: no escapes, no redrawn parts."""
    return ESCAPE.sub("", text).rstrip("\r").rsplit("\r", 1)[-1]


@dataclass
class Console:
    """Follows a guest: what it said of itself, what went wrong, what to show.

    `failures` are kernel messages, `complaints` what init could not do. A
    kernel message that matches one of `expected` is no failure; `awaited` are
    those that have not come. `requests` are QMP commands the guest asks for.
    """

    verbose: bool = False
    quiet: bool = False  # of a program only progress lines, which start with '['
    expected: tuple[re.Pattern[str], ...] = ()
    failures: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    fatal: bool = False
    running: bool = False  # a command has started and not ended
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=40))
    hidden: deque[str] = field(default_factory=lambda: deque(maxlen=20))  # said, but not shown
    _assembler: LineAssembler = field(default_factory=LineAssembler)
    _came: set[str] = field(default_factory=set)

    @property
    def awaited(self) -> list[str]:
        """Expected kernel messages that have not come."""
        return [wanted.pattern for wanted in self.expected if wanted.pattern not in self._came]

    def _is_expected(self, line: Line) -> bool:
        found = [wanted.pattern for wanted in self.expected
                 if line.kernel and wanted.search(line.text)]
        self._came.update(found)
        return bool(found)

    def feed(self, text: str) -> list[str]:
        """Takes characters, returns the lines to show."""
        shown = []
        for line in self._assembler.feed(text):
            text = plain(line.text)
            self.tail.append(text)
            failure, fatal = failure_in(line)
            if not self._is_expected(line) and failure:
                self.failures.append(line.text)
                self.fatal = self.fatal or fatal
            shown += self._wanted(line, text)
        return shown

    def _wanted(self, line: Line, text: str) -> list[str]:
        if line.kernel:
            return [text] if self.verbose else []
        # Init's lines and markers may follow output that has no line end of its own.
        told = INIT.search(text)
        own = told or MARKER.search(text)
        said = text[:own.start()].rstrip() if own else text
        shown = self._said(said) if said or not own else []
        if told:
            if told[1] == "qmp":
                self.requests.append(told[2])
                return shown
            if told[1] == "fail":
                self.complaints.append(told[2])
            self.running = told[1] == "start"
        return shown

    def _said(self, text: str) -> list[str]:
        if self.verbose or (self.running and (not self.quiet or text.startswith("["))):
            return [text]
        if self.running:
            self.hidden.append(text)
        return []


class Screen:
    """Prints lines; progress lines overwrite each other, or come seldom if it is no terminal."""

    SECONDS = 2.0

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._clock = clock
        self._pending = False  # a progress line stands without its line end
        self._next = 0.0

    def show(self, text: str) -> None:
        """Prints one line, at once."""
        if not PROGRESS.match(text):
            self.clear()
            print(text, file=self._stream, flush=True)
        elif self._terminal:
            width = max(20, shutil.get_terminal_size().columns - 1)
            print(f"\r\x1b[K{text[:width]}", end="", file=self._stream, flush=True)
            self._pending = True
        elif self._clock() >= self._next:
            self._next = self._clock() + self.SECONDS
            print(text, file=self._stream, flush=True)

    def clear(self) -> None:
        """Removes a progress line that stands."""
        if self._pending:
            print("\r\x1b[K", end="", file=self._stream, flush=True)
            self._pending = False
