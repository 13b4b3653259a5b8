# SPDX-License-Identifier: Apache-2.0
"""Debian kernels in the cache: choosing, fetching, finding."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from . import arch as archs
from . import fragments
from .apt import Apt, Package, newest_first
from .cache import atomic_folder, cache_root, locked
from .errors import GuestError, UsageError, checked, one_of
from .sources import NEWER_CODENAME, NEWER_SUITES

DEFAULT_KERNEL = "6.12"
FLAVOUR_16K = "-16k"


@dataclass(frozen=True)
class Kernel:
    """A kernel in the cache. `folder` holds what docs/internals.md lists."""

    release: str
    arch: str
    version: str
    headers_only: bool
    folder: Path
    digest: str = ""  # of the configuration, for a kernel of our own
    tools: str = ""  # the Debian whose root builds its modules; empty: this host does

    @property
    def vmlinuz(self) -> Path:
        return self.folder / "vmlinuz"

    @property
    def root(self) -> Path:
        """Where the packages are unpacked; depmod's -b."""
        return self.folder / "root"

    @property
    def modules(self) -> Path:
        return self.folder / "modules"

    @property
    def headers(self) -> Path:
        return self.folder / "headers"

    @property
    def busybox(self) -> Path:
        return self.folder / "busybox"


@dataclass(frozen=True)
class Choice:
    """The packages of one kernel."""

    release: str
    version: str
    packages: tuple[Package, ...]


def matches(release: str, kernel: str, arch: str) -> bool:
    """Whether a release such as 6.12.95+deb12-arm64 is of the asked version.

    Only the plain flavour, no -rt or -cloud; that with 16 KiB pages where `kernel`
    says so: 7.3-16k.
    """
    version, flavour = split_flavour(kernel)
    return re.fullmatch(re.escape(version) + r"(?![0-9])[0-9a-z.+~]*(?:-[0-9]+)?-" + arch
                        + flavour, release) is not None


def split_flavour(kernel: str) -> tuple[str, str]:
    """'7.3-16k' -> '7.3', '-16k'; the plain flavour is ''."""
    version = kernel.removesuffix(FLAVOUR_16K)
    return version, kernel[len(version):]


def dependencies(package: Package, prefix: str) -> list[str]:
    """Names in Depends that start with `prefix`, first alternatives only."""
    names = []
    for clause in package.depends.split(","):
        name = clause.split("|")[0].split("(")[0].strip().split(":")[0]
        if name.startswith(prefix):
            names.append(name)
    return names


def choose(headers: Iterable[Package], lookup: Callable[[str], list[Package]], *, kernel: str,
           arch: str, host_arch: str, headers_only: bool) -> Choice:
    """The newest kernel of which every needed package exists.

    `headers` are versions of linux-headers-* of `arch`; `lookup` gives all
    versions of a package named as name:arch (plain name for architecture all). An archive in the middle of an
    update may lack a part of the newest kernel; then the next one is taken.
    """
    offered = [package for package in headers if package.arch == arch]
    fitting = [package for package in offered
               if matches(package.name.removeprefix("linux-headers-"), kernel, arch)]
    for version in newest_first(package.version for package in fitting):
        for package in fitting:
            if package.version != version:
                continue
            chosen = _complete(package, lookup, arch, host_arch, headers_only)
            if chosen:
                return chosen
    releases = {package.name.removeprefix("linux-headers-") for package in offered}
    plain = {release for release in releases
             if re.search(rf"([0-9]|deb\d+)-{arch}({FLAVOUR_16K})?$", release)}
    raise UsageError(f"kernel '{kernel}' for {arch}: not among this host's Debian sources, "
                     f"which have {one_of(plain)}")


def _complete(headers: Package, lookup: Callable[[str], list[Package]], arch: str, host_arch: str,
              headers_only: bool) -> Choice | None:
    release = headers.name.removeprefix("linux-headers-")
    packages = [headers]

    def add(name: str, wanted_arch: str, version: str | None) -> bool:
        spec = name if wanted_arch == "all" else f"{name}:{wanted_arch}"
        found = [package for package in lookup(spec) if package.arch == wanted_arch
                 and version in (None, package.version)]
        if found:
            newest = newest_first(package.version for package in found)[0]
            packages.append(next(package for package in found if package.version == newest))
        return bool(found)

    common = [name for name in dependencies(headers, "linux-headers-") if "-common" in name]
    kbuild = dependencies(headers, "linux-kbuild-")
    if not common or not kbuild:
        return None
    # kbuild runs on the host, so it is the host's architecture that counts.
    if not add(common[0], "all", headers.version) or not add(kbuild[0], host_arch, headers.version):
        return None
    if not headers_only:
        # Debian 13's later kernels come in three packages.
        if add(f"linux-binary-{release}", arch, headers.version):
            needed = [f"linux-base-{release}", f"linux-modules-{release}"]
        elif add(f"linux-image-{release}-unsigned", arch, headers.version):
            needed = dependencies(packages[-1], "linux-modules-")
        else:
            return None
        if not all(add(name, arch, headers.version) for name in needed):
            return None
        if not add("busybox-static", arch, None):
            return None
    return Choice(release, headers.version, tuple(packages))


