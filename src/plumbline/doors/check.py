"""Print one published verdict as a Nagios plug-in does; every check is this module.

A published file is sealed and has parts, a part has a stage for each time at which its verdict
changes (:mod:`plumbline.model.published`).  The clock chooses the stage; /proc tells whether an
unfinished run hangs.  A check starts every few minutes on each host, so it reads a good file with
the standard library alone; :mod:`plumbline.doors.no_verdict` explains every other file.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from binascii import crc32

from plumbline.doors.call import TIMEOUT_S, Refusal, fault, finish, limit, number, parse
from plumbline.doors.plugin import output, status_line
from plumbline.model.ages import OPEN, filled, format_duration, seconds_since
from plumbline.model.verdict_files import SCHEMA, file_name, stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Optional

    Shown = tuple[str, str, list[str], list[Any]]
    """State, sentence, evidence, and the cells of each figure."""

EXPECTATIONS = "/etc/plumbline/expectations.json"
VERDICTS = "/var/lib/plumbline/verdicts"
SYMPTOMS = "/var/lib/plumbline/symptom-verdicts.json"
PATHS = "/var/lib/plumbline-console/paths.json"
STALE_AFTER_S = 3600.0
MAX_BYTES = 16 << 20
"""Limit of a file: a group of 10,000 targets has 10 MB."""


class _Json:
    """Settings of a JSON scanner: those of json.JSONDecoder."""

    strict, parse_float, parse_int, parse_constant = True, float, int, float
    object_hook = object_pairs_hook = None


SETTINGS: Any = _Json


def read(path: str) -> bytes:
    """Return the content of a file that only its rightful writers can have written, else nothing.

    These are root, the caller, and the owner of the folder, who could replace the file anyway.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb", 0) as file:
        status, folder = os.fstat(descriptor), os.stat(os.path.dirname(path) or ".")
        trusted = stat.S_ISREG(status.st_mode) and not status.st_mode & stat.S_IWOTH
        trusted = trusted and status.st_uid in (0, os.geteuid(), folder.st_uid)
        return file.readall() if trusted and status.st_size <= MAX_BYTES else b""


def published(path: str, subject: tuple[Any, ...], expectations: str = "") -> Any:
    """Return the published document on a subject; the layer alone may name the subject.

    Raises:
        Refusal: there is none, with the remedy.
    """
    try:
        # json itself loads re and enum, which take half as long as the start of Python
        from _json import make_scanner

        data = read(path)
        body = memoryview(data.rstrip(b"\r\n"))[19:]
        if data[:19] == b'{"crc32":"%08x"' % crc32(body):
            raw = make_scanner(SETTINGS)(data.decode(), 0)[0]
            same = (raw["layer"], raw["name"], raw["group"])[: len(subject)] == subject
            stamped = not expectations or raw["stamp"] == stamp(os.stat(expectations))
            if raw["schema"] == SCHEMA and same and stamped:
                return raw
    except (ImportError, AttributeError, TypeError):
        pass  # a Python whose json is made of something else
    except (OSError, KeyError, ValueError, StopIteration):
        pass  # explained below
    from plumbline.doors.no_verdict import explained

    return explained(path, subject, expectations)


def stage(part: Any, now: float) -> tuple[Shown, bool]:
    """Return a part of a document at a time, and whether one of its runs hangs."""
    current = [later for later in part["stages"] if later[0] <= max(0, now)][-1]
    _, state, _, sentence, lines, figures = current
    hanging = remark = ""
    for interrupted, process, hangs_at, state_then, text, if_interrupted in part["running"]:
        from plumbline.measure.process import is_alive  # hardly ever needed

        if interrupted or (process and not is_alive(process)):
            remark = remark or if_interrupted
        elif now > hangs_at and not hanging:
            state, hanging = state_then, filled(text, now)
    for figure in figures:
        if figure[2:3] == [OPEN]:
            figure[1:3] = seconds_since(figure[1], now)
    evidence = [filled(part["lines"][line], now) for line in lines]
    return (state, (hanging or filled(sentence, now)) + remark, evidence, figures), bool(hanging)


