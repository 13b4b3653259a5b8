# SPDX-License-Identifier: Apache-2.0
"""A program's manual page, for man(7)'s macros."""

from __future__ import annotations

from .tables import Command, Group, Option, Program


def escaped(text: str) -> str:
    """Text that roff prints as it is, also at the start of a line."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha")
    text = text.replace("~", "\\(ti").replace("`", "\\(ga")
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.splitlines())


def _names(option: Option) -> str:
    """One line: names in bold, value in italics."""
    names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in option.names)
    if not option.value or option.value == option.names[0]:
        return names
    gap = "" if option.value.startswith("[") else " "
    return f"{names}{gap}\\fI{escaped(option.value)}\\fR"


def _entries(options: tuple[Option, ...]) -> list[str]:
    lines = []
    for option in options:
        lines += [".TP", _names(option), escaped(option.help) or "\\&"]
    return lines


def _group(group: Group, titled: bool) -> list[str]:
    head = [".PP", escaped(group.title) + ":"] if titled else []
    return head + _entries(group.options)


def _command(program: str, command: Command) -> list[str]:
    lines = [f'.SS "{escaped(program)} {escaped(command.name)}"',
             f"\\fB{escaped(program)} {escaped(command.name)}\\fR {escaped(command.synopsis)}",
             ".PP"]
    text = command.description or command.summary[:1].upper() + command.summary[1:] + "."
    lines += escaped(text).splitlines()
    lines += _entries(command.arguments)
    for group in command.groups:
        lines += _group(group, len(command.groups) > 1)
    return lines


def page(program: Program, version: str, see_also: list[str]) -> str:
    """The page of section 1."""
    lines = ['.\\" SPDX-License-Identifier: Apache-2.0',
             '.\\" Made from the option tables of the program: edit those.',
             f'.TH {escaped(program.name.upper())} 1 "" "pagemix {version}" "User Commands"',
             ".SH NAME", f"{escaped(program.name)} \\- {escaped(program.summary)}",
             ".SH SYNOPSIS",
             f"\\fB{escaped(program.name)}\\fR \\fICOMMAND\\fR [options]",
             ".SH COMMANDS"]
    for command in program.commands:
        lines += [".TP", f"\\fB{escaped(command.name)}\\fR", escaped(command.summary)]
    lines.append(".SH OPTIONS")
    for group in program.groups:
        lines += _group(group, True)
    for command in program.commands:
        lines += _command(program.name, command)
    lines.append('.SH "EXIT STATUS"')
    for code, meaning in program.exits:
        lines += [".TP", f"\\fB{code}\\fR", escaped(meaning)]
    if see_also:
        lines += ['.SH "SEE ALSO"',
                  ", ".join(f"\\fB{escaped(name)}\\fR(1)" for name in see_also)]
    return "\n".join(lines) + "\n"
