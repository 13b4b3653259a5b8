# SPDX-License-Identifier: Apache-2.0
"""QEMU's device tree with the PCI host marked as not cache coherent.

The board of `-machine virt` says `dma-coherent` of its PCI host, so no kernel
cleans or invalidates a cache for its devices. Without that property it does, as
on a board whose devices do not snoop: the instructions of a sync are then
counted. Caches are not emulated, so data is right either way.

Format: Devicetree specification 0.4, chapter 5.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .errors import GuestError

MAGIC = 0xd00dfeed
BEGIN_NODE, END_NODE, PROP, NOP, END = 1, 2, 3, 4, 9
PROPERTY = b"dma-coherent"


def _cell(blob: bytes | bytearray, at: int) -> int:
    return int(struct.unpack_from(">I", blob, at)[0])


def _string(blob: bytes, at: int) -> bytes:
    return blob[at:blob.index(b"\0", at)]


def _properties(blob: bytes) -> Iterator[tuple[bytes, bytes, int, int]]:
    """Node name, property name, begin and end of each property's tokens."""
    if len(blob) < 40 or _cell(blob, 0) != MAGIC:
        raise GuestError("the device tree QEMU wrote has no device tree header")
    at, strings = _cell(blob, 8), _cell(blob, 12)
    nodes: list[bytes] = []
    while (token := _cell(blob, at)) != END:
        begin, at = at, at + 4
        if token == BEGIN_NODE:
            nodes.append(_string(blob, at))
            at += len(nodes[-1]) + 1
        elif token == END_NODE:
            nodes.pop()
        elif token == PROP:
            length, name = _cell(blob, at), _cell(blob, at + 4)
            at += 8 + length
            yield nodes[-1], _string(blob, strings + name), begin, (at + 3) // 4 * 4
        elif token != NOP:
            raise GuestError(f"the device tree QEMU wrote has the unknown token {token} at {begin}")
        at = (at + 3) // 4 * 4


def _packed(blob: bytearray) -> bytes:
    """Without the free space at the end. QEMU leaves 1 MiB, and doubles what it
    loads: the kernel does not even begin with a tree above 2 MiB."""
    used = max(_cell(blob, 8) + _cell(blob, 36), _cell(blob, 12) + _cell(blob, 32))
    struct.pack_into(">I", blob, 4, used)
    return bytes(blob[:used])


def without_coherent_pci(blob: bytes) -> bytes:
    """The tree without dma-coherent of its PCI host, and without free space."""
    changed = bytearray(blob)
    found = 0
    for node, name, begin, end in _properties(blob):
        if node.startswith(b"pcie@") and name == PROPERTY:
            changed[begin:end] = struct.pack(">I", NOP) * ((end - begin) // 4)
            found += 1
    if found != 1:
        raise GuestError(f"the device tree QEMU wrote has {found} coherent PCI hosts, expected 1")
    return _packed(changed)