def read_kernel(folder: Path) -> Kernel:
    """The kernel of a folder of the cache."""
    data = json.loads((folder / "kernel.json").read_text(encoding="utf-8"))
    return Kernel(data["release"], data["arch"], data["version"], data["headers_only"], folder,
                  data.get("digest", ""), data.get("tools", ""))


def all_cached() -> list[Kernel]:
    """Every kernel in the cache, Debian's and our own."""
    return [read_kernel(path.parent)
            for path in (cache_root() / "kernels").glob("[!.]*/kernel.json")]


def newest(kernels: Iterable[Kernel]) -> Kernel | None:
    """By Debian's version, None of none."""
    found = list(kernels)
    if not found:
        return None
    version = newest_first(kernel.version for kernel in found)[0]
    return next(kernel for kernel in found if kernel.version == version)


def cached(arch: str, kernel: str, *, headers_only: bool) -> Kernel | None:
    """Debian's newest kernel in the cache that serves, without the network."""
    return newest(candidate for candidate in all_cached() if not candidate.digest
                  and candidate.arch == arch and matches(candidate.release, kernel, arch)
                  and (headers_only or not candidate.headers_only))


def own_cached(configuration: fragments.Configuration, source: str = "") -> Kernel | None:
    """The newest kernel of our own in the cache that was built from these very fragments (and
    the source of that version, such as 7.3)."""
    return newest(candidate for candidate in all_cached()
                  if candidate.digest == configuration.digest
                  and (not source or re.match(re.escape(source) + r"(?![0-9])", candidate.version)))


def own(name: str, arch: str) -> Kernel:
    """The cached kernel of a configuration; UsageError, with the command, where there is none."""
    if arch != fragments.ARCH:
        raise UsageError(f"kernel '{name}': is built for {fragments.ARCH} only, not for {arch}")
    found = own_cached(fragments.load(name))
    if not found:
        raise UsageError(f"kernel '{name}': not in the cache as configs/kernel/ has it now; build "
                         f"it with 'guest/kernel build {name}'")
    return found


def find(arch: str, kernel: str) -> Kernel:
    """A kernel that boots, from the cache only; UsageError where there is none."""
    if kernel in fragments.names():
        return own(kernel, arch)
    found = cached(arch, kernel, headers_only=False)
    if not found:
        raise UsageError(f"kernel '{kernel}' for {arch}: not in the cache; fetch it with "
                         f"'guest/kernel fetch --arch {arch} --kernel {kernel}'")
    return found


def fetch(arch: str = archs.DEFAULT, kernel: str = DEFAULT_KERNEL, *, headers_only: bool = False,
          refresh: bool = False, say: Callable[[str], None] = lambda _: None) -> Kernel:
    """A kernel in the cache, by Debian's version or the name of one of our own.

    Debian's is downloaded if it is not there; our own has to be there.

    With `refresh`, a newer one of Debian's is looked for even if one is there.
    """
    if arch not in archs.ARCHITECTURES:
        raise UsageError(f"architecture '{arch}': allowed are {one_of(archs.ARCHITECTURES)}")
    if kernel in fragments.names():
        return own(kernel, arch)
    if not re.fullmatch(r"[0-9]+\.[0-9]+[0-9a-z.+~-]*", kernel):
        raise UsageError(f"kernel '{kernel}': give a version such as 6.12 or 6.12.95, or one of "
                         f"{one_of(fragments.names())}")
    with locked("kernels"):
        found = cached(arch, kernel, headers_only=headers_only)
        if found and not refresh:
            return found
        (cache_root() / "kernels").mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".apt-", dir=cache_root() / "kernels") as state:
            apt = Apt(Path(state), arch)
            say(f"reading Debian's package lists for {arch}")
            apt.update()
            tools = ""
            if not _fitting(apt, kernel, arch):
                say(f"this host's Debian has no {kernel}; reading {', '.join(NEWER_SUITES)}")
                apt.update(NEWER_SUITES)
                tools = NEWER_CODENAME
            choice = _choice(apt, kernel, arch, headers_only)
            final = cache_root() / "kernels" / choice.release
            if found and found.release == choice.release and found.version == choice.version:
                return found
            say(f"downloading kernel {choice.release} ({choice.version})")
            files = apt.download(choice.packages, Path(state) / "debs")
            with atomic_folder(final) as folder:
                say("unpacking")
                unpack(files, folder, choice, arch, headers_only=headers_only, tools=tools)
        return read_kernel(final)


