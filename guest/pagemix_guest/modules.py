# SPDX-License-Identifier: Apache-2.0
"""Kernel modules for the initramfs: which ones, in which order, uncompressed."""

from __future__ import annotations

import lzma
import subprocess
from collections.abc import Iterable
from pathlib import Path

from .errors import GuestError
from .kernel import Kernel

SUFFIXES = (".ko", ".ko.xz", ".ko.zst", ".ko.gz")


def module_name(path: str) -> str:
    """'kernel/drivers/block/virtio_blk.ko.xz' -> 'virtio_blk'; '-' and '_' are one."""
    base = path.rsplit("/", 1)[-1]
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        base = base.removesuffix(suffix)
    return base.replace("-", "_")


def parse_dep(text: str) -> dict[str, tuple[str, list[str]]]:
    """modules.dep: name -> (path, paths it needs, the ones to load last first)."""
    found = {}
    for line in text.splitlines():
        path, _, needs = line.partition(":")
        if path:
            found[module_name(path)] = (path, needs.split())
    return found


def load_order(kernel: Kernel, names: Iterable[str]) -> list[str]:
    """Paths below kernel.modules in the order insmod needs. Built-in ones need nothing."""
    depends = parse_dep((kernel.modules / "modules.dep").read_text(encoding="utf-8"))
    builtin = {module_name(line) for line in
               (kernel.modules / "modules.builtin").read_text(encoding="utf-8").split()}
    order: dict[str, None] = {}
    for name in names:
        key = name.replace("-", "_")
        if key in depends:
            path, needs = depends[key]
            # modules.dep lists the whole closure, what must come first at the end.
            for needed in reversed(needs):
                order[needed] = None
            order[path] = None
        elif key not in builtin:
            raise GuestError(f"kernel {kernel.release} has no module '{name}'")
    return list(order)


def read_module(path: Path) -> bytes:
    """The ELF file of a module: insmod in the guest takes no compressed one."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix in (".zst", ".gz"):
        tool = {".zst": "zstd", ".gz": "gzip"}[path.suffix]
        try:
            done = subprocess.run([tool, "-dc"], input=data, capture_output=True, check=True)
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            raise GuestError(f"decompress {path}: {tool}: {error}") from error
        return done.stdout
    return data
