"""Options common to several verbs: dates, directories, sources, another client."""

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
from plumbline.model.layers.ost import OST
from plumbline.observe.command import SystemRunner
from plumbline.observe.query import complaint, reason_of
from plumbline.store.files import EXPECTATIONS, HISTORY, PLAN, STATE
from plumbline.store.snapshot import load_expectations

_HOUR = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])|24:00")
_MOMENTS = (
    'write for example "2026-11-20 03:12", 2026-11-20T03:12+01:00, or 03:12 for the last such'
)


def parse_date(text: str, option: str) -> datetime:
    """Return a typed date or time; raise UsageError with an example."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"{option} {text!r} is no date; write for example 2026-11-20 or 2026-11-20T14:00"
        ) from error


def parse_span(text: str, option: str, now: float) -> tuple[float, float]:
    """Return begin and end of ``TIME to TIME``, in seconds since the epoch.

    A time of day without a date is the last one that has passed; an end that is not later than the
    begin is on the next day.

    Raises:
        UsageError: the text has another form, or ends before it begins.
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
    """Return a time in the past, in seconds since the epoch; a time of day is the last such time.

    Raises:
        UsageError: the text is no time, or is in the future.
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
    """Return a time in this host's zone; a time of day is on the given day."""
    if not _HOUR.fullmatch(text):
        return parse_date(text, option).replace(tzinfo=None)
    hour, minute = (int(part) for part in text.split(":"))
    midnight = day.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + timedelta(hours=hour, minutes=minute)


def deployed(arguments: argparse.Namespace) -> Expectations:
    """Return the deployed expectations of this node.

    Raises:
        DocumentError: they are damaged or missing; the message names a call that needs none, if the
            verb has one.
    """
    call, remedy = arguments.verb, "deploy the role agent"
    if call == "probe":
        call += f" {arguments.layer if LAYERS[arguments.layer].on_targets else OST.name}"
    if hasattr(arguments, "directory"):
        remedy += f"; without it {_undeployed(call)}"
    return load_expectations(arguments.expectations or EXPECTATIONS, remedy)


def nothing_deployed(arguments: argparse.Namespace) -> bool:
    """Return whether this host has no plan, and none was named."""
    return arguments.expectations == EXPECTATIONS and not os.path.lexists(EXPECTATIONS)


def _undeployed(call: str) -> str:
    """Return what can be done without a plan, with its call."""
    text = (
        f"directories can be compared: plumbline {call} --directory a=/mnt/a --directory b=/mnt/b"
    )
    if call == f"probe {OST.name}":
        return f"a mount can be surveyed: plumbline {call} --mount /scratch, or {text}"
    return text


def named_directories(pairs: Sequence[tuple[str, str]], least: int = 2) -> dict[str, str]:
    """Return the real paths of at least ``least`` directories, by name.

    Raises:
        UsageError: a name is given twice, or there are too few.
    """
    directories: dict[str, str] = {}
    for name, path in pairs:
        if not name.isprintable():
            raise UsageError(f"--directory {name!r}: its name cannot be printed; choose another")
        if name in directories:
            raise UsageError(f"--directory {name} is given twice; name each directory differently")
        directories[name] = real_path(path, "--directory")
        first = next(key for key, real in directories.items() if real == directories[name])
        if first != name:
            raise UsageError(
                f"--directory {first} and {name} are the same folder {directories[name]}; leave "
                "one out"
            )
    if len(directories) < least:
        raise UsageError("--directory is given once; give it twice or more, to have a comparison")
    return directories


def real_path(path: str, option: str) -> str:
    """Return the folder in an option without symbolic links; a dead mount cannot block.

    Raises:
        UsageError: it is no folder, or gives no answer.
    """
    folder = f"{path.rstrip('/')}/"
    completed = SystemRunner()(["realpath", "--canonicalize-existing", "--", folder], 10.0)
    if not completed.ok:
        reason = "it gives no answer" if completed.timed_out else reason_of(completed)
        raise UsageError(
            f"{option} {path}: {reason or complaint(completed)}; name a directory that is there"
        )
    return completed.stdout.rstrip("\n")


def spelled(name: str) -> str:
    """Return the spelling of an option from the name of its value."""
    return f"--{name.replace('_', '-')}"


def refuse_both(arguments: argparse.Namespace) -> None:
    """Raise UsageError if directories are combined with planned targets."""
    if arguments.directory and (arguments.component or arguments.expectations):
        raise UsageError("--directory needs no --component and no --expectations: leave them out")


def asks_for_site(arguments: argparse.Namespace) -> bool:
    """Return whether a whole site is chosen, as on a console that is no node.

    Raises:
        UsageError: an option for it is missing.
    """
    if bool(arguments.plan) is not bool(arguments.history):
        raise UsageError("--plan and --history belong together: give both, or neither")
    own = getattr(arguments, "expectations", EXPECTATIONS) == EXPECTATIONS
    console = all(map(os.path.exists, (PLAN, HISTORY))) and not os.path.exists(EXPECTATIONS)
    if own and console and not arguments.plan:
        arguments.plan, arguments.history = PLAN, HISTORY
    return bool(arguments.plan)


@contextmanager
def until_signalled() -> Iterator[threading.Event]:
    """Yield an event set by SIGTERM and SIGINT, so the current step can finish."""
    ended = threading.Event()
    signals = (signal.SIGTERM, signal.SIGINT)
    handlers = [signal.signal(number, lambda *_: ended.set()) for number in signals]
    try:
        yield ended
    finally:
        for number, handler in zip(signals, handlers):
            signal.signal(number, handler)


def own_expectations(
    arguments: argparse.Namespace, document: Expectations, entries: Sequence[Expectation]
) -> Expectations:
    """Return the document under the name of the measuring host.

    Raises:
        UsageError: it belongs to another client and ``--another-client`` is missing, or its records
            would be mixed with this node's own.
    """
    if not arguments.expectations:
        return document
    here = _own_name(arguments.expectations)
    kinds = ((entry, KINDS.get(str(entry.target.get("kind")))) for entry in entries)
    shared = [entry for entry, kind in kinds if kind and kind.everywhere]
    if not shared or _same_host(document.node, here):
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
        UsageError: another client measures it, or it is retired.
        DocumentError: the expectations do not name it.
    """
    of_clients = LAYERS[layer].one_target and not LAYERS[layer].on_servers
    if not of_clients or any(
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
    """Return the name of this host in the plan, or its hostname if nothing is deployed."""
    deployed = Path(EXPECTATIONS)
    if Path(path) != deployed and deployed.exists():
        return load_expectations(EXPECTATIONS).node
    return gethostname()


def _same_host(node: str, here: str) -> bool:
    return node == here or node.partition(".")[0] == here.partition(".")[0]