def _fitting(apt: Apt, kernel: str, arch: str) -> list[str]:
    """Header packages of that version, as apt takes them."""
    version, _ = split_flavour(kernel)
    return [f"{name}:{arch}" for name in apt.names(f"linux-headers-{version}")
            if matches(name.removeprefix("linux-headers-"), kernel, arch)]


def _choice(apt: Apt, kernel: str, arch: str, headers_only: bool) -> Choice:
    listing = apt.show(_fitting(apt, kernel, arch))
    if not listing:  # for the message: what there is
        listing = apt.show([f"{name}:{arch}" for name in apt.names("linux-headers-")
                            if name.endswith((f"-{arch}", f"-{arch}{FLAVOUR_16K}"))])
    return choose(listing, lambda spec: apt.show([spec]), kernel=kernel, arch=arch,
                  host_arch=apt.host_arch, headers_only=headers_only)


def unpack(files: Iterable[Path], folder: Path, choice: Choice, arch: str, *,
           headers_only: bool, tools: str = "") -> None:
    """Unpacks packages into folder/root and links the parts that are used."""
    root = folder / "root"
    for file in files:
        checked(["dpkg-deb", "-x", str(file), str(root)], what=f"unpacking {file.name}")
    # Where modules lie differs by suite (/lib or /usr/lib) and so does where
    # the host's depmod looks: make both names work.
    for here, there in (("lib/modules", "usr/lib/modules"), ("usr/lib/modules", "lib/modules")):
        if (root / here).is_dir() and not (root / there).exists():
            (root / there).parent.mkdir(parents=True, exist_ok=True)
            (root / there).symlink_to(Path(*[".."] * there.count("/"), here))
            break
    headers = root / "usr/src" / f"linux-headers-{choice.release}"
    fix_headers(headers)
    (folder / "headers").symlink_to(headers.relative_to(folder))
    if not headers_only:
        shutil.copyfile(only((*root.glob(f"boot/vmlinu[xz]-{choice.release}"),
                              *root.glob(f"lib/modules/{choice.release}/vmlinuz")), "kernel image"),
                        folder / "vmlinuz")
        shutil.copyfile(busybox_in(root), folder / "busybox")
        modules = root / "lib/modules" / choice.release
        (folder / "modules").symlink_to(modules.relative_to(folder))
        checked(["depmod", "-b", str(root), choice.release], what="module dependencies")
    (folder / "kernel.json").write_text(json.dumps({
        "release": choice.release, "arch": arch, "version": choice.version,
        "headers_only": headers_only, "tools": tools,
        "packages": [asdict(package) for package in choice.packages]}, indent=1) + "\n",
        encoding="utf-8")


def busybox_in(root: Path) -> Path:
    """Where the suites' busybox-static unpacks to."""
    return only((path for path in (root / "bin/busybox", root / "usr/bin/busybox")
                 if path.is_file()), "busybox")


def only(paths: Iterable[Path], what: str) -> Path:
    found = list(paths)
    if len(found) != 1:
        raise GuestError(f"expected one {what} in the packages, found {len(found)}")
    return found[0]


def fix_headers(headers: Path) -> None:
    """Lets unpacked headers find their common part: /usr/src is not this host's."""
    makefile = headers / "Makefile"
    text = makefile.read_text(encoding="utf-8")
    text = re.sub(r"^KBUILD_OUTPUT=/usr/src/\S+$",
                  "KBUILD_OUTPUT:=$(dir $(abspath $(lastword $(MAKEFILE_LIST))))", text,
                  flags=re.MULTILINE)
    fixed = re.sub(r"^include /usr/src/(\S+)$",
                   r"include $(dir $(lastword $(MAKEFILE_LIST)))../\1", text, flags=re.MULTILINE)
    if fixed == text:
        raise GuestError(f"{makefile}: no 'include /usr/src/...' line to change")
    makefile.write_text(fixed, encoding="utf-8")
