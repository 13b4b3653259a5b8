# SPDX-License-Identifier: Apache-2.0
"""Kernels of our own: from Debian's linux-source package and a configuration fragment.

In the cache: `kernel-source/<version>/` the unpacked source, `kernel-build/` the
folders of builds that have not ended yet, `kernels/<release>-<digest>/` the result,
laid out as a fetched kernel. A build that was interrupted goes on where it was.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import fragments
from .fragments import ARCH
from .apt import Apt, Package, newest_first
from .arch import ARCHITECTURES
from .cache import atomic_folder, cache_root, locked
from .errors import GuestError, UsageError, checked, one_of
from .kernel import Kernel, busybox_in, own_cached, read_kernel
from .process import die_with_parent
from .sources import NEWER_SUITES

DEFAULT_SOURCE = "7.3"
SAY_EVERY = 30.0  # seconds

# A guess, for the time left of a first build; later ones go by the last one's steps.
STEPS = {"base": 2500, "16k": 2500, "debug": 2550}
STEP = re.compile(rb"^  [A-Z]+[A-Z0-9_ \[\]]*  ")

# The kernel tells these to everyone, so they must say nothing of this machine.
IDENTITY = {"KBUILD_BUILD_USER": "pagemix", "KBUILD_BUILD_HOST": "guest",
            "KBUILD_BUILD_VERSION": "1", "KBUILD_BUILD_TIMESTAMP": "2026-01-01"}

Say = Callable[[str], None]


def choose_source(offered: Sequence[Package], wanted: str) -> Package:
    """The newest linux-source of that version; with no version asked for, the newest of
    DEFAULT_SOURCE or, where there is none, of all."""
    def of(version: str) -> list[Package]:
        return [package for package in offered if package.name == f"linux-source-{version}"]
    found = of(wanted or DEFAULT_SOURCE)
    if not found and not wanted:
        found = [package for package in offered if re.fullmatch(r"linux-source-[0-9.]+", package.name)]
    if not found:
        versions = {package.name.removeprefix("linux-source-") for package in offered}
        raise UsageError(f"kernel source '{wanted or DEFAULT_SOURCE}': Debian's suites that this "
                         f"host can read have {one_of(versions)}")
    newest = newest_first(package.version for package in found)[0]
    return next(package for package in found if package.version == newest)


def build(name: str, source: str = "", *, jobs: int = 0, say: Say = lambda _: None) -> Kernel:
    """The kernel of a configuration, from the cache or built.

    `source` is a version as in linux-source-7.3; empty takes whatever is cached,
    else the newest that choose_source() finds.
    """
    configuration = fragments.load(name)
    if source and not re.fullmatch(r"[0-9]+\.[0-9]+", source):
        raise UsageError(f"kernel source '{source}': give a version such as {DEFAULT_SOURCE}")
    jobs = jobs or os.cpu_count() or 1
    with locked("kernel-build"):
        if found := own_cached(configuration, source):
            return found
        chosen = fetch_source(source, say)
        tree = chosen.tree
        work = cache_root() / "kernel-build" / f"{chosen.version}-{name}-{configuration.digest}"
        work.mkdir(parents=True, exist_ok=True)
        _configure(configuration, tree, work, say)
        _compile(configuration, tree, work, jobs, say)
        release = (work / "include/config/kernel.release").read_text(encoding="ascii").strip()
        final = cache_root() / "kernels" / f"{release}-{configuration.digest}"
        with atomic_folder(final) as folder:
            _install(tree, work, folder, release)
            shutil.copyfile(chosen.busybox, folder / "busybox")
            (folder / "kernel.json").write_text(json.dumps({
                "release": release, "arch": ARCH, "version": chosen.version,
                "headers_only": False, "configuration": name, "digest": configuration.digest,
                "steps": _steps_of(work / "build.log")}, indent=1) + "\n", encoding="utf-8")
        shutil.rmtree(work)
        return read_kernel(final)


@dataclass(frozen=True)
class Source:
    """An unpacked linux-source package, and a busybox for the guests of its kernels."""

    folder: Path

    @property
    def version(self) -> str:
        """Of the Debian package."""
        return self.folder.name

    @property
    def tree(self) -> Path:
        """The kernel's own top folder."""
        return self.folder / "linux"

    @property
    def busybox(self) -> Path:
        """For the guests' architecture."""
        return self.folder / "busybox"


def cached_source(wanted: str) -> Source | None:
    """The newest unpacked source of that version (empty: DEFAULT_SOURCE), without the network."""
    pattern = re.compile(re.escape(wanted or DEFAULT_SOURCE) + r"(?![0-9])")
    found = {path.name for path in (cache_root() / "kernel-source").glob("[!.]*")
             if pattern.match(path.name)}
    return Source(cache_root() / "kernel-source" / newest_first(found)[0]) if found else None


def fetch_source(wanted: str, say: Say) -> Source:
    """The unpacked source, from the cache or Debian."""
    if found := cached_source(wanted):
        return found
    root = cache_root() / "kernel-source"
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".apt-", dir=root) as state:
        apt = Apt(Path(state), ARCH)
        say("reading Debian's package lists")
        apt.update(NEWER_SUITES)
        package = choose_source(apt.show(apt.names("linux-source-")), wanted)
        source = Source(root / package.version)
        if source.folder.is_dir():
            return source
        say(f"downloading {package.name} ({package.version})")
        busybox = apt.show([f"busybox-static:{ARCH}"])[0]
        files = apt.download((package, busybox), Path(state) / "debs")
        with atomic_folder(source.folder) as work:
            say("unpacking")
            for file in files:
                checked(["dpkg-deb", "-x", str(file), str(work / "deb")],
                        what=f"unpacking {file.name}")
            archive = work / "deb/usr/src" / f"{package.name}.tar.xz"
            checked(["tar", "-xJf", str(archive), "-C", str(work)], what="unpacking the source")
            (work / package.name).rename(work / "linux")
            shutil.copyfile(busybox_in(work / "deb"), work / "busybox")
            shutil.rmtree(work / "deb")
    return source


