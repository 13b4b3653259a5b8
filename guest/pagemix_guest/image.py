# SPDX-License-Identifier: Apache-2.0
"""The initramfs: busybox, init.sh, modules, programs with their libraries, configs."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .arch import ARCHITECTURES
from .cpio import Archive
from .elf import closure, is_elf, tool
from .errors import GuestError, UsageError
from .kernel import Kernel
from .modules import load_order, module_name, read_module

INIT = Path(__file__).with_name("init.sh")
FOLDERS = ("bin", "dev", "etc", "lib", "out", "proc", "root", "run", "sys", "tmp")

# No echo: nobody types, and a Ctrl-C from the host would show in the output.
# The last line waits until the port has sent all: the end of the session hangs
# the terminal up, which drops what is not sent yet.
COMMAND = """\
trap : INT
stty -echo
cd /root
{command}
echo $? >/run/guest/exit-{index}
stty onlcr
"""


@dataclass(frozen=True)
class Added:
    """A host file and its path in the guest."""

    host: Path
    guest: str


@dataclass
class Content:
    """What goes into one initramfs."""

    kernel: Kernel
    commands: Sequence[Sequence[str]]
    environment: Mapping[str, str]
    modules: Sequence[str] = ()  # kernel modules by name, with what they need
    own_modules: Sequence[Path] = ()  # .ko files loaded after them
    files: Sequence[Added] = field(default_factory=list)
    configs: Path | None = None  # folder that becomes /etc/pagemix


def stripped(path: Path, arch: str) -> bytes:
    """A program without its debug information, which a guest has no use for."""
    with tempfile.NamedTemporaryFile(prefix="pagemix-strip-") as out:
        try:
            subprocess.run([tool(arch, "strip"), "--strip-debug", "-o", out.name, str(path)],
                           check=True, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise GuestError(f"strip {path}: {tool(arch, 'strip')} is not installed") from error
        except subprocess.CalledProcessError as error:
            raise GuestError(f"strip {path}: {error.stderr.strip()}") from error
        return Path(out.name).read_bytes()


def build_image(content: Content) -> bytes:
    """The initramfs as an uncompressed cpio archive: the guest need not decompress it."""
    kernel, archive = content.kernel, Archive()
    for name in FOLDERS:
        archive.folder(name)
    archive.folder("tmp", 0o1777)
    # Until devtmpfs is mounted init needs a console.
    archive.character("dev/console", 5, 1)
    archive.file("bin/busybox", kernel.busybox.read_bytes(), 0o755)
    archive.link("bin/sh", "busybox")
    archive.file("init", INIT.read_bytes(), 0o755)
    archive.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
    archive.file("etc/group", b"root:x:0:\n")

    paths = []
    for relative in load_order(kernel, content.modules):
        paths.append(f"/lib/modules/{module_name(relative)}.ko")
        archive.file(paths[-1], read_module(kernel.modules / relative))
    for own in content.own_modules:
        paths.append(f"/lib/modules/{own.name}")
        archive.file(paths[-1], own.read_bytes())
    archive.file("etc/guest/modules", "".join(f"{path}\n" for path in paths).encode())

    programs = []
    for added in content.files:
        if not added.host.is_file():
            raise UsageError(f"--add {added.host}: no such file")
        if is_elf(added.host):
            programs.append(added.host)
            archive.file(added.guest, stripped(added.host, kernel.arch), 0o755)
        else:
            mode = 0o755 if added.host.stat().st_mode & 0o100 else 0o644
            archive.file(added.guest, added.host.read_bytes(), mode)
    loader = ARCHITECTURES[kernel.arch].loader_folder
    if loader != "lib":
        archive.link(loader, "lib")
    for name, library in sorted(closure(programs, kernel.arch).items()):
        archive.file(f"lib/{name}", library.read_bytes(), 0o755)

    if content.configs:
        for path in sorted(content.configs.rglob("*")):
            if path.is_file():
                archive.file(f"etc/pagemix/{path.relative_to(content.configs)}", path.read_bytes())

    archive.file("etc/guest/environment", "".join(
        f"export {key}={shlex.quote(value)}\n"
        for key, value in sorted(content.environment.items())).encode())
    for index, command in enumerate(content.commands):
        archive.file(f"etc/guest/command-{index}",
                     COMMAND.format(command=shlex.join(command), index=index).encode())
    return archive.pack()
