# SPDX-License-Identifier: Apache-2.0
"""Of the host's package sources only Debian's own, and of its own release, are used."""

from pathlib import Path

import pytest

from pagemix_guest.errors import GuestError
from pagemix_guest.sources import (Source, debian_sources, host_codename, is_debian,
                                   further_sources, of_suite, parse_deb822, parse_lines)

DEB822 = """\
# a comment
Types: deb
# http://snapshot.debian.org/archive/debian/20250520T000000Z
URIs: http://mirror.example.org/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb deb-src
URIs: http://mirror.example.org/debian-security
Suites: bookworm-security
Components: main contrib
Check-Valid-Until: no

Types: deb-src
URIs: http://mirror.example.org/debian
Suites: bookworm
Components: main

Enabled: no
Types: deb
URIs: http://mirror.example.org/debian
Suites: bookworm-backports
Components: main
"""


def test_deb822_keeps_enabled_binary_entries() -> None:
    main, security = parse_deb822(DEB822)
    assert main.suites == ("bookworm", "bookworm-updates")
    assert main.components == ("main",)
    assert security.uris == ("http://mirror.example.org/debian-security",)
    assert security.options == {"Check-Valid-Until": "no"}


def test_deb822_stanza_reads_back() -> None:
    for source in parse_deb822(DEB822):
        assert parse_deb822(source.stanza()) == [source]


def test_embedded_key_survives() -> None:
    text = ("Types: deb\nURIs: http://ftp.debian.org/debian\nSuites: bookworm\nComponents: main\n"
            "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n"
            " -----END PGP PUBLIC KEY BLOCK-----\n")
    source, = parse_deb822(text)
    assert parse_deb822(source.stanza()) == [source]
    assert " .\n abc\n" in source.stanza()


def test_one_line_form() -> None:
    first, second = parse_lines(
        "deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
        "http://mirror.example/debian bookworm main non-free # comment\n"
        "# deb http://mirror.example.org/debian sid main\n"
        "deb-src http://mirror.example.org/debian bookworm main\n"
        "deb http://mirror.example.org/debian bookworm-updates main\n")
    assert first.uris == ("http://mirror.example/debian",)
    assert first.components == ("main", "non-free")
    # arch= is dropped: the foreign architecture must be read too
    assert "Architectures" not in first.stanza()
    assert "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg" in first.stanza()
    assert second.suites == ("bookworm-updates",)


@pytest.mark.parametrize(("line", "expected"), [
    ("deb http://mirror.example.org/debian bookworm main", True),
    ("deb https://security.debian.org/debian-security bookworm-security main", True),
    ("deb http://mirror.example/debian/ bookworm main", True),
    ("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://x/y bookworm main",
     True),
    ("deb [signed-by=/etc/apt/keyrings/docker.asc] https://download.docker.com/linux/debian "
     "bookworm stable", False),
    ("deb [signed-by=/k.gpg] https://vendor.example/debian bookworm main", False),
    ("deb https://vendor.example/repository bookworm main", False),
    ("deb https://notdebian.org/packages bookworm main", False),
    ("deb http://mirror.example.org/debian bookworm contrib", False),
])
def test_which_archives_are_debians(line: str, expected: bool) -> None:
    source, = parse_lines(line)
    assert is_debian(source) is expected


def test_other_releases_are_left_out() -> None:
    source, = parse_lines("deb http://mirror.example.org/debian bookworm main")
    assert of_suite(source, "trixie") is None
    mixed, = parse_deb822("Types: deb\nURIs: http://mirror.example.org/debian\n"
                          "Suites: trixie bookworm bookworm-backports stable\nComponents: main\n")
    kept = of_suite(mixed, "bookworm")
    assert kept is not None
    assert kept.suites == ("bookworm", "bookworm-backports", "stable")


def test_files_by_suffix_and_vendors_dropped(tmp_path: Path) -> None:
    (tmp_path / "debian.sources").write_text(DEB822, encoding="utf-8")
    (tmp_path / "vendor.list").write_text(
        "deb [signed-by=/k] https://vendor.example/apt bookworm main\n", encoding="utf-8")
    (tmp_path / "old.list.disabled").write_text(
        "deb http://mirror.example.org/debian bookworm main\n", encoding="utf-8")
    found = debian_sources(sorted(tmp_path.iterdir()), "bookworm")
    assert [source.suites for source in found] == [("bookworm", "bookworm-updates"),
                                                   ("bookworm-security",)]


def test_codename(tmp_path: Path) -> None:
    path = tmp_path / "os-release"
    path.write_text('ID=debian\nVERSION_CODENAME="trixie"\n', encoding="utf-8")
    assert host_codename(path) == "trixie"
    path.write_text("ID=debian\n", encoding="utf-8")
    assert host_codename(path) == ""


def test_newer_suite_is_on_the_mirror_of_the_hosts() -> None:
    plain = Source(("http://mirror.example/debian",), ("bookworm", "bookworm-updates"),
                   ("main", "contrib"), " /usr/share/keyrings/debian-archive-keyring.gpg")
    security = Source(("http://deb.debian.org/debian-security",), ("bookworm-security",), ("main",))
    newer = further_sources([security, plain], ["trixie-backports"])
    assert newer == [Source(plain.uris, ("trixie-backports",), ("main",), plain.signed_by)]
    with pytest.raises(GuestError, match="no Debian archive"):
        further_sources([security], ["trixie-backports"])
    # What a host has itself is not read twice.
    assert further_sources([plain, *newer], ["trixie-backports"]) == []
    assert further_sources([plain, *newer], ["trixie-backports", "testing"])[0].suites == ("testing",)
