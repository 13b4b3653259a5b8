# SPDX-License-Identifier: Apache-2.0
"""Which of the host's package sources are Debian's own archive.

Kernels come from Debian only. Other vendors' entries are left out: they have
nothing to give, and one that is unreachable must not break a fetch. Entries of
another Debian suite than the host's are left out too, because their
linux-kbuild tools may need a newer C library than the host has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlparse

from .errors import GuestError

# Suites by position instead of by name, which a host may use for its own.
POSITIONS = ("stable", "oldstable", "oldoldstable", "testing", "unstable")


@dataclass(frozen=True)
class Source:
    """One archive location: uris x suites x components."""

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str = ""
    options: dict[str, str] = field(default_factory=dict, hash=False)

    def stanza(self) -> str:
        """In deb822 form, binary packages of every architecture asked for."""
        lines = ["Types: deb", f"URIs: {' '.join(self.uris)}", f"Suites: {' '.join(self.suites)}",
                 f"Components: {' '.join(self.components)}"]
        if self.signed_by:
            # An embedded key keeps its lines; they are indented already.
            lines.append(f"Signed-By:{self.signed_by}")
        lines += [f"{key}: {value}" for key, value in sorted(self.options.items())]
        return "\n".join(lines) + "\n"


# Debian's later kernels, compiled with later tools than this host may have.
NEWER_CODENAME = "trixie"
NEWER_SUITES = (NEWER_CODENAME + "-backports",)

KEPT_OPTIONS = ("Check-Valid-Until", "Check-Date", "Trusted", "By-Hash", "Allow-Insecure")


def parse_deb822(text: str) -> list[Source]:
    """Enabled binary entries of a .sources file."""
    found = []
    for block in re.split(r"\n[ \t]*\n", text):
        fields: dict[str, str] = {}
        key = ""
        for line in block.splitlines():
            if line.startswith("#") or not line.strip():
                continue
            if line[0] in " \t" and key:
                fields[key] += "\n" + line
            elif ":" in line:
                key, value = line.split(":", 1)
                key = key.strip().lower()
                fields[key] = value.rstrip()
        if "deb" not in fields.get("types", "").split():
            continue
        if fields.get("enabled", "yes").strip().lower() in ("no", "false", "0"):
            continue
        found.append(Source(
            tuple(fields.get("uris", "").split()), tuple(fields.get("suites", "").split()),
            tuple(fields.get("components", "").split()), fields.get("signed-by", ""),
            {name: fields[name.lower()].strip() for name in KEPT_OPTIONS
             if name.lower() in fields}))
    return found


LINE = re.compile(r"^deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)"
                  r"\s*(?P<components>.*)$")


def parse_lines(text: str) -> list[Source]:
    """Binary entries of a one-line-style .list file."""
    found = []
    for raw in text.splitlines():
        match = LINE.match(raw.split("#", 1)[0].strip())
        if not match:
            continue
        options = dict(part.split("=", 1) for part in (match["options"] or "").split()
                       if "=" in part)
        options = {key.lower(): value for key, value in options.items()}
        signed_by = options.get("signed-by", "")
        found.append(Source(
            (match["uri"],), (match["suite"],), tuple(match["components"].split()),
            f" {signed_by}" if signed_by else "",
            {name: options[name.lower()] for name in KEPT_OPTIONS if name.lower() in options}))
    return found


def is_debian(source: Source) -> bool:
    """Whether an entry is Debian's archive or a mirror of it."""
    if "main" not in source.components or not source.uris:
        return False
    if "debian-archive" in source.signed_by:
        return True
    for uri in source.uris:
        # mirror+file and the like name a list of mirrors, not a host
        address = urlparse(uri.removeprefix("mirror+"))
        host = address.hostname or ""
        if host == "debian.org" or host.endswith(".debian.org"):
            continue
        last = address.path.rstrip("/").rsplit("/", 1)[-1]
        if source.signed_by or last not in ("debian", "debian-security"):
            return False
    return True


def of_suite(source: Source, codename: str) -> Source | None:
    """The entry with only the suites of one Debian release, or None."""
    names = (codename, *POSITIONS)
    keep = tuple(suite for suite in source.suites
                 if re.split(r"[-/]", suite, maxsplit=1)[0] in names)
    if not keep:
        return None
    return Source(source.uris, keep, source.components, source.signed_by, source.options)


def host_codename(os_release: Path = Path("/etc/os-release")) -> str:
    """VERSION_CODENAME of the host, '' if it has none (unstable)."""
    for line in os_release.read_text(encoding="utf-8").splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.split("=", 1)[1].strip().strip('"')
    return ""


def read_sources(files: Iterable[Path]) -> list[Source]:
    """Entries of apt source files; their suffix says which of the two forms."""
    found: list[Source] = []
    for path in files:
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".sources":
            found += parse_deb822(text)
        elif path.suffix == ".list":
            found += parse_lines(text)
    return found


def debian_sources(files: Iterable[Path], codename: str) -> list[Source]:
    """The host's entries for Debian's archive, of the host's own release."""
    kept = (of_suite(source, codename) for source in read_sources(files) if is_debian(source))
    return [source for source in kept if source is not None]


def archive_source(sources: Iterable[Source]) -> Source:
    """The first that is the archive itself: security archives lack most packages."""
    for source in sources:
        if not any("security" in text for text in (*source.uris, *source.suites)):
            return source
    raise GuestError("no Debian archive of this host's release among its package sources")


def further_sources(sources: Iterable[Source], suites: Iterable[str]) -> list[Source]:
    """Those of `suites` that are not among `sources`, on the mirror of these."""
    have = list(sources)
    lacking = tuple(suite for suite in suites
                    if not any(suite in source.suites for source in have))
    if not lacking:
        return []
    mirror = archive_source(have)
    return [Source(mirror.uris, lacking, ("main",), mirror.signed_by, mirror.options)]
