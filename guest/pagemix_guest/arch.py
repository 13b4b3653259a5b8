# SPDX-License-Identifier: Apache-2.0
"""What differs between the guests' architectures; names are Debian's."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from .errors import checked


@dataclass(frozen=True)
class Architecture:
    """One architecture of guests."""

    name: str
    triplet: str  # GNU's, as in names of tools and library folders
    linux: str  # ARCH= of the kernel's build
    qemu: str
    console: str  # the serial port's device
    console_event: str  # QEMU's trace event of a write to that port
    loader_folder: str  # where programs expect the dynamic loader
    icount_arguments: tuple[str, ...] = ()  # the kernel's, where QEMU counts instructions


ARCHITECTURES = {
    "arm64": Architecture(name="arm64", triplet="aarch64-linux-gnu", linux="arm64",
                          qemu="qemu-system-aarch64", console="ttyAMA0",
                          console_event="pl011_write", loader_folder="lib"),
    "amd64": Architecture(name="amd64", triplet="x86_64-linux-gnu", linux="x86",
                          qemu="qemu-system-x86_64", console="ttyS0",
                          console_event="serial_write", loader_folder="lib64",
                          # The TSC then ticks at 1 GHz. What the kernel measures of it is some
                          # parts in 10^6 off; without HPET and PM timer it measures nothing.
                          icount_arguments=("tsc_early_khz=1000000", "tsc=reliable",
                                            "hpet=disable", "pmtmr=0")),
}
DEFAULT = "arm64"


@functools.cache
def host_architecture() -> str:
    """This machine's, in Debian's words."""
    return checked(["dpkg", "--print-architecture"], what="host architecture").strip()
