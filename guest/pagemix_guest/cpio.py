# SPDX-License-Identifier: Apache-2.0
"""A cpio archive in the newc format of initramfs (kernel: buffer-format.rst).

The same files give the same bytes: owner root, one fixed time, sorted names.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

MAGIC = b"070701"
TRAILER = "TRAILER!!!"


@dataclass(frozen=True)
class Entry:
    """One file: mode with its type bits, content (a link's target), device number."""

    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


class Archive:
    """Collects files; parents are made as needed. Paths are relative to the root."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def __contains__(self, path: str) -> bool:
        return _clean(path) in self._entries

    def folder(self, path: str, mode: int = 0o755) -> None:
        """Adds a folder."""
        self._add(path, Entry(stat.S_IFDIR | mode))

    def file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Adds a regular file."""
        self._add(path, Entry(stat.S_IFREG | mode, data))

    def link(self, path: str, target: str) -> None:
        """Adds a symbolic link."""
        self._add(path, Entry(stat.S_IFLNK | 0o777, target.encode()))

    def character(self, path: str, major: int, minor: int, mode: int = 0o600) -> None:
        """Adds a character device node."""
        self._add(path, Entry(stat.S_IFCHR | mode, device=(major, minor)))

    def _add(self, path: str, entry: Entry) -> None:
        name = _clean(path)
        for parent in PurePosixPath(name).parents:
            if str(parent) != ".":
                self._entries.setdefault(str(parent), Entry(stat.S_IFDIR | 0o755))
        self._entries[name] = entry

    def pack(self) -> bytes:
        """The archive's bytes."""
        parts = [_record(name, entry, inode)
                 for inode, (name, entry) in enumerate(sorted(self._entries.items()), start=1)]
        parts.append(_record(TRAILER, Entry(0), 0))
        return b"".join(parts)


def _clean(path: str) -> str:
    name = str(PurePosixPath(path.lstrip("/")))
    if not name or name == "." or ".." in PurePosixPath(name).parts:
        raise ValueError(f"'{path}' is no path inside an archive")
    return name


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def _record(name: str, entry: Entry, inode: int) -> bytes:
    raw = name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (inode, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, *entry.device, len(raw), 0)
    return _padded(MAGIC + b"".join(b"%08X" % value for value in fields) + raw) + _padded(
        entry.data)


def unpack(archive: bytes) -> Iterator[tuple[str, Entry]]:
    """The members of an archive, the trailer left out."""
    at = 0
    while True:
        if archive[at:at + 6] != MAGIC:
            raise ValueError(f"no newc header at byte {at}")
        values = [int(archive[at + 6 + 8 * i:at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, device, name_size = values[1], values[6], (values[9], values[10]), values[11]
        name = archive[at + 110:at + 110 + name_size - 1].decode()
        at += (110 + name_size + 3) & ~3
        if name == TRAILER:
            return
        yield name, Entry(mode, archive[at:at + size], device)
        at += (size + 3) & ~3