def valid(raw: Any, part: Any, now: float, limit_s: Optional[float] = None) -> Shown:
    """Return a part of a document: UNKNOWN if it is from the future, or older than the limit."""
    shown, hangs = stage(part, now)
    age_s = now - raw["judged_at"]
    if hangs or (-raw["ahead_s"] <= age_s and (limit_s is None or age_s <= limit_s)):
        return shown
    text = part["title"] + filled(raw["ahead" if age_s < 0 else "stale"], now)
    if limit_s is None:
        return "UNKNOWN", text, shown[2], shown[3]
    return "UNKNOWN", text.replace("{limit}", format_duration(limit_s)), [], []


def component(layer: str, options: dict[str, str], now: float) -> Shown:
    """Return the verdict on a component or a group that this node measures."""
    name, group = options.get("--component", ""), options.get("--group", "")
    if bool(name) is bool(group):
        raise Refusal(f"name either --component or --group; see check_{layer} --help")
    subject = layer, name or group, bool(group)
    path = f"{options.get('--verdicts', VERDICTS)}/{file_name(subject)}"
    raw = published(path, subject, options.get("--expectations", EXPECTATIONS))
    return valid(raw, raw["parts"][""], now)


def symptoms(layer: str, options: dict[str, str], now: float) -> Shown:
    """Return the verdict on a kind of this node's parts, or on whether the node is looked at."""
    path, kind = options.get("--document", SYMPTOMS), options.get("--kind", "")
    node = options.get("--node", "")
    limit_s = number(options, "--stale-after", "seconds", STALE_AFTER_S, 1e8)
    if not kind and not os.path.lexists(path):
        from plumbline.doors.no_verdict import waiting

        return waiting(path, options, now, limit_s)
    raw = published(path, (layer,))
    if kind not in raw["parts"] or options.get("--kind") == "":
        kinds = ", ".join(filter(None, raw["parts"]))
        raise Refusal(f"--kind {kind!r} is unknown; write one of {kinds}")
    if node not in ("", raw["name"]):
        text = f"has the symptoms of {raw['name']}, not of {node}"
        raise Refusal(f"{path} {text}; look again with: plumbline symptoms --save")
    return valid(raw, raw["parts"][kind], now, limit_s)


def path(layer: str, options: dict[str, str], now: float) -> Shown:
    """Return the verdict on the suspects of one service, or on the suspect search itself."""
    document, service = options.get("--document", PATHS), options.get("--service")
    if not service:
        raise Refusal(f"name a service with --service; see check_{layer} --help")
    raw = published(document, (layer,))
    if service in raw["parts"]:
        return valid(raw, raw["parts"][service], now, raw["stale_after_s"])
    remedy = "deploy the roles nagios and console again"
    raise Refusal(f"{document} says nothing about {service}; {remedy}")


def node(layer: str, options: dict[str, str], now: float) -> Shown:
    """Return the verdict on the probes and the certificates of this node."""
    from plumbline.doors.node_check import judged  # the other checks do not need it

    return judged(layer, options, now)


def main(kind: str) -> NoReturn:
    """Print the verdict of ``check_KIND`` for the arguments of this process, and end it."""
    state, service = "UNKNOWN", kind.upper()
    try:
        options, verbosity = parse(kind, sys.argv[1:])
        if "--help" in options or "--version" in options:
            from plumbline.doors.no_verdict import about

            finish(state, about(kind, help_wanted="--help" in options))
        limit(number(options, "--timeout", "seconds", TIMEOUT_S, 86400))
        judge = {"node": node, "symptoms": symptoms, "path": path}.get(kind, component)
        state, sentence, evidence, figures = judge(kind, options, time.time())
        limit(0)
        text = output(status_line(service, state, sentence), evidence, figures, verbosity)
    except Refusal as error:
        text = f"{status_line(service, 'UNKNOWN', str(error))}\n"
    # a traceback would go to standard error, and Python's exit code 1 would mean WARNING
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        state, text = "UNKNOWN", f"{status_line(service, 'UNKNOWN', fault(error))}\n"
    finish(state, text)
