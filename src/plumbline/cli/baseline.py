"""``plumbline baseline``: capture what components give, compare, accept for a reason, renew."""

from __future__ import annotations

import argparse
import getpass
import json
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Mapping

from plumbline.cli.options import common, option
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.verdict import State
from plumbline.site.documents import read_records

if TYPE_CHECKING:
    from plumbline.plan.baseline import Candidate, Key
    from plumbline.plan.capture import Captured
    from plumbline.site.inventory import Inventory

_COMMENT = "Written by `plumbline baseline {}`; read it with `plumbline baseline diff`."

_EXAMPLES = {
    "capture": " --records history.jsonl",
    "diff": "",
    "accept": ' --reason "new disks in oss03"',
    "age": "",
}
"""Words behind the inventory in the example of each action."""


HELP = "capture, compare and accept baselines"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _add_capture(actions)
    _add_diff(actions)
    _add_accept(actions)
    _add_age(actions)


def _add_capture(actions: Any) -> None:
    parser = _action(actions, "capture", "make candidates of records", run_capture)
    _take_records(parser, required=True)
    option(parser, "--last N", "number of newest runs", type=int, default=12)
    option(parser, "--output FILE", "candidates file (default: in the inventory)", type=Path)


def _add_diff(actions: Any) -> None:
    parser = _action(actions, "diff", "set candidates beside accepted baselines", run_diff)
    option(parser, "--candidates FILE", "output of capture (default: in the inventory)", type=Path)
    option(
        parser,
        "--sort",
        "outliers and biggest changes first, or by name",
        choices=("change", "component"),
        default="change",
    )


def _add_accept(actions: Any) -> None:
    parser = _action(actions, "accept", "make candidates the reference", run_accept)
    option(parser, "--candidates FILE", "output of capture (default: in the inventory)", type=Path)
    option(parser, "--reason TEXT", "reason for the new baselines", required=True)
    option(parser, "--by NAME", "person who accepts (default: login name)", default="")
    option(parser, "--component NAME", "only these, also outliers", nargs="+", default=[])
    option(parser, "--below-floor", "accept rates below min_efficiency or goal of the policy too")
    option(parser, "--dry-run", "show what would be accepted")


def _add_age(actions: Any) -> None:
    parser = _action(actions, "age", "list the baselines that are to be renewed", run_age)
    parser.description = (
        "List the baselines that are older than max_age of the policy, taken under other "
        "conditions than the newest records show, or of nothing that is measured. Ends with 0 "
        "when all hold, with 1 when some are to be renewed."
    )
    _take_records(parser, required=False)


def _take_records(parser: argparse.ArgumentParser, required: bool) -> None:
    option(
        parser,
        "--records FILE",
        "output of plumbline history --json; - is stdin",
        nargs="+",
        required=required,
        default=[],
    )


def _action(actions: Any, name: str, summary: str, run: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"For example: plumbline baseline {name} -i inventories/mysite{_EXAMPLES[name]}",
    )
    common(parser, "--inventory", "--json")
    parser.set_defaults(run=run)
    return parser


def run_capture(arguments: argparse.Namespace) -> int:
    """Write the candidates file and say what went into it; return 0."""
    from plumbline.plan.baseline import read_baselines, write_candidates
    from plumbline.plan.capture import capture
    from plumbline.site.inventory import expectations_of, read_inventory
    from plumbline.site.yaml_values import write_document

    if arguments.last < 1:
        raise UsageError(f"--last {arguments.last} leaves no run; give 1 or more")
    inventory = read_inventory(arguments.inventory)
    accepted = read_baselines(inventory.baselines)
    records = read_records(arguments.records)
    captured = capture(records, expectations_of(inventory), arguments.last, accepted)
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
    for line in _doubts(captured.candidates):
        print(line)
    print(f"{len(captured.candidates)} candidates in {path}; look at `plumbline baseline diff`")
    return 0


def run_diff(arguments: argparse.Namespace) -> int:
    """Print old and new of each candidate; return 0."""
    from plumbline.plan.baseline import biggest_first, compare, read_baselines
    from plumbline.site.inventory import read_inventory

    inventory = read_inventory(arguments.inventory)
    candidates = _candidates(inventory, arguments)
    changes = compare(read_baselines(inventory.baselines), candidates)
    ordered = changes if arguments.sort == "component" else biggest_first(changes)
    if arguments.json:
        _print_json([change.to_json() for change in ordered])
        return 0
    from plumbline.doors.baselines import changes_text

    print(changes_text(ordered))
    return 0


