"""Options that several verbs share: dates, directories, sources, another client."""

from __future__ import annotations

import argparse
import os
import re
import signal
import threading
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from socket import gethostname
from typing import Iterator, Sequence

from plumbline.measure.targets import KINDS
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.observe.command import SystemRunner
from plumbline.observe.query import complaint, reason_of
from plumbline.store.files import EXPECTATIONS, STATE
from plumbline.store.snapshot import load_expectations

_HOUR = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])|24:00")
_MOMENTS = (
    'write for example "2026-11-20 03:12", 2026-11-20T03:12+01:00, or 03:12 for the last such'
)


def parse_date(text: str, option: str) -> datetime:
    """Return a date or time that a person has typed; raise UsageError with an example."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"{option} {text!r} is no date; write for example 2026-11-20 or 2026-11-20T14:00"
        ) from error


def parse_span(text: str, option: str, now: float) -> tuple[float, float]:
    """Return begin and end of ``TIME to TIME``, in seconds since the epoch.

    Hours alone are the last such that have begun; an end that is not later than the begin is on the
    next day.

    Raises:
        UsageError: it is no such time.
    """
    first, to, second = text.partition(" to ")
    first, second = first.strip(), second.strip()
    if not to:
        raise UsageError(f'{option} {text!r} is no time; write for example "02:00 to 03:00"')
    today = datetime.fromtimestamp(now, timezone.utc).astimezone().replace(tzinfo=None)
    begin = _moment(first, option, today)
    if _HOUR.fullmatch(first) and begin > today:
        begin -= timedelta(days=1)
    end = _moment(second, option, begin)
    if _HOUR.fullmatch(second) and end <= begin:
        end += timedelta(days=1)
    if end <= begin:
        raise UsageError(f"{option} {text!r} ends before it begins")
    return begin.timestamp(), end.timestamp()


def parse_moment(text: str, option: str, now: float) -> float:
    """Return a moment that has passed, in seconds since the epoch; hours alone are the last such.

    Raises:
        UsageError: it is no such time, or has not come yet.
    """
    today = datetime.fromtimestamp(now, timezone.utc).astimezone().replace(tzinfo=None)
    try:
        moment = _moment(text.strip(), option, today)
        if _HOUR.fullmatch(text.strip()) and moment > today:
            moment -= timedelta(days=1)
        at = moment.timestamp()
    except (UsageError, ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{option} {text!r} is no time; {_MOMENTS}") from error
    if not 0 < at <= now:
        raise UsageError(f"{option} {text!r} is no time that has passed; {_MOMENTS}")
    return at


def _moment(text: str, option: str, day: datetime) -> datetime:
    """Return a time of this host's zone; hours alone are those of a day."""
    if not _HOUR.fullmatch(text):
        return parse_date(text, option).replace(tzinfo=None)
    hour, minute = (int(part) for part in text.split(":"))
    midnight = day.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + timedelta(hours=hour, minutes=minute)


def deployed(arguments: argparse.Namespace) -> Expectations:
    """Return what this node measures by its plan.

    Raises:
        DocumentError: that is damaged, or missing; the sentence says what works without it.
    """
    path = arguments.expectations or EXPECTATIONS
    if not os.path.lexists(path):
        raise DocumentError(
            f"expectations {path}: no such file; deploy the role agent; without it directories can "
            "be compared: plumbline probe ost --directory a=/mnt/a --directory b=/mnt/b"
        )
    return load_expectations(path)


def named_directories(words: Sequence[str], least: int = 2) -> dict[str, str]:
    """Return real paths by name, ``least`` or more.

    Raises:
        UsageError: something is not NAME=PATH, or there twice, or too few are given.
    """
    directories: dict[str, str] = {}
    for text in words:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise UsageError(f"--directory {text!r} is not NAME=PATH; write for example a=/mnt/a")
        if not name.isprintable():
            raise UsageError(f"--directory {text!r}: its name cannot be printed; choose another")
        if name in directories:
            raise UsageError(f"--directory {name} is given twice; name each directory differently")
        directories[name] = _real(path)
        same = next(other for other, real in directories.items() if real == directories[name])
        if same != name:
            raise UsageError(
                f"--directory {same} and {name} are the same folder {directories[name]}; leave "
                "one out"
            )
    if len(directories) < least:
        raise UsageError("--directory is given once; give it twice or more, to have a comparison")
    return directories


