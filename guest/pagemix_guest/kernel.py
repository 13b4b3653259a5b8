# SPDX-License-Identifier: Apache-2.0
"""Debian kernels in the cache: choosing, fetching, finding."""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .apt import Apt, Package
from .cache import atomic_folder, cache_root, locked
from .errors import GuestError, UsageError, checked, one_of

ARCHITECTURES = ("arm64",)
DEFAULT_ARCH = "arm64"
DEFAULT_KERNEL = "6.12"


@dataclass(frozen=True)
class Kernel:
    """A kernel in the cache. `folder` holds what docs/internals.md lists."""

    release: str
    arch: str
    version: str
    headers_only: bool
    folder: Path

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

    Only the plain flavour: no -rt, -cloud or -16k.
    """
    return re.fullmatch(re.escape(kernel) + r"(?![0-9])[0-9a-z.+~]*(?:-[0-9]+)?-" + arch,
                        release) is not None


def newest_first(versions: Iterable[str]) -> list[str]:
    """Sorted by dpkg's rules."""
    def compare(one: str, other: str) -> int:
        for relation, answer in (("gt", -1), ("lt", 1)):
            if subprocess.run(["dpkg", "--compare-versions", one, relation, other],
                              check=False).returncode == 0:
                return answer
        return 0
    return sorted(set(versions), key=functools.cmp_to_key(compare))


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
    plain = {release for release in releases if re.search(rf"[0-9]-{arch}$|deb\d+-{arch}$", release)}
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
        if not add(f"linux-image-{release}-unsigned", arch, headers.version):
            return None
        for name in dependencies(packages[-1], "linux-modules-"):
            if not add(name, arch, headers.version):
                return None
        if not add("busybox-static", arch, None):
            return None
    return Choice(release, headers.version, tuple(packages))


def cached(arch: str, kernel: str, *, headers_only: bool) -> Kernel | None:
    """The newest kernel in the cache that serves, without the network."""
    found = []
    for description in (cache_root() / "kernels").glob("[!.]*/kernel.json"):
        data = json.loads(description.read_text(encoding="utf-8"))
        candidate = Kernel(data["release"], data["arch"], data["version"], data["headers_only"],
                           description.parent)
        if (candidate.arch == arch and matches(candidate.release, kernel, arch)
                and (headers_only or not candidate.headers_only)):
            found.append(candidate)
    if not found:
        return None
    newest = newest_first(candidate.version for candidate in found)[0]
    return next(candidate for candidate in found if candidate.version == newest)


def fetch(arch: str = DEFAULT_ARCH, kernel: str = DEFAULT_KERNEL, *, headers_only: bool = False,
          refresh: bool = False, say: Callable[[str], None] = lambda _: None) -> Kernel:
    """A kernel of that version in the cache, downloaded if it is not there.

    With `refresh`, a newer one is looked for even if one is there.
    """
    if arch not in ARCHITECTURES:
        raise UsageError(f"architecture '{arch}': allowed are {one_of(ARCHITECTURES)}")
    if not re.fullmatch(r"[0-9]+\.[0-9]+[0-9a-z.+~-]*", kernel):
        raise UsageError(f"kernel '{kernel}': give a version such as 6.12 or 6.12.95")
    with locked("kernels"):
        found = cached(arch, kernel, headers_only=headers_only)
        if found and not refresh:
            return found
        (cache_root() / "kernels").mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".apt-", dir=cache_root() / "kernels") as state:
            apt = Apt(Path(state), arch)
            say(f"reading Debian's package lists for {arch}")
            apt.update()
            names = apt.names(f"linux-headers-{kernel}")
            choice = _choice(apt, names, kernel, arch, headers_only)
            final = cache_root() / "kernels" / choice.release
            if found and found.release == choice.release and found.version == choice.version:
                return found
            say(f"downloading kernel {choice.release} ({choice.version})")
            files = apt.download(choice.packages, Path(state) / "debs")
            with atomic_folder(final) as folder:
                say("unpacking")
                unpack(files, folder, choice, arch, headers_only=headers_only)
        fetched = cached(arch, choice.release.removesuffix(f"-{arch}"), headers_only=headers_only)
        assert fetched is not None
        return fetched


def _choice(apt: Apt, names: Sequence[str], kernel: str, arch: str, headers_only: bool) -> Choice:
    fitting = [f"{name}:{arch}" for name in names
               if matches(name.removeprefix("linux-headers-"), kernel, arch)]
    listing = apt.show(fitting)
    if not listing:  # for the message: what there is
        listing = apt.show([f"{name}:{arch}" for name in apt.names("linux-headers-")
                            if name.endswith(f"-{arch}")])
    return choose(listing, lambda spec: apt.show([spec]), kernel=kernel, arch=arch,
                  host_arch=apt.host_arch, headers_only=headers_only)


def unpack(files: Iterable[Path], folder: Path, choice: Choice, arch: str, *,
           headers_only: bool) -> None:
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
        shutil.copyfile(_only(root.glob(f"boot/vmlinu[xz]-{choice.release}"), "kernel image"),
                        folder / "vmlinuz")
        shutil.copyfile(_only((path for path in (root / "bin/busybox", root / "usr/bin/busybox")
                               if path.is_file()), "busybox"), folder / "busybox")
        modules = root / "lib/modules" / choice.release
        (folder / "modules").symlink_to(modules.relative_to(folder))
        checked(["depmod", "-b", str(root), choice.release], what="module dependencies")
    (folder / "kernel.json").write_text(json.dumps({
        "release": choice.release, "arch": arch, "version": choice.version,
        "headers_only": headers_only,
        "packages": [asdict(package) for package in choice.packages]}, indent=1) + "\n",
        encoding="utf-8")


def _only(paths: Iterable[Path], what: str) -> Path:
    found = list(paths)
    if len(found) != 1:
        raise GuestError(f"expected one {what} in the packages, found {len(found)}")
    return found[0]


def fix_headers(headers: Path) -> None:
    """Lets unpacked headers find their common part: /usr/src is not this host's."""
    makefile = headers / "Makefile"
    text = makefile.read_text(encoding="utf-8")
    fixed = re.sub(r"^include /usr/src/(\S+)$",
                   r"include $(dir $(lastword $(MAKEFILE_LIST)))../\1", text, flags=re.MULTILINE)
    if fixed == text:
        raise GuestError(f"{makefile}: no 'include /usr/src/...' line to change")
    makefile.write_text(fixed, encoding="utf-8")
