"""``plumbline baseline``: capture rates as candidates, compare, accept with a reason, renew."""

from __future__ import annotations

import argparse
import getpass
import os
import time
from datetime import datetime, timezone
from typing import Iterator, Mapping

from plumbline.cli.output import show
from plumbline.doors import baselines as texts
from plumbline.model.errors import DocumentError
from plumbline.model.verdict import State
from plumbline.plan import baseline as baselines
from plumbline.plan import capture as captures
from plumbline.plan.baseline import Candidate, Key, read_baselines
from plumbline.site.documents import read_records
from plumbline.site.inventory import (
    Inventory,
    expectations_of,
    read_document,
    read_inventory,
    revise,
    write_document,
)

_COMMENT = "Written by `plumbline baseline {}`; read it with `plumbline baseline diff`."


def capture(arguments: argparse.Namespace) -> int:
    """Write the candidates file, print its contents, and return 0."""
    inventory = read_inventory(arguments.inventory)
    accepted = read_baselines(inventory.baselines)
    records = read_records(arguments.records)
    captured = captures.capture(records, expectations_of(inventory), arguments.last, accepted)
    if not captured.candidates:
        reasons = ", ".join(f"{count} {reason}" for reason, count in captured.left_out.items())
        raise DocumentError(
            f"no record in {', '.join(arguments.records)} can make a baseline"
            f"{f' ({reasons})' if reasons else ''}; run the probes, then capture again"
        )
    path = arguments.output or inventory.candidates_file
    written = baselines.write_candidates(captured.candidates)
    write_document(path, written, _COMMENT.format("capture"))
    document = {
        "file": str(path),
        "captured": [
            {**key._asdict(), **new.baseline._asdict(), "outlier": new.outlier, "weak": new.weak}
            for key, new in captured.candidates.items()
        ],
        "left_out": dict(captured.left_out),
    }
    lines = [f"left out {count} records {reason}" for reason, count in captured.left_out.items()]
    lines += [
        f"{key}: {candidate.outlier}; it must be accepted by name"
        for key, candidate in captured.candidates.items()
        if candidate.outlier
    ]
    lines += _doubts(captured.candidates)
    lines.append(
        f"{len(captured.candidates)} candidates in {path}; look at `plumbline baseline diff`"
    )
    show(arguments, document, lines, indent=1)
    return 0


def diff(arguments: argparse.Namespace) -> int:
    """Print the old and new baseline of each candidate; return 0."""
    inventory = read_inventory(arguments.inventory)
    candidates = _candidates(inventory, arguments)
    changes = baselines.compare(read_baselines(inventory.baselines), candidates)
    if arguments.sort == "change":
        changes = tuple(baselines.biggest_first(changes))
    show(arguments, changes, texts.change_lines(changes), indent=1)
    return 0


def accept(arguments: argparse.Namespace) -> int:
    """Write the inventory's baselines and print the changed ones; return 0."""
    inventory = read_inventory(arguments.inventory)
    accepted = read_baselines(inventory.baselines)
    candidates = _candidates(inventory, arguments)
    if not arguments.below_floor:
        baselines.refuse_below_floor(candidates, arguments.component)
    by = arguments.by or getpass.getuser()
    merged = baselines.accept(accepted, candidates, arguments.component, by, arguments.reason)
    changed = {
        key: candidate
        for key, candidate in candidates.items()
        if merged.get(key) != accepted.get(key)
    }
    path, file = inventory.baselines_file, {}
    sentences = [f"{path} has all of this already; nothing changed"]
    if changed:
        written = baselines.write_baselines(merged)
        revision = revise(path, written, _COMMENT.format("accept"))
        if not arguments.dry_run:
            revision.write()
        file = {"before": revision.before, "after": revision.after}
        summary = (
            f"{len(changed)} baselines would be accepted in {path}"
            if arguments.dry_run
            else f"{len(changed)} baselines accepted in {path}; review and commit it, then deploy "
            "the role agent"
        )
        sentences = [*_doubts(changed), summary]
    changes = baselines.compare(accepted, changed)
    document = {"file": str(path), "changed": bool(changed), "accepted": changes}
    show(arguments, {**document, "sentences": sentences, **file}, sentences, indent=1)
    return 0


def age(arguments: argparse.Namespace) -> int:
    """Print the baselines to renew; return 1 if there are any, else 0."""
    inventory = read_inventory(arguments.inventory)
    expected = expectations_of(inventory)
    newest = captures.newest_conditions(read_records(arguments.records), expected)
    today = datetime.fromtimestamp(time.time(), timezone.utc).date()
    ages = captures.ages(read_baselines(inventory.baselines), expected, newest, today)
    state = State.WARNING if ages.aged else State.OK
    document = {"state": state.name, "compared": bool(newest), **ages.to_json()}
    show(arguments, document, texts.age_lines(ages, compared=bool(newest)), indent=1)
    return int(state)


def _candidates(inventory: Inventory, arguments: argparse.Namespace) -> Mapping[Key, Candidate]:
    path = arguments.candidates or inventory.candidates_file
    if not os.path.lexists(path):
        raise DocumentError(f"there are no candidates {path}; run `plumbline baseline capture`")
    return baselines.read_candidates(read_document(path, baselines.CANDIDATES))


def _doubts(candidates: Mapping[Key, Candidate]) -> Iterator[str]:
    """Yield a line for each candidate below its floor or too weak to alarm."""
    yield from texts.floor_lines({key: entry.baseline for key, entry in candidates.items()})
    yield from texts.weak_lines(candidate.weak for candidate in candidates.values())
