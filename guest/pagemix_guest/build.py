# SPDX-License-Identifier: Apache-2.0
"""Builds of the program and the module for a guest, always outside the source tree."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from . import toolroot
from .arch import ARCHITECTURES, host_architecture
from .cache import atomic_folder, cache_root, locked
from .elf import is_elf
from .errors import GuestError, UsageError, checked
from .kernel import Kernel

SOURCE = Path(__file__).resolve().parents[2]
PROGRAM = "pagemix"
JOBS = str(os.cpu_count() or 1)
WARNING = re.compile(r"warning:|error:")


def build_folder(arch: str) -> Path:
    """The CMake build folder of this source tree."""
    name = hashlib.sha256(str(SOURCE).encode()).hexdigest()[:8]
    return cache_root() / "build" / f"{arch}-{name}"


def toolchain(arch: str) -> list[str]:
    """CMake's arguments for a cross build; none where this machine is of the guest's kind."""
    if arch == host_architecture():
        return []
    return ["--toolchain", str(SOURCE / "cmake" / f"{ARCHITECTURES[arch].triplet}.cmake")]


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
                checked(["cmake", "-S", str(SOURCE), "-B", str(folder), *generator,
                         *toolchain(arch), "-DPAGEMIX_GUEST_PROGRAMS=ON"],
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
    digest = hashlib.sha256(f"{kernel.version} {kernel.digest}".encode())
    for path in module_sources():
        digest.update(f"\0{path.relative_to(SOURCE)}\0".encode() + path.read_bytes())
    return cache_root() / "module" / f"{kernel.release}-{digest.hexdigest()[:12]}"


def build_module(kernel: Kernel, say: Callable[[str], None] = lambda _: None) -> Path:
    """pagemix.ko for a kernel, from the cache if neither it nor the sources changed."""
    folder = module_folder(kernel)
    with locked(f"module-{kernel.release}"):
        if not (folder / "pagemix.ko").is_file():
            with atomic_folder(folder) as work:
                _compile_module(kernel, work, say)
    return folder / "pagemix.ko"


def lint_module(kernel: Kernel, say: Callable[[str], None] = lambda _: None) -> str:
    """Builds the module with W=1 and sparse; GuestError with each warning. Returns vermagic."""
    with tempfile.TemporaryDirectory(prefix="pagemix-lint-") as folder:
        work = Path(folder)
        # C=1 would go on without sparse where make does not like its version.
        log = run_kbuild(kernel, _copied_sources(work), ("W=1", "KBUILD_CHECKSRC=1", "modules"),
                         say)
        if "  CHECK   " not in log:
            raise GuestError(f"the module for {kernel.release}: sparse was not run")
        found = [line for line in log.splitlines() if WARNING.search(line)]
        if found:
            raise GuestError(f"the module for {kernel.release}: {len(found)} warnings\n"
                             + "\n".join(found))
        return checked(["modinfo", "-F", "vermagic", str(work / "src" / "pagemix.ko")],
                       what="modinfo").strip()


def _copied_sources(work: Path) -> Path:
    kmod = SOURCE / "kmod"
    if not (kmod / "Kbuild").is_file() and not (kmod / "Makefile").is_file():
        raise GuestError(f"{kmod}: no Kbuild file to build the module from")
    for path in module_sources():
        target = work / "src" / path.relative_to(kmod)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return work / "src"


def run_kbuild(kernel: Kernel, source: Path, words: Sequence[str],
               say: Callable[[str], None] = lambda _: None) -> str:
    """Runs the kernel's make on the module in `source`, by this host's tools or, for a kernel
    of a later Debian, in a root of that; returns what it printed, both streams."""
    arch = ARCHITECTURES[kernel.arch]
    # Older headers take the cross prefix from dpkg's variables only, and all
    # name a compiler version that the host need not have. BTF would need pahole
    # and serves tracers only.
    env = {"DEB_HOST_ARCH": kernel.arch, "DEB_HOST_GNU_TYPE": arch.triplet}
    options = (f"ARCH={arch.linux}", f"CROSS_COMPILE={arch.triplet}-",
               "CONFIG_DEBUG_INFO_BTF_MODULES=", f"-j{JOBS}", *words)
    what = f"building the module for {kernel.release}"
    if not kernel.tools:
        return checked(["make", "-C", str(kernel.headers), f"M={source}",
                        f"CC={arch.triplet}-gcc", *options], what=what, env={**os.environ, **env},
                       both=True)
    headers = f"/kernel/{kernel.headers.resolve().relative_to(kernel.folder.resolve())}"
    return checked(toolroot.inside(
        toolroot.tool_root(say), headers, {kernel.folder: "/kernel", source: "/module"},
        ["make", "-C", headers, "M=/module", f"CC={toolroot.compiler(kernel.arch)}", *options],
        env), what=what, both=True)


def _compile_module(kernel: Kernel, work: Path, say: Callable[[str], None]) -> None:
    copy = _copied_sources(work)
    log = run_kbuild(kernel, copy, ("modules",), say)
    (work / "build.log").write_text(log, encoding="utf-8")
    shutil.move(copy / "pagemix.ko", work / "pagemix.ko")
    shutil.rmtree(copy)
