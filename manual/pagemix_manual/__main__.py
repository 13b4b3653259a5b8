# SPDX-License-Identifier: Apache-2.0
"""Writes man/<program>.1 and completion/<program> of pagemix and pagemix-report."""

from __future__ import annotations

import argparse
from pathlib import Path

from pagemix_plots import cli

from . import completion, roff, tables


def main() -> None:
    parser = argparse.ArgumentParser(prog="pagemix_manual", description=__doc__)
    parser.add_argument("--version", required=True, help="of the programs")
    parser.add_argument("--data", required=True,
                        help="folder of the installed data, from the programs' folder")
    parser.add_argument("description", type=Path, help="what pagemix_describe wrote")
    parser.add_argument("out", type=Path, help="folder to write to")
    args = parser.parse_args()
    programs = [tables.from_json(args.description),
                tables.from_argparse(cli.parser(), cli.EXIT_CODES)]
    for folder in ("man", "completion"):
        (args.out / folder).mkdir(parents=True, exist_ok=True)
    for program in programs:
        others = [other.name for other in programs if other is not program]
        (args.out / "man" / f"{program.name}.1").write_text(
            roff.page(program, args.version, others), encoding="utf-8")
        (args.out / "completion" / program.name).write_text(
            completion.script(program, args.data), encoding="utf-8")


if __name__ == "__main__":
    main()
