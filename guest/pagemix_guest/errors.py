# SPDX-License-Identifier: Apache-2.0
"""The one exception that ends a command with a message instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import subprocess
from pathlib import Path


class GuestError(Exception):
    """A failure the user can act on; `code` becomes the exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class UsageError(GuestError):
    """Bad input: names the thing, its value and what is allowed."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=2)


def one_of(values: Iterable[str]) -> str:
    """'a, b, c' for messages that list what is allowed."""
    return ", ".join(sorted(values)) or "(none)"


def checked(argv: Sequence[str], *, what: str, cwd: Path | None = None,
            env: dict[str, str] | None = None, both: bool = False) -> str:
    """Standard output of a command, with `both` what it printed on either stream in order; a
    failure carries the end of what it printed."""
    try:
        done = subprocess.run(argv, cwd=cwd, env=env, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT if both else subprocess.PIPE, check=False)
    except FileNotFoundError as error:
        raise GuestError(f"{what}: {argv[0]} is not installed") from error
    if done.returncode != 0:
        tail = "\n".join((done.stdout + (done.stderr or "")).strip().splitlines()[-40:])
        raise GuestError(f"{what}: {argv[0]} ended with {done.returncode}\n{tail}")
    return done.stdout
