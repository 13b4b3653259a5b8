# SPDX-License-Identifier: Apache-2.0
"""Manual pages and completion name the options that --help prints, command by command.

The help is read as a user reads it, not by what the pages are made from."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[3]
MANUAL = Path(os.environ["PAGEMIX_MANUAL_FOLDER"])
PROGRAMS = {"pagemix": Path(os.environ["PAGEMIX"]),
            "pagemix-report": SOURCE / "plots" / "pagemix-report"}
BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def output(*command: object, env: dict[str, str] | None = None) -> str:
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True,
                          cwd=SOURCE, env={**os.environ, **(env or {})}).stdout


def options(lines: list[str]) -> set[str]:
    """Of lines such as "  -h [ --help ]   print", those before the gap."""
    heads = [re.split(r"\s{2,}", line.strip())[0] for line in lines]
    return {name for head in heads if head.startswith("-") for name in OPTION.findall(head)}


@functools.cache
def help_options(program: str, *command: str) -> set[str]:
    text = output(PROGRAMS[program], *command, "--help")
    return options([line for line in text.splitlines() if re.match(r"  -", line)])


@functools.cache
def commands(program: str) -> list[str]:
    """That the help lists, one a line at the same indentation."""
    text = output(PROGRAMS[program], "--help", env={"COLUMNS": "200"})
    if program == "pagemix-report":
        listed = re.search(r"\{([\w,]+)\}", text)
        assert listed
        return listed[1].split(",")
    block = text.split("\n\n")[2]  # below the usage
    return [line.split()[0] for line in block.splitlines()]


@functools.cache
def rendered(program: str) -> str:
    """The page as plain text, wide enough that no entry is broken."""
    text = output("man", "-E", "UTF-8", "-l", MANUAL / "man" / f"{program}.1",
                  env={"MANWIDTH": "200", "MANPAGER": "cat", "MAN_KEEP_FORMATTING": ""})
    return re.sub(".\b", "", text)


def page_options(program: str, heading: str) -> set[str]:
    """Of the page's section or subsection with this heading."""
    lines = rendered(program).splitlines()
    starts = [n for n, line in enumerate(lines) if line.strip() == heading and line[:5].strip()]
    assert len(starts) == 1, f"{heading}: {starts}"
    body = []
    for line in lines[starts[0] + 1:]:
        if line[:5].strip():  # the next heading
            break
        body.append(line)
    return options([line for line in body if re.match(r" {7}-", line)])


def completed(program: str, *words: str) -> set[str]:
    """What Tab offers for the last of the words behind the program's name."""
    script = """
        . "$1"; . "$2"; shift 2
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
        _${1//-/_}
        printf '%s\\n' "${COMPREPLY[@]}" """
    return set(output("bash", "--norc", "-c", script, "-", BASH_COMPLETION,
                      MANUAL / "completion" / program, program, *words).split())


CASES = [(program, command) for program in PROGRAMS for command in commands(program)]


def test_the_commands_are_those_that_are_known() -> None:
    """What the cases below come from is itself read right."""
    assert commands("pagemix") == ["doctor", "list", "pressure", "run"]
    assert {"report", "compare", "publish"} <= set(commands("pagemix-report"))


@pytest.mark.parametrize(("program", "command"), CASES)
def test_the_page_has_the_options_of_the_help(program: str, command: str) -> None:
    found = page_options(program, f"{program} {command}")
    assert found == help_options(program, command)
    assert "--help" in found


@pytest.mark.parametrize(("program", "command"), CASES)
def test_the_completion_has_the_options_of_the_help(program: str, command: str) -> None:
    assert completed(program, command, "-") == help_options(program, command)


@pytest.mark.parametrize("program", PROGRAMS)
def test_page_and_completion_have_the_commands(program: str) -> None:
    assert completed(program, "") == set(commands(program)) | help_options(program)
    assert page_options(program, "OPTIONS") == help_options(program)


@pytest.mark.parametrize("program", PROGRAMS)
def test_man_has_no_warnings(program: str) -> None:
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l",
                           MANUAL / "man" / f"{program}.1"], check=True, capture_output=True,
                          env={**os.environ, "MANROFFSEQ": ""})
    assert done.stderr == b""


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_completion_is_a_clean_script(program: str) -> None:
    output("shellcheck", "--shell=bash", MANUAL / "completion" / program)


def test_values_are_completed() -> None:
    assert completed("pagemix", "run", "--clock", "") == {"hardware-ns", "instructions",
                                                          "emulated-ns"}
    assert completed("pagemix", "run", "--clock=e") == {"emulated-ns"}
    assert completed("pagemix", "pressure", "--state", "p") == {"pinned"}
    profiles = {file.stem for file in (SOURCE / "configs" / "profiles").glob("*.ini")}
    assert profiles <= completed("pagemix", "run", "--config", "")
    assert completed("pagemix-report", "iotlb", "--policy", "r") == {"random"}


def test_files_are_left_to_bash() -> None:
    assert completed("pagemix", "run", "--out", "") == set()
    assert completed("pagemix-report", "report", "results/") == set()
