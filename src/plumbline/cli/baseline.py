"""``plumbline baseline``: capture what components give, compare, and accept it for a reason."""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Sequence

from plumbline.errors import DocumentError, UsageError
from plumbline.model.record import Record
from plumbline.units import format_rate

if TYPE_CHECKING:
    from plumbline.baseline.capture import Captured, Expected
    from plumbline.baseline.compare import Change
    from plumbline.baseline.document import Candidate, Key
    from plumbline.cli.inventory import Inventory

_COMMENT = "Written by `plumbline baseline {}`; read it with `plumbline baseline diff`."


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser("baseline", help="keep what components have given")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _add_capture(actions)
    _add_diff(actions)
    _add_accept(actions)


def _add_capture(actions: Any) -> None:
    parser = _action(actions, "capture", "make candidates of records", run_capture)
    parser.add_argument(
        "--records",
        nargs="+",
        required=True,
        metavar="FILE",
        help="JSON lines as `plumbline history --json` prints them; - is standard input",
    )
    parser.add_argument("--last", type=int, default=12, help="newest runs that count (12)")
    parser.add_argument("--output", type=Path, help="candidates file (hidden, in the inventory)")


def _add_diff(actions: Any) -> None:
    parser = _action(actions, "diff", "set candidates beside accepted baselines", run_diff)
    parser.add_argument("--candidates", type=Path, help="what capture wrote with --output")


def _add_accept(actions: Any) -> None:
    parser = _action(actions, "accept", "make candidates the reference", run_accept)
    parser.add_argument("--candidates", type=Path, help="what capture wrote with --output")
    parser.add_argument("--reason", required=True, help="why this is the reference from now on")
    parser.add_argument("--by", default="", help="who accepts (the login name)")
    parser.add_argument(
        "--component", nargs="+", default=[], metavar="NAME", help="these alone, outliers too"
    )


def _action(actions: Any, name: str, summary: str, run: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, help=summary)
    parser.add_argument("-i", "--inventory", required=True, help="folder of the inventory")
    parser.add_argument("--json", action="store_true", help="print the outcome for programs")
    parser.set_defaults(run=run)
    return parser


def run_capture(arguments: argparse.Namespace) -> int:
    """Write the candidates file and say what went into it; return 0."""
    from plumbline.baseline.capture import capture
    from plumbline.baseline.document import write_candidates
    from plumbline.cli.inventory import read_inventory, write_document

    if arguments.last < 1:
        raise UsageError(f"--last {arguments.last} leaves no run; give 1 or more")
    inventory = read_inventory(arguments.inventory)
    captured = capture(_records(arguments.records), _expected(inventory), arguments.last)
    if not captured.candidates:
        raise DocumentError(
            f"no record in {', '.join(arguments.records)} can make a baseline"
            f"{_because(captured.left_out)}; run the probes, then capture again"
        )
    path = arguments.output or inventory.candidates_file
    write_document(path, write_candidates(captured.candidates), _COMMENT.format("capture"))
    if arguments.json:
        _print_json({"file": str(path), **_captured(captured)})
        return 0
    for reason, count in captured.left_out.items():
        print(f"left out {count} records {reason}")
    for key, candidate in captured.candidates.items():
        if candidate.outlier:
            print(f"{key}: {candidate.outlier}; it must be accepted by name")
    print(f"{len(captured.candidates)} candidates in {path}; look at `plumbline baseline diff`")
    return 0


def run_diff(arguments: argparse.Namespace) -> int:
    """Print old and new of each candidate; return 0."""
    from plumbline.baseline.compare import compare
    from plumbline.baseline.document import read_baselines
    from plumbline.cli.inventory import read_inventory

    inventory = read_inventory(arguments.inventory)
    candidates = _candidates(inventory, arguments)
    changes = compare(read_baselines(inventory.baselines), candidates)
    if arguments.json:
        _print_json([change.to_json() for change in changes])
        return 0
    from plumbline.output.table import render

    headers = ("layer", "component", "operation", "old", "new", "change", "spread", "runs", "note")
    print(render(headers, [_row(change) for change in changes]))
    return 0