def _real(path: str) -> str:
    """Return the path without links; a mount that does not answer cannot block here."""
    # the working directory is that of the caller
    folder = f"{path.rstrip('/')}/"
    completed = SystemRunner()(["realpath", "--canonicalize-existing", "--", folder], 10.0)
    if not completed.ok:
        reason = "it gives no answer" if completed.timed_out else reason_of(completed)
        raise UsageError(
            f"--directory {path}: {reason or complaint(completed)}; name a directory that is there"
        )
    return completed.stdout.rstrip("\n")


def spelled(name: str) -> str:
    """Return an option as a person writes it, from the name of its value."""
    return f"--{name.replace('_', '-')}"


def refuse_both(arguments: argparse.Namespace) -> None:
    """Raise UsageError for directories together with what an inventory says."""
    if arguments.directory and (arguments.component or arguments.expectations):
        raise UsageError("--directory needs no --component and no --expectations: leave them out")


def asks_for_site(arguments: argparse.Namespace) -> bool:
    """Return whether a whole site is meant; raise UsageError for half of what that needs."""
    if bool(arguments.plan) is not bool(arguments.history):
        raise UsageError("--plan and --history belong together: give both, or neither")
    return bool(arguments.plan)


@contextmanager
def until_signalled() -> Iterator[threading.Event]:
    """Give an event that SIGTERM and SIGINT set, so that what was begun is finished."""
    ended = threading.Event()
    signals = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: ended.set()) for number in signals]
    try:
        yield ended
    finally:
        for number, handler in zip(signals, before):
            signal.signal(number, handler)


def own_expectations(
    arguments: argparse.Namespace, document: Expectations, entries: Sequence[Expectation]
) -> Expectations:
    """Return the document under the name of the host that measures.

    Raises:
        UsageError: it is another client's and nobody has asked for that, or the records would be
            mixed with this node's own.
    """
    if not arguments.expectations:
        return document
    here = _own_name(arguments.expectations)
    everywhere = {kind.name for kind in KINDS.values() if kind.everywhere}
    shared = [
        expectation for expectation in entries if expectation.target.get("kind") in everywhere
    ]
    if not shared or _same(document.node, here):
        return document
    if not arguments.another_client:
        raise UsageError(
            f"{shared[0].component} is measured by {document.node}, and this is {here}: two "
            f"clients on one target halve each other's rates; run it on {document.node}, or, while "
            "nothing else measures it, plumbline probe ost --another-client --state DIR"
        )
    if Path(arguments.state) == Path(STATE):
        raise UsageError(
            f"the records of {document.node}'s targets belong into a folder of their own; "
            "name one with --state"
        )
    return document._replace(node=here)


def refuse_elsewhere(document: Expectations, layer: str, name: str) -> None:
    """Refuse a target that this node does not measure.

    Raises:
        UsageError: another client measures it, or nobody any longer.
        DocumentError: this node knows nothing of it.
    """
    if not LAYERS[layer].per_target or any(
        (entry.get("layer"), entry.get("component")) == (layer, name) for entry in document.entries
    ):
        return
    if name not in document.elsewhere:
        raise DocumentError(
            f"expectations of {document.node} have no {name} in layer {layer}; another client may "
            "measure it (plumbline plan -i INVENTORY), else add it to the topology and deploy the "
            "role agent again"
        )
    owner = document.elsewhere[name]
    if not owner:
        raise UsageError(f"{name} is retired; take it out of retired in the topology, and deploy")
    raise UsageError(
        f"{name} is measured by {owner}, and this is {document.node}: two clients on one target "
        f"halve each other's rates; run it on {owner}, or see --another-client"
    )


def _own_name(path: str) -> str:
    """Return the name by which the plan knows this host; its own where nothing is deployed."""
    deployed = Path(EXPECTATIONS)
    if Path(path) != deployed and deployed.exists():
        return load_expectations(EXPECTATIONS).node
    return gethostname()


def _same(node: str, here: str) -> bool:
    return node == here or node.partition(".")[0] == here.partition(".")[0]
