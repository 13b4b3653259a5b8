# SPDX-License-Identifier: Apache-2.0
"""Where downloads and builds live, and how they get there whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


def cache_root() -> Path:
    """$PAGEMIX_CACHE, or pagemix in $XDG_CACHE_HOME, or ~/.cache/pagemix: as the scripts."""
    chosen = os.environ.get("PAGEMIX_CACHE")
    if chosen:
        return Path(chosen).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "pagemix"


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Holds the cache's lock `name`; waits while another process has it."""
    folder = cache_root() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / name, "w", encoding="ascii") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def atomic_folder(final: Path) -> Iterator[Path]:
    """Yields an empty folder that becomes `final` on success and vanishes on failure.

    It lies beside `final`, so that the rename does not cross file systems. An
    older `final` is replaced only at the end.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".new-{final.name}-", dir=final.parent))
    try:
        work.chmod(0o755)
        yield work
        if final.exists():
            old = Path(tempfile.mkdtemp(prefix=f".old-{final.name}-", dir=final.parent))
            final.rename(old / "was")
            work.rename(final)
            shutil.rmtree(old)
        else:
            work.rename(final)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
