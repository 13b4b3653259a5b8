# SPDX-License-Identifier: Apache-2.0
"""What a program's command line takes, from where the program itself takes it."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Option:
    names: tuple[str, ...]  # "-h", "--help"
    value: str = ""  # "FILE"; "": the option is a flag; "[=...]": the value may be left out
    help: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The values, where the table names all: "a|b|c"."""
        return tuple(self.value.split("|")) if "|" in self.value else ()


@dataclass(frozen=True)
class Group:
    title: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Command:
    name: str
    synopsis: str
    summary: str
    description: str
    groups: tuple[Group, ...]
    arguments: tuple[Option, ...] = ()  # without dashes; names[0] is what the synopsis shows

    @property
    def options(self) -> list[Option]:
        return [option for group in self.groups for option in group.options]


@dataclass(frozen=True)
class Program:
    name: str
    summary: str
    groups: tuple[Group, ...]  # in place of a command
    commands: tuple[Command, ...]
    exits: tuple[tuple[int, str], ...] = field(default=())


def _group(data: dict[str, Any]) -> Group:
    return Group(data["title"], tuple(Option(tuple(option["names"]), option["value"],
                                             option["help"]) for option in data["options"]))


def from_json(file: Path) -> Program:
    """What pagemix_describe wrote."""
    data = json.loads(file.read_text(encoding="utf-8"))
    commands = tuple(
        Command(one["name"], one["synopsis"], one["summary"], one["description"],
                tuple(map(_group, one["groups"]))) for one in data["commands"])
    return Program(data["name"], data["summary"], tuple(map(_group, data["groups"])), commands,
                   tuple((code, meaning) for code, meaning in data["exits"]))


def _option(action: argparse.Action, prog: str) -> Option:
    value = ""
    if action.nargs != 0:
        metavar = action.metavar or (
            "|".join(map(str, action.choices)) if action.choices else action.dest.upper())
        value = metavar if isinstance(metavar, str) else " ".join(metavar)
    text = action.help or ""
    if text:  # "%(default)s"
        text = text % {**vars(action), "prog": prog}
    return Option(tuple(action.option_strings) or (value,), value, text)


def _argparse_command(name: str, summary: str, parser: argparse.ArgumentParser) -> Command:
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    options = tuple(_option(action, parser.prog) for action in actions if action.option_strings)
    arguments = tuple(_option(action, parser.prog) for action in actions
                      if not action.option_strings)
    usage = " ".join(parser.format_usage().split())
    return Command(name, usage.removeprefix(f"usage: {parser.prog} "), summary,
                   parser.description or "", (Group("Options", options),), arguments)


def from_argparse(parser: argparse.ArgumentParser, exits: tuple[tuple[int, str], ...]) -> Program:
    """A parser whose subcommands have a help line each."""
    commands: list[Command] = []
    general: list[Option] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            commands += [_argparse_command(name, summaries[name], sub)
                         for name, sub in action.choices.items()]
        else:
            general.append(_option(action, parser.prog))
    return Program(parser.prog, (parser.description or "").rstrip("."),
                   (Group("Without a command", tuple(general)),), tuple(commands), exits)
