# SPDX-License-Identifier: Apache-2.0
"""Fragments of a kernel's configuration: read, layered, and held against what came out."""

from pathlib import Path

import pytest

from pagemix_guest import fragments
from pagemix_guest.errors import GuestError, UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "base.config").write_text(
        "# SPDX\n\nCONFIG_A=y\nCONFIG_B=m\nCONFIG_TEXT=\"x y\"\n", encoding="ascii")
    (tmp_path / "debug.config").write_text(
        "CONFIG_B=y\n# CONFIG_A is not set\nCONFIG_N=16000\n", encoding="ascii")
    return tmp_path


def test_later_fragment_wins(folder: Path) -> None:
    assert fragments.load("base", folder).wanted == {
        "CONFIG_A": "y", "CONFIG_B": "m", "CONFIG_TEXT": '"x y"'}
    assert fragments.load("debug", folder).wanted == {
        "CONFIG_A": "n", "CONFIG_B": "y", "CONFIG_TEXT": '"x y"', "CONFIG_N": "16000"}


def test_digest_follows_every_fragment_below(folder: Path) -> None:
    base, debug = (fragments.load(name, folder).digest for name in ("base", "debug"))
    assert base != debug
    with open(folder / "debug.config", "a", encoding="ascii") as file:
        file.write("CONFIG_C=y\n")
    assert fragments.load("base", folder).digest == base
    assert fragments.load("debug", folder).digest != debug
    changed = fragments.load("debug", folder).digest
    with open(folder / "base.config", "a", encoding="ascii") as file:
        file.write("CONFIG_D=y\n")
    assert fragments.load("debug", folder).digest != changed


def test_every_line_without_effect_is_named(folder: Path) -> None:
    wanted = fragments.load("debug", folder).wanted
    fragments.check(wanted, 'CONFIG_B=y\nCONFIG_TEXT="x y"\nCONFIG_N=16000\n')  # A absent: unset
    with pytest.raises(GuestError) as caught:
        fragments.check(wanted, 'CONFIG_A=y\nCONFIG_B=m\nCONFIG_TEXT="x y"\n')
    lines = str(caught.value).splitlines()[1:]
    assert lines == ["  CONFIG_A=n, but the kernel's configuration has it as y",
                     "  CONFIG_B=y, but the kernel's configuration has it as m",
                     "  CONFIG_N=16000, but the kernel's configuration has it not at all"]


@pytest.mark.parametrize("line", ["CONFIG_A", "A=y", "CONFIG_A=", "#CONFIG_A is not set", "nonsense"])
def test_a_line_that_is_none(folder: Path, line: str) -> None:
    (folder / "debug.config").write_text(f"CONFIG_B=y\n{line}\n", encoding="ascii")
    with pytest.raises(UsageError, match=r"debug\.config:2: "):
        fragments.load("debug", folder)


def test_unknown_name_says_which_there_are(folder: Path) -> None:
    with pytest.raises(UsageError, match="'fast'.* has base, debug"):
        fragments.load("fast", folder)


def test_the_repository_has_these() -> None:
    assert {"base", "debug", "16k"} <= set(fragments.names())
    debug = fragments.load("debug").wanted
    # SLUB_TINY of tinyconfig excludes KASAN.
    assert debug["CONFIG_SLUB_TINY"] == "n" and debug["CONFIG_KASAN"] == "y"
    for name in fragments.names():
        fragments.load(name)
