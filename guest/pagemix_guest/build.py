# SPDX-License-Identifier: Apache-2.0
"""Cross builds of the program and the module, always outside the source tree."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from .cache import atomic_folder, cache_root, locked
from .elf import TRIPLETS, is_elf
from .errors import GuestError, UsageError, checked
from .kernel import Kernel

SOURCE = Path(__file__).resolve().parents[2]
PROGRAM = "pagemix"
JOBS = str(os.cpu_count() or 1)


def build_folder(arch: str) -> Path:
    """The CMake build folder of this source tree."""
    name = hashlib.sha256(str(SOURCE).encode()).hexdigest()[:8]
    return cache_root() / "build" / f"{arch}-{name}"


def build_program(arch: str, targets: Sequence[str] = ()) -> Path:
    """Configures if needed, builds `pagemix` and further targets; returns the build folder.

    Only what a guest is asked to run is built: the tests take longer than the
    program.
    """
    folder = build_folder(arch)
    with locked(f"build-{folder.name}"):
        if not (folder / "CMakeCache.txt").is_file():
            generator = ["-G", "Ninja"] if shutil.which("ninja") else []
            try:
                checked(["cmake", "-S", str(SOURCE), "-B", str(folder), *generator, "--toolchain",
                         str(SOURCE / "cmake" / f"{TRIPLETS[arch]}.cmake")],
                        what=f"configuring for {arch}")
            except GuestError:
                # A half-made cache would be taken for a configured folder.
                (folder / "CMakeCache.txt").unlink(missing_ok=True)
                raise
        checked(["cmake", "--build", str(folder), "--parallel", JOBS,
                 "--target", PROGRAM, *targets], what=f"building for {arch}")
    return folder


def find_executable(arch: str, name: str) -> Path:
    """An ELF file the build made: by path below the build folder, or by its unique name."""
    folder = build_folder(arch)
    if (folder / name).is_file():
        return folder / name
    found = [path for path in sorted(folder.rglob(name.rsplit("/", 1)[-1]))
             if path.is_file() and "CMakeFiles" not in path.parts and os.access(path, os.X_OK)
             and is_elf(path) and str(path).endswith("/" + name)]
    if len(found) != 1:
        raise UsageError(f"'{name}': {len(found)} executables of that name in {folder}"
                         + "".join(f"\n  {path.relative_to(folder)}" for path in found))
    return found[0]


def module_sources() -> list[Path]:
    """Files below kmod/ that the module is made from."""
    return sorted(path for path in (SOURCE / "kmod").rglob("*")
                  if path.is_file() and (path.suffix in (".c", ".h", ".S")
                                         or path.name in ("Kbuild", "Makefile", "VERSION")))


def module_folder(kernel: Kernel) -> Path:
    """Where the module of these sources for that kernel lies or will lie."""
    digest = hashlib.sha256(kernel.version.encode())
    for path in module_sources():
        digest.update(f"\0{path.relative_to(SOURCE)}\0".encode() + path.read_bytes())
    return cache_root() / "module" / f"{kernel.release}-{digest.hexdigest()[:12]}"


def build_module(kernel: Kernel) -> Path:
    """pagemix.ko for a kernel, from the cache if neither it nor the sources changed."""
    folder = module_folder(kernel)
    with locked(f"module-{kernel.release}"):
        if not (folder / "pagemix.ko").is_file():
            with atomic_folder(folder) as work:
                _compile_module(kernel, work)
    return folder / "pagemix.ko"


def _compile_module(kernel: Kernel, work: Path) -> None:
    kmod = SOURCE / "kmod"
    if not (kmod / "Kbuild").is_file() and not (kmod / "Makefile").is_file():
        raise GuestError(f"{kmod}: no Kbuild file to build the module from")
    copy = work / "src"
    for path in module_sources():
        target = copy / path.relative_to(kmod)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    triplet = TRIPLETS[kernel.arch]
    # Older headers take the cross prefix from dpkg's variables only, and all
    # name a compiler version that the host need not have. BTF would need pahole
    # and serves tracers only.
    env = {**os.environ, "DEB_HOST_ARCH": kernel.arch, "DEB_HOST_GNU_TYPE": triplet}
    log = checked(["make", "-C", str(kernel.headers), f"M={copy}", f"ARCH={kernel.arch}",
                   f"CROSS_COMPILE={triplet}-", f"CC={triplet}-gcc", "CONFIG_DEBUG_INFO_BTF_MODULES=", f"-j{JOBS}",
                   "modules"],
                  what=f"building the module for {kernel.release}", env=env)
    (work / "build.log").write_text(log, encoding="utf-8")
    shutil.move(copy / "pagemix.ko", work / "pagemix.ko")
    shutil.rmtree(copy)