def run_accept(arguments: argparse.Namespace) -> int:
    """Write the inventory's baselines and say which changed; return 0."""
    from plumbline.baseline.acceptance import accept
    from plumbline.baseline.compare import compare
    from plumbline.baseline.document import read_baselines, write_baselines
    from plumbline.cli.inventory import read_inventory, write_document

    inventory = read_inventory(arguments.inventory)
    accepted = read_baselines(inventory.baselines)
    candidates = _candidates(inventory, arguments)
    merged = accept(
        accepted,
        candidates,
        arguments.component,
        arguments.by or getpass.getuser(),
        arguments.reason,
    )
    taken = {k: one for k, one in candidates.items() if merged.get(k) != accepted.get(k)}
    changes = compare(accepted, taken)
    write_document(inventory.baselines_file, write_baselines(merged), _COMMENT.format("accept"))
    if arguments.json:
        accepted_now = [change.to_json() for change in changes]
        _print_json({"file": str(inventory.baselines_file), "accepted": accepted_now})
        return 0
    print(
        f"{len(changes)} baselines accepted in {inventory.baselines_file}; "
        "review and commit it, then deploy the role agent"
    )
    return 0


def _candidates(inventory: Inventory, arguments: argparse.Namespace) -> Mapping[Key, Candidate]:
    from plumbline.baseline.document import CANDIDATES, read_candidates
    from plumbline.cli.inventory import read_document

    path = arguments.candidates or inventory.candidates_file
    if not path.exists():
        raise DocumentError(f"there are no candidates {path}; run `plumbline baseline capture`")
    return read_candidates(read_document(path, CANDIDATES))


def _expected(inventory: Inventory) -> Expected:
    from plumbline.cli.inventory import plan_of

    plan = plan_of(inventory)
    return {
        (entry.layer, entry.component): entry
        for entries in plan.expectations.values()
        for entry in entries
    }


def _records(files: Sequence[str]) -> Iterator[Record]:
    """Yield the records of all files; raise DocumentError naming file and line."""
    for name in files:
        if name == "-":
            yield from _parse_lines("standard input", sys.stdin)
            continue
        try:
            with open(name, encoding="utf-8") as stream:
                yield from _parse_lines(name, stream)
        except (OSError, UnicodeDecodeError) as error:
            raise DocumentError(f"records {name} cannot be read: {error}") from error


def _parse_lines(name: str, lines: Iterable[str]) -> Iterator[Record]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield Record.from_json(json.loads(line))
        except (ValueError, DocumentError) as error:
            raise DocumentError(
                f"{name} line {number} is no record: {error}; "
                "write the file with `plumbline history --json`"
            ) from error


def _captured(captured: Captured) -> dict[str, Any]:
    return {
        "captured": [
            {**key._asdict(), **candidate.baseline._asdict(), "outlier": candidate.outlier}
            for key, candidate in captured.candidates.items()
        ],
        "left_out": dict(captured.left_out),
    }


def _because(left_out: Mapping[str, int]) -> str:
    said = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
    return f" ({said})" if said else ""


def _row(change: Change) -> tuple[str, ...]:
    key, new = change.key, change.new
    together = " together" if key.scenario == "together" else ""
    return (
        key.layer,
        key.component,
        key.operation + together,
        format_rate(change.old.median_Bps) if change.old else "none",
        format_rate(new.median_Bps),
        f"{100 * (change.ratio - 1):+.1f} %" if change.ratio else "new",
        f"{100 * new.spread:.1f} %",
        str(new.runs),
        "; ".join([*change.conditions, *([change.outlier] if change.outlier else [])]),
    )


def _print_json(document: object) -> None:
    print(json.dumps(document, indent=1, allow_nan=False))