def _make(tree: Path, work: Path, *words: str) -> list[str]:
    arch = ARCHITECTURES[ARCH]
    # ccache: a changed fragment leaves most objects as they were.
    compiler = ("ccache " if shutil.which("ccache") else "") + f"{arch.triplet}-gcc"
    return ["make", "-C", str(tree), f"O={work}", f"ARCH={arch.linux}",
            f"CROSS_COMPILE={arch.triplet}-", f"CC={compiler}", *words]


def _environment() -> dict[str, str]:
    return {**os.environ, **IDENTITY, "LC_ALL": "C.UTF-8"}


def _configure(configuration: fragments.Configuration, tree: Path, work: Path, say: Say) -> None:
    """Leaves a checked .config; one that is there already is not touched, so make need not
    begin anew."""
    if (work / "configured").is_file():
        return
    say(f"configuring kernel {configuration.name}")
    checked(_make(tree, work, "-s", "tinyconfig"), what="tinyconfig", env=_environment())
    with open(work / ".config", "a", encoding="utf-8") as config:
        config.write("".join(configuration.texts))
        config.write(f'CONFIG_LOCALVERSION="-pagemix-{configuration.name}"\n')
    checked(_make(tree, work, "-s", "olddefconfig"), what="olddefconfig", env=_environment())
    fragments.check(configuration.wanted, (work / ".config").read_text(encoding="utf-8"))
    (work / "configured").touch()


def _compile(configuration: fragments.Configuration, tree: Path, work: Path, jobs: int,
             say: Say) -> None:
    """Runs make; its output goes to build.log, to which an interrupted build adds."""
    expected = _expected_steps(configuration)
    log = work / "build.log"
    before = _steps_of(log) if log.is_file() else 0
    say(f"building kernel {configuration.name}"
        + (f", going on after {before} steps" if before else ""))
    done, begin = before, time.monotonic()
    said = begin
    with (open(log, "ab") as logged,
          subprocess.Popen(_make(tree, work, f"-j{jobs}", "Image", "modules"), env=_environment(),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, start_new_session=True,
                           preexec_fn=lambda: die_with_parent(signal.SIGTERM)) as process):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                logged.write(line)
                logged.flush()
                done += STEP.match(line) is not None
                if time.monotonic() - said >= SAY_EVERY:
                    said = time.monotonic()
                    say(progress(done, before, max(expected, done), said - begin))
        except BaseException:
            # In a session of its own make has not seen the terminal's Ctrl-C.
            # It removes what is half made.
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            say(f"interrupted after {done} steps; the same command goes on from there")
            raise
    if process.returncode:
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-40:]
        raise GuestError(f"kernel {configuration.name}: make ended with {process.returncode}\n"
                         + "\n".join(tail) + f"\nwhole log: {log}")


def progress(done: int, before: int, expected: int, seconds: float) -> str:
    """One line: steps, and the time left by the rate since this build began."""
    text = f"{done} of about {expected} steps, {seconds / 60:.1f} min"
    if done > before:
        left = (expected - done) * seconds / (done - before)
        text += f", about {left / 60:.1f} min left"
    return text


def _steps_of(log: Path) -> int:
    return sum(STEP.match(line) is not None for line in log.read_bytes().splitlines())


def _expected_steps(configuration: fragments.Configuration) -> int:
    """Of the last build of that name, else of the table."""
    found = [data.get("steps", 0) for data in
             (json.loads(path.read_text(encoding="utf-8")) for path in
              (cache_root() / "kernels").glob("[!.]*/kernel.json"))
             if data.get("configuration") == configuration.name]
    return max(found, default=STEPS.get(configuration.name, STEPS["base"]))


def _install(tree: Path, work: Path, folder: Path, release: str) -> None:
    """Image, modules, and what building a module needs; no path of the build stays."""
    root, headers = folder / "root", folder / "headers"
    shutil.copyfile(work / "arch" / ARCHITECTURES[ARCH].linux / "boot/Image", folder / "vmlinuz")
    shutil.copyfile(work / ".config", folder / "config")
    checked(_make(tree, work, "-s", f"INSTALL_MOD_PATH={root}", "INSTALL_MOD_STRIP=1",
                  "DEPMOD=true", "modules_install"), what="modules_install", env=_environment())
    modules = root / "lib/modules" / release
    (modules / "build").unlink(missing_ok=True)
    (folder / "modules").symlink_to(modules.relative_to(folder))
    checked(["depmod", "-b", str(root), release], what="module dependencies")
    # CC equal to HOSTCC: the tools stay this machine's, which is where modules are built.
    checked([str(tree / "scripts/package/install-extmod-build"), str(headers)], cwd=work,
            what="headers for modules",
            env={**_environment(), "srctree": str(tree), "SRCARCH": ARCHITECTURES[ARCH].linux,
                 "CC": "cc", "HOSTCC": "cc", "MAKE": "make"})
    shutil.copyfile(work / ".config", headers / ".config")
