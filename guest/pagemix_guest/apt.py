# SPDX-License-Identifier: Apache-2.0
"""Debian's archive through the host's apt, in a private state.

The host's configuration (proxies, keys) is used; its package lists, caches and
dpkg state are neither read nor written. apt checks signatures and checksums.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .arch import host_architecture
from .errors import GuestError, checked
from .sources import debian_sources, host_codename, further_sources


# "Inst libaio1:arm64 (0.3.113-4 Debian:12.9/stable [arm64])" of apt-get --simulate
INSTALL = re.compile(r"^Inst ([^\s:]+)(?::\S+)? \((\S+) .*\[(\w+)\]", re.MULTILINE)


@dataclass(frozen=True)
class Package:
    """One version of a package in the archive."""

    name: str
    version: str
    arch: str
    depends: str = ""

    @property
    def spec(self) -> str:
        """As apt-get takes it."""
        if self.arch == "all":
            return f"{self.name}={self.version}"
        return f"{self.name}:{self.arch}={self.version}"


def parse_packages(text: str) -> list[Package]:
    """Stanzas as `apt-cache show` prints them; repeated ones are dropped."""
    found: dict[Package, None] = {}
    for block in text.split("\n\n"):
        fields: dict[str, str] = {}
        for line in block.splitlines():
            if line[:1] not in (" ", "\t") and ":" in line:
                key, value = line.split(":", 1)
                fields[key] = value.strip()
        if {"Package", "Version", "Architecture"} <= fields.keys():
            found[Package(fields["Package"], fields["Version"], fields["Architecture"],
                          fields.get("Depends", ""))] = None
    return list(found)


def newest_first(versions: Iterable[str]) -> list[str]:
    """Sorted by dpkg's rules."""
    def compare(one: str, other: str) -> int:
        for relation, answer in (("gt", -1), ("lt", 1)):
            if subprocess.run(["dpkg", "--compare-versions", one, relation, other],
                              check=False).returncode == 0:
                return answer
        return 0
    return sorted(set(versions), key=functools.cmp_to_key(compare))


# Hooks of the host act on the host's state; sandboxing needs a user that may
# read the private folder.
CONFIGURATION = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear APT::Architectures;
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "2";
"""


class Apt:
    """A private apt state in `folder` for the host's and a foreign architecture."""

    def __init__(self, folder: Path, arch: str) -> None:
        self.folder = folder
        self.host_arch = host_architecture()
        self.arch = arch
        for part in ("lists/partial", "cache/archives/partial", "sources.d", "preferences.d"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        architectures = dict.fromkeys((self.host_arch, arch))
        (folder / "apt.conf").write_text(
            CONFIGURATION + "".join(f'APT::Architectures:: "{name}";\n' for name in architectures),
            encoding="ascii")
        self._options = ["-c", str(folder / "apt.conf")]
        for key, value in (("Dir::State", folder), ("Dir::State::lists", folder / "lists"),
                           ("Dir::State::status", folder / "status"),
                           ("Dir::Cache", folder / "cache"),
                           ("Dir::Cache::archives", folder / "cache/archives"),
                           ("Dir::Etc::sourcelist", folder / "none.list"),
                           ("Dir::Etc::sourceparts", folder / "sources.d"),
                           ("Dir::Etc::preferences", folder / "none"),
                           ("Dir::Etc::preferencesparts", folder / "preferences.d")):
            self._options += ["-o", f"{key}={value}"]
        self._env = {**os.environ, "LC_ALL": "C.UTF-8"}

    def _run(self, tool: str, *args: str, what: str, cwd: Path | None = None) -> str:
        return checked([tool, *self._options, *args], what=what, cwd=cwd, env=self._env)

    def update(self, further: Sequence[str] = ()) -> None:
        """Reads the package lists of the host's Debian sources and of the suites `further`."""
        files = host_source_files()
        sources = debian_sources(files, host_codename())
        if not sources:
            raise GuestError("no Debian archive of this host's release among its package sources "
                             f"({', '.join(map(str, files)) or 'none'})")
        sources += further_sources(sources, further)
        (self.folder / "sources.d/debian.sources").write_text(
            "\n".join(source.stanza() for source in sources), encoding="utf-8")
        self._run("apt-get", "-q", "update", what="reading Debian's package lists")

    def names(self, prefix: str) -> list[str]:
        """Package names that start with `prefix`, of any architecture."""
        text = self._run("apt-cache", "pkgnames", prefix, what=f"packages named {prefix}*")
        return sorted(set(text.split()))

    def show(self, specs: Iterable[str]) -> list[Package]:
        """Every version of the packages that exist; names without one are left out."""
        wanted = list(specs)
        if not wanted:
            return []
        try:
            return parse_packages(self._run("apt-cache", "show", *wanted, what="package versions"))
        except GuestError:
            # One unknown name fails the whole call.
            found: list[Package] = []
            for spec in wanted:
                try:
                    found += parse_packages(self._run("apt-cache", "show", spec, what=spec))
                except GuestError:
                    continue
            return found

    def install_set(self, spec: str) -> list[Package]:
        """`spec` (NAME:ARCH) and the libraries of its architecture that it needs."""
        name, _, arch = spec.partition(":")
        text = self._run("apt-get", "-q", "--simulate", "--no-install-recommends", "install", spec,
                         what=f"dependencies of {spec}")
        found = [Package(match[1], match[2], match[3]) for match in INSTALL.finditer(text)]
        return [package for package in found if package.arch == arch
                and (package.name == name or re.match(r"lib|zlib", package.name))]

    def download(self, packages: Sequence[Package], folder: Path) -> list[Path]:
        """Downloads into `folder`; apt has checked each file that is returned."""
        folder.mkdir(parents=True, exist_ok=True)
        self._run("apt-get", "-q", "download", *(package.spec for package in packages),
                  what="download of " + ", ".join(package.name for package in packages), cwd=folder)
        files = sorted(folder.glob("*.deb"))
        if len(files) != len(packages):
            raise GuestError(f"apt-get download left {len(files)} of {len(packages)} packages")
        return files


def host_source_files() -> list[Path]:
    """The source files of the host's own apt."""
    text = checked(["apt-config", "shell", "LIST", "Dir::Etc::sourcelist/f", "PARTS",
                    "Dir::Etc::sourceparts/d"], what="apt's source files")
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    files = [Path(values.get("LIST", "'/etc/apt/sources.list'").strip("'"))]
    parts = Path(values.get("PARTS", "'/etc/apt/sources.list.d'").strip("'"))
    if parts.is_dir():
        files += sorted(parts.iterdir())
    return [path for path in files if path.is_file() and path.suffix in (".list", ".sources")]