def run_accept(arguments: argparse.Namespace) -> int:
    """Write the inventory's baselines and say which changed; return 0."""
    from plumbline.plan.baseline import (
        accept,
        compare,
        read_baselines,
        refuse_below_floor,
        write_baselines,
    )
    from plumbline.site.inventory import read_inventory
    from plumbline.site.yaml_values import revise

    inventory = read_inventory(arguments.inventory)
    accepted = read_baselines(inventory.baselines)
    candidates = _candidates(inventory, arguments)
    if not arguments.below_floor:
        refuse_below_floor(candidates, arguments.component)
    by = arguments.by or getpass.getuser()
    merged = accept(accepted, candidates, arguments.component, by, arguments.reason)
    taken = {
        k: candidate for k, candidate in candidates.items() if merged.get(k) != accepted.get(k)
    }
    sentences, file = [f"{inventory.baselines_file} has all of this already; nothing changed"], {}
    if taken:
        comment = _COMMENT.format("accept")
        revision = revise(inventory.baselines_file, write_baselines(merged), comment)
        if not arguments.dry_run:
            revision.write()
        file = {"before": revision.before, "after": revision.after}
        sentences = list(_accepted(taken, str(inventory.baselines_file), arguments.dry_run))
    if arguments.json:
        _print_json(
            {
                "file": str(inventory.baselines_file),
                "changed": bool(taken),
                "accepted": [change.to_json() for change in compare(accepted, taken)],
                "sentences": sentences,
                **file,
            }
        )
    else:
        print("\n".join(sentences))
    return 0


def _accepted(taken: Mapping[Key, Candidate], file: str, dry: bool) -> Iterator[str]:
    """Yield what a person should know of baselines that are, or would be, accepted."""
    yield from _doubts(taken)
    if dry:
        yield f"{len(taken)} baselines would be accepted in {file}"
        return
    yield (
        f"{len(taken)} baselines accepted in {file}; review and commit it, then deploy the role "
        "agent"
    )


def run_age(arguments: argparse.Namespace) -> int:
    """Print which baselines are to be renewed; return 1 when there are some, else 0."""
    from plumbline.doors.baselines import ages_text
    from plumbline.plan.baseline import read_baselines
    from plumbline.plan.capture import ages, newest_conditions
    from plumbline.site.inventory import expectations_of, read_inventory

    inventory = read_inventory(arguments.inventory)
    expected = expectations_of(inventory)
    newest = newest_conditions(read_records(arguments.records), expected)
    today = datetime.fromtimestamp(time.time(), timezone.utc).date()
    found = ages(read_baselines(inventory.baselines), expected, newest, today)
    state = State.WARNING if found.aged else State.OK
    if arguments.json:
        _print_json({"state": state.name, "compared": bool(newest), **found.to_json()})
    else:
        print(ages_text(found, compared=bool(newest)))
    return int(state)


def _candidates(inventory: Inventory, arguments: argparse.Namespace) -> Mapping[Key, Candidate]:
    from plumbline.plan.baseline import CANDIDATES, read_candidates
    from plumbline.site.inventory import read_document

    path = arguments.candidates or inventory.candidates_file
    if not path.exists():
        raise DocumentError(f"there are no candidates {path}; run `plumbline baseline capture`")
    return read_candidates(read_document(path, CANDIDATES))


def _captured(captured: Captured) -> dict[str, Any]:
    return {
        "captured": [
            {
                **key._asdict(),
                **candidate.baseline._asdict(),
                "outlier": candidate.outlier,
                "weak": candidate.weak,
            }
            for key, candidate in captured.candidates.items()
        ],
        "left_out": dict(captured.left_out),
    }


def _because(left_out: Mapping[str, int]) -> str:
    said = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
    return f" ({said})" if said else ""


def _doubts(candidates: Mapping[Key, Candidate]) -> Iterator[str]:
    """Yield the candidates below their floor, and those too weak to alarm."""
    from plumbline.doors.baselines import floor_lines, weak_lines

    yield from floor_lines({key: candidate.baseline for key, candidate in candidates.items()})
    yield from weak_lines(candidate.weak for candidate in candidates.values())


def _print_json(document: object) -> None:
    print(json.dumps(document, indent=1, allow_nan=False))
