# SPDX-License-Identifier: Apache-2.0
"""Command line of pagemix-report."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys

from .answers import compare, headline, noise, project, published, stages, verdict
from .models import hardware, iotlb, iotlb_replay
from .pages import index
from .run import published_runs, vmtrace
from .run.fields import RunError
from .run.load import labels, load_run
from .tables import alloc_series

EXIT_CODES = ((0, "done"), (1, "a run or file that cannot be used, or a regression"),
              (2, "wrong command line"))


def parser() -> argparse.ArgumentParser:
    """What the command line takes; the manual page and the completion are made from it."""
    top = argparse.ArgumentParser(prog="pagemix-report",
                                     description="Tables, figures and reports of pagemix runs.")
    commands = top.add_subparsers(dest="command", required=True)
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

    both = commands.add_parser(
        "compare", help="runs, or mixes within a run, benchmark by benchmark",
        description="Compares each further run with the first, or two mixes or domain modes "
                    "within each run. "
                    "Text of 72 columns, Markdown, ready for a mail. Exit code 1 on a regression "
                    "beyond --fail-above.")
    both.add_argument("runs", metavar="RUN", nargs="+", type=pathlib.Path, help=run_help)
    both.add_argument("--mixes", metavar=("BASE", "OTHER"), nargs=2,
                      help="compare two mixes within each run")
    both.add_argument("--domains", metavar=("BASE", "OTHER"), nargs=2,
                      help="compare two domain modes within each run, such as strict lazy")
    both.add_argument("--noise", action="store_true",
                      help="print the noise floor instead (A/A): of one run its even against its "
                           "odd blocks, of several runs of the same thing these as well")
    both.add_argument("--again", metavar="RUN", type=pathlib.Path, action="append", default=[],
                      help="another run of the same thing as the first, may be repeated: what "
                           "differs between these is below the floor too")
    both.add_argument("--fail-above", metavar="PERCENT", type=_percent,
                      help="exit code 1 when a benchmark is worse by more")
    both.add_argument("--html", metavar="FILE", type=pathlib.Path, help="write a page as well")
    both.set_defaults(call=_compare)

    answer = commands.add_parser("verdict", help="from how many uses a mix pays off")
    answer.add_argument("runs", metavar="RUN", nargs="+", type=pathlib.Path, help=run_help)
    answer.add_argument("--pair", metavar=("BASE", "OTHER"), nargs=2, action="append",
                        help="mixes to weigh; may be repeated (default: those under discussion)")
    answer.set_defaults(call=_verdict)

    priced = commands.add_parser(
        "project", help="price a guest's instructions and events by a hardware profile",
        description="A projection, not a measurement. Without a run: every published figure "
                    "that the prices can be checked against.")
    priced.add_argument("runs", metavar="RUN", nargs="*", type=pathlib.Path, help=run_help)
    priced.add_argument("--hardware", metavar="NAME",
                        help="a profile of configs/hardware, or a file that ends in .ini")
    priced.set_defaults(call=_project)

    parts = commands.add_parser(
        "stages", help="where the time of coherent allocations goes",
        description="Stages of dma_alloc_attrs() by size and attribute, Markdown.")
    parts.add_argument("runs", metavar="RUN", nargs="+", type=pathlib.Path, help=run_help)
    parts.add_argument("--published", metavar="CSV", type=pathlib.Path,
                       help="a published table (variant,bytes,stage,usec) to print beside the runs")
    parts.set_defaults(call=_stages)

    trace = commands.add_parser("trace", help="sum direct compaction and reclaim of a trace's text")
    trace.add_argument("files", metavar="FILE", nargs="+", type=pathlib.Path)
    trace.set_defaults(call=_trace)

    model = commands.add_parser(
        "iotlb", help="run QEMU's trace of an SMMUv3 through a model of an IOTLB",
        description="The trace of a boot that pagemix-guest --keep left, lookup by lookup: what an "
                    "IOTLB of another shape would have missed. With the defaults, QEMU's own.")
    model.add_argument("files", metavar="TRACE", nargs="+", type=pathlib.Path)
    model.add_argument("--entries", type=int, default=iotlb.QEMU_SMMU_ENTRIES, metavar="N",
                       help="default: %(default)s")
    model.add_argument("--ways", type=int, default=0, metavar="N",
                       help="a divisor of the entries; default: 0, fully associative")
    model.add_argument("--policy", choices=iotlb.POLICIES, default=iotlb.FLUSH,
                       help="what goes when it is full; default: %(default)s, all of it")
    model.set_defaults(call=_iotlb)

    pages = commands.add_parser("publish", help="write a site of all runs of a results folder")
    pages.add_argument("results", metavar="RESULTS", type=pathlib.Path, help="the results folder")
    pages.add_argument("out", metavar="DIR", type=pathlib.Path, help="where to write the site")
    pages.set_defaults(call=_publish)

    entry = commands.add_parser(
        "add", help="put a run into the results folder",
        description="Copies run.json and samples.npz into RESULTS/<date>-<machine>-<kernel>-"
                    "<profile>, in place of the machine's earlier run of that kernel and profile, "
                    "and prints the folder.")
    entry.add_argument("run", metavar="RUN", type=pathlib.Path, help=run_help)
    entry.add_argument("results", metavar="RESULTS", type=pathlib.Path, help="the results folder")
    entry.set_defaults(call=_add)

    listing = commands.add_parser("index", help="write README.md, the index of published runs")
    listing.add_argument("results", metavar="RESULTS", type=pathlib.Path, help="the results folder")
    listing.set_defaults(call=_index)

    front = commands.add_parser(
        "readme", help="write the answer, table and figure of the project's README",
        description="Rewrites the marked lines of README and docs/map-cost.svg beside it.")
    front.add_argument("results", metavar="RESULTS", type=pathlib.Path, help="the results folder")
    front.add_argument("readme", metavar="README", type=pathlib.Path)
    front.set_defaults(call=_readme)
    return top


def _report(args: argparse.Namespace) -> None:
    from .pages import report  # matplotlib takes a second to load; the other commands need none

    runs = [load_run(path) for path in args.runs]
    out = args.out or (runs[0].folder if len(runs) == 1 else pathlib.Path("out"))
    table = alloc_series.published(args.published) if args.published else []
    print(report.write(runs, out, table))


def _headline(args: argparse.Namespace) -> None:
    sys.stdout.write(headline.text([load_run(path) for path in args.runs]))


def _percent(text: str) -> float:
    value = float(text)  # argparse names a ValueError's argument
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: want a percentage of at least 0")
    return value


def _compare(args: argparse.Namespace) -> int:
    from .pages import compare_text

    if args.again and (args.mixes or args.domains or args.noise):
        raise RunError("compare: --again goes with two runs, not with --mixes, --domains or "
                       "--noise")
    if args.mixes and args.domains:
        raise RunError("compare: want --mixes or --domains, not both")
    runs = [load_run(path) for path in args.runs]
    names = labels(runs)
    if args.noise:
        for run, name in zip(runs, names, strict=True):
            print(compare_text.noise_text(name, noise.halves(run), noise.WITHIN))
        if len(runs) > 1:
            print(compare_text.noise_text("all", noise.repeats(runs), noise.BETWEEN))
        return 0
    if args.mixes or args.domains:
        within = compare.mixes if args.mixes else compare.domains
        found = [within(run, name, *(args.mixes or args.domains))
                 for run, name in zip(runs, names, strict=True)]
    elif len(runs) < 2:
        raise RunError("compare: want two runs, or one with --mixes, --domains or --noise")
    else:
        floor = noise.between([runs[0], *map(load_run, args.again)]) if args.again else None
        found = [compare.runs(runs[0], run, names[0], name, floor)
                 for run, name in zip(runs[1:], names[1:], strict=True)]
    print("\n".join(compare_text.text(one) for one in found), end="")
    if args.html:
        args.html.write_text(compare_text.document(found), encoding="utf-8")
    if args.fail_above is None:
        return 0
    worse = [row for one in found for row in one.regressions(args.fail_above / 100)]
    for row in worse:
        print(f"pagemix-report: {row.name.text} is worse by {compare_text.part_words(row.part)}, "
              f"more than {args.fail_above:g} %", file=sys.stderr)
    return 1 if worse else 0


def _verdict(args: argparse.Namespace) -> None:
    runs = [load_run(path) for path in args.runs]
    pairs = tuple((base, other) for base, other in args.pair or verdict.PAIRS)
    names = labels(runs)
    print("\n".join([verdict.text(run, label, pairs)
                     for run, label in zip(runs, names, strict=True)]
                    + ([verdict.across(runs, names, pairs)] if len(runs) > 1 else [])), end="")


def _project(args: argparse.Namespace) -> None:
    if not args.runs:
        sys.stdout.write(published.text())
        return
    if not args.hardware:
        raise RunError(f"project: want --hardware, one of {', '.join(hardware.known())}")
    prices = hardware.load(args.hardware)
    runs = [load_run(path) for path in args.runs]
    print("\n".join(project.text(run, label, prices)
                    for run, label in zip(runs, labels(runs), strict=True)), end="")


def _stages(args: argparse.Namespace) -> None:
    table = stages.published(args.published) if args.published else []
    runs = [load_run(path) for path in args.runs]
    print("\n".join(stages.text(run, label)
                    for run, label in zip(runs, labels(runs), strict=True)), end="")
    if table:
        print(f"\n{stages.published_text(table)}", end="")


def _trace(args: argparse.Namespace) -> None:
    for file in args.files:
        print(f"{file}: {vmtrace.read(file).words}")


def _iotlb(args: argparse.Namespace) -> None:
    try:
        shape = iotlb.Shape(args.entries, args.ways, args.policy)
    except ValueError as error:
        raise RunError(f"iotlb: {error}") from None
    for file in args.files:
        print(f"{file}: {iotlb_replay.read(file, shape).words}")


def _publish(args: argparse.Namespace) -> None:
    from .pages import site

    print(site.publish(args.results, args.out))


def _add(args: argparse.Namespace) -> None:
    print(published_runs.add(args.run, args.results))


def _index(args: argparse.Namespace) -> None:
    print(index.write(args.results))


def _readme(args: argparse.Namespace) -> None:
    from .pages import readme

    print(readme.write(args.results, args.readme))


def main(argv: list[str] | None = None) -> int:
    """Exit code: one of EXIT_CODES."""
    args = parser().parse_args(argv)
    code = 1  # also of one whose reader went away before its end, as head does
    try:
        code = int(args.call(args) or 0)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # flushed again at exit
    except RunError as error:
        print(f"pagemix-report: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # writing the output
        print(f"pagemix-report: {error.filename or 'output'}: {error.strerror or error}",
              file=sys.stderr)
        return 1
    return code
