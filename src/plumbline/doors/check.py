"""Print one published verdict as a Nagios plug-in does; every check is this module.

A published file is sealed and has parts, a part has a stage for each time at which its verdict
changes (:mod:`plumbline.model.published`).  The clock chooses the stage; /proc tells whether an
unfinished run hangs.
"""

from __future__ import annotations

import os
import sys
import time

from plumbline.doors.call import (
    SPACE_STALE_S,
    STALE_AFTER_S,
    TIMEOUT_S,
    Refusal,
    fault,
    finish,
    limit,
    number,
    parse,
)
from plumbline.doors.plugin import output, status_line
from plumbline.doors.published_file import published, stage
from plumbline.model.ages import filled, format_duration
from plumbline.model.verdict_files import (
    EXPECTATIONS,
    PATHS,
    SPACE,
    SYMPTOMS,
    VERDICTS,
    file_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Optional

    from plumbline.doors.published_file import Shown


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

        return waiting(layer, path, options, now, limit_s)
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


def space(layer: str, options: dict[str, str], now: float) -> Shown:
    """Return the verdict on the space of a file system that this node looks at."""
    path, name = options.get("--document", SPACE), options.get("--file-system")
    node = options.get("--node", "")
    limit_s = number(options, "--stale-after", "seconds", SPACE_STALE_S, 1e8)
    if not name:
        raise Refusal(f"name a file system with --file-system; see check_{layer} --help")
    if not os.path.lexists(path):
        from plumbline.doors.no_verdict import waiting

        return waiting(layer, path, options, now, limit_s)
    raw = published(path, (layer,))
    if node not in ("", raw["name"]):
        text = f"has the space that {raw['name']} sees, not {node}"
        raise Refusal(f"{path} {text}; look again with: plumbline space --save")
    if name in raw["parts"]:
        return valid(raw, raw["parts"][name], now, limit_s)
    remedy = "deploy the role agent again, then systemctl start plumbline-space"
    raise Refusal(f"{path} says nothing about {name}; {remedy}")


def node(layer: str, options: dict[str, str], now: float) -> Shown:
    """Return the verdict on the probes and the certificates of this node."""
    from plumbline.doors.node_check import judged  # the other checks do not need it

    return judged(layer, options, now)


def main(kind: str) -> NoReturn:
    """Print the verdict of ``check_KIND`` for the arguments of this process, and end it."""
    state, service = "UNKNOWN", kind.upper()

    def late(reason: str) -> NoReturn:
        finish("UNKNOWN", f"{status_line(service, 'UNKNOWN', reason)}\n")

    try:
        options, verbosity = parse(kind, sys.argv[1:])
        if "--help" in options or "--version" in options:
            from plumbline.doors.no_verdict import about

            finish(state, about(kind, help_wanted="--help" in options))
        limit(number(options, "--timeout", "seconds", TIMEOUT_S, 86400), late)
        judges = {"node": node, "symptoms": symptoms, "path": path, "space": space}
        judge = judges.get(kind, component)
        state, sentence, evidence, figures = judge(kind, options, time.time())
        text = output(status_line(service, state, sentence), evidence, figures, verbosity)
    except Refusal as error:
        text = f"{status_line(service, 'UNKNOWN', str(error))}\n"
    # a traceback would go to standard error, and Python's exit code 1 would mean WARNING
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        state, text = "UNKNOWN", f"{status_line(service, 'UNKNOWN', fault(error))}\n"
    finish(state, text)
