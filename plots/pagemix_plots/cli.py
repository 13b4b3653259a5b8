# SPDX-License-Identifier: Apache-2.0
"""Command line of pagemix-report."""

from __future__ import annotations

import argparse
import pathlib
import sys

from . import alloc_series, headline, index, vmtrace
from .fields import RunError
from .load import load_run


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pagemix-report",
                                     description="Tables, figures and reports of pagemix runs.")
    commands = parser.add_subparsers(dest="command", required=True)
    run_help = "a run's folder or its run.json"

    report = commands.add_parser("report", help="write report.html and plots/*.svg")
    report.add_argument("runs", metavar="RUN", nargs="+", type=pathlib.Path, help=run_help)
    report.add_argument("--out", metavar="DIR", type=pathlib.Path,
                        help="where to write (default: the run's folder, or out/ for several runs)")
    report.add_argument("--published", metavar="CSV", type=pathlib.Path,
                        help="a published table of allocations to draw beside the runs")
    report.set_defaults(call=_report)

    words = commands.add_parser("headline", help="print the headline and its table as text")
    words.add_argument("runs", metavar="RUN", nargs="+", type=pathlib.Path, help=run_help)
    words.set_defaults(call=_headline)

    trace = commands.add_parser("trace", help="sum direct compaction and reclaim of a trace's text")
    trace.add_argument("files", metavar="FILE", nargs="+", type=pathlib.Path)
    trace.set_defaults(call=_trace)

    listing = commands.add_parser("index", help="write README.md, the index of published runs")
    listing.add_argument("results", metavar="DIR", type=pathlib.Path, help="the results folder")
    listing.set_defaults(call=_index)
    return parser


def _report(args: argparse.Namespace) -> None:
    from . import report  # matplotlib takes a second to load; the other commands need none

    runs = [load_run(path) for path in args.runs]
    out = args.out or (runs[0].folder if len(runs) == 1 else pathlib.Path("out"))
    published = alloc_series.published(args.published) if args.published else []
    print(report.write(runs, out, published))


def _headline(args: argparse.Namespace) -> None:
    sys.stdout.write(headline.text([load_run(path) for path in args.runs]))


def _trace(args: argparse.Namespace) -> None:
    for file in args.files:
        print(f"{file}: {vmtrace.read(file).words}")


def _index(args: argparse.Namespace) -> None:
    print(index.write(args.results))


def main(argv: list[str] | None = None) -> int:
    """Exit code: 0, 1 for a run or file that cannot be used, 2 for a wrong command line."""
    args = _parser().parse_args(argv)
    try:
        args.call(args)
    except RunError as error:
        print(f"pagemix-report: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # writing the output
        print(f"pagemix-report: {error.filename or 'output'}: {error.strerror or error}",
              file=sys.stderr)
        return 1
    return 0
