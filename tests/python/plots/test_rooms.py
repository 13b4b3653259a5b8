# SPDX-License-Identifier: Apache-2.0
"""Rooms of the package: no import upward, tests in folders of the same names, all of it in docs."""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
PACKAGE = SOURCE / "plots" / "pagemix_plots"
ROOMS = ("stats", "run", "models", "tables", "answers", "figures", "pages")  # lowest first
ABOVE = {"__init__", "__main__", "cli"}  # in no room: may import them all


def imported(text: str) -> Iterator[tuple[int, str]]:
    """Line and room of each import within the package, wherever in a module it stands."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level >= 2:  # from a room: .. is the package
            for name in [node.module] if node.module else [alias.name for alias in node.names]:
                yield node.lineno, name.split(".")[0]
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [
                alias.name for alias in node.names]
            for name in names:
                if not getattr(node, "level", 0) and name.split(".")[0] == PACKAGE.name:
                    yield node.lineno, (name.split(".") + [""])[1]


def upward(room: str, text: str) -> list[tuple[int, str]]:
    return [(line, other) for line, other in imported(text)
            if other not in ROOMS or ROOMS.index(other) > ROOMS.index(room)]


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_imports_a_higher_one(room: str) -> None:
    files = sorted((PACKAGE / room).rglob("*.py"))
    assert len(files) > 1
    found = [f"{file.name}:{line}: {room} imports {other or 'the package'}" for file in files
             for line, other in upward(room, file.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize("line", [
    "from ..pages import report", "from .. import pages", "from ..cli import main",
    "from pagemix_plots.figures.svg import render", "import pagemix_plots.pages.report",
    "import pagemix_plots", "def f():\n    from ..figures import svg"])
def test_an_import_upward_is_seen(line: str) -> None:
    assert upward("answers", line)
    assert not upward("answers", "from ..run.load import Run\nfrom . import check\nimport json")


def test_every_module_is_in_a_room_and_every_test_mirrors_one() -> None:
    assert {file.stem for file in PACKAGE.glob("*.py")} == ABOVE
    for folder in (PACKAGE, HERE):
        assert {f.parent.name for f in folder.rglob("*.py") if f.parent != folder} == set(ROOMS)


def test_the_docs_name_the_rooms_in_this_order() -> None:
    text = (SOURCE / "docs" / "internals.md").read_text(encoding="utf-8")
    section = text[text.index("## Rooms of plots"):]
    assert tuple(re.findall(r"^\| `(\w+)/` ", section.split("\n## ", 1)[0], re.M)) == ROOMS
