"""Answers of a check that has no verdict to show: help, version, and what is wrong with a file.

Checks load it only then, so it uses the whole package.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Any, Iterable, Iterator, Mapping, Optional

from plumbline import __version__
from plumbline.doors.call import (
    CERTIFICATES,
    RENEW_DAYS,
    SPACE_STALE_S,
    STALE_AFTER_S,
    TIMEOUT_S,
    Refusal,
)
from plumbline.model.ages import format_duration
from plumbline.model.codec import FORMS
from plumbline.model.errors import DocumentError, PlumblineError
from plumbline.model.layers import LAYERS
from plumbline.model.published import Unrecorded, refuse_damaged
from plumbline.model.space import SpaceReport
from plumbline.model.symptom import KINDS, REMEDY, title
from plumbline.model.verdict_files import (
    EXPECTATIONS,
    MAX_BYTES,
    PATHS,
    SPACE,
    SYMPTOMS,
    VERDICTS,
)
from plumbline.store import verdicts as store
from plumbline.store.files import COMMANDS, load, read_bytes
from plumbline.store.snapshot import load_expectations

_DOCUMENTS = {
    "symptoms": ("report of symptoms", REMEDY),
    "path": (store.PATHS_NOUN, store.PATHS_REMEDY),
    "space": (FORMS[SpaceReport].noun, FORMS[SpaceReport].remedy),
}
"""Nouns and remedies of documents, by layer."""

_END = """\
  -V, --version         show the version
  -h, --help            show this help

Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.  """

_COMPONENT = (
    """\
{program} {version}: show the verdict on one component that this node measures

usage: {program} (--component NAME | --group NAME) [options]

  --component NAME      the component
  --group NAME          a whole group of peers instead; a host has none
  -t, --timeout SECONDS UNKNOWN when it takes longer, default {timeout:g}
  -v, --verbose         show the evidence; up to three times
  --expectations FILE   default {expectations}
  --verdicts FOLDER     default {verdicts}
"""
    + _END
    + """It reads the verdict that the
node has written, when the expectations were replaced, and of a run that has not ended
whether its process is there (/proc).  Levels are those of the policy."""
)
_HELP = {
    "node": """\
{program} {version}: show whether the probes of this node run

usage: {program} [options]

  -t, --timeout SECONDS UNKNOWN when it takes longer, default {timeout:g}
  -v, --verbose         show each layer; twice, each operation without a rate
  --expectations FILE   default {expectations}
  --verdicts FOLDER     default {verdicts}
  --certificates FOLDER those of NRPE, if there are any; default {certificates}
  --renew-days DAYS     WARNING so long before one ends; default {days:g}
"""
    + _END
    + """It reads the verdict that the
node has written, when the expectations were replaced, the note of a run that could
not be recorded, and of a run that has not ended whether its process is there (/proc).""",
    "symptoms": """\
{program} {version}: show signs of faults in hardware and kernel of this node

usage: {program} [--kind KIND] [options]

  -k, --kind KIND       one of {kinds};
                        without it: whether this node is looked at at all
  --node NAME           the node whose symptoms these must be, default any
  --stale-after SECONDS UNKNOWN when the last look is older, default {stale:g}
  -t, --timeout SECONDS UNKNOWN when it takes longer, default {timeout:g}
  -v, --verbose         show each symptom, and what was looked at
  --document FILE       default {symptoms}
  --commands FILE       as old as the deployment: a node without a look may wait for
                        its first one so long, default {commands}
"""
    + _END
    + "It reads the document and nothing else.",
    "space": """\
{program} {version}: show how full a file system is, and when its targets are full

usage: {program} --file-system NAME [options]

  --file-system NAME    the file system, as in the topology
  --node NAME           the node whose look this must be, default any
  --stale-after SECONDS UNKNOWN when the last look is older, default {hours_old:g}
  -t, --timeout SECONDS UNKNOWN when it takes longer, default {timeout:g}
  -v, --verbose         show each target
  --document FILE       default {space}
  --expectations FILE   as old as the deployment: a node without a look may wait for
                        its first one so long, default {expectations}
"""
    + _END
    + "It reads the document and nothing else.  Levels are those of the policy.",
    "path": """\
{program} {version}: show the suspects of a file system or a shared component

usage: {program} --service NAME [options]

  -s, --service NAME    kind and name, for example 'file system scratch' or 'server oss2';
                        'collection': whether suspects are looked for at all
  -t, --timeout SECONDS UNKNOWN when it takes longer, default {timeout:g}
  -v, --verbose         show the evidence
  --document FILE       default {paths}
"""
    + _END
    + "It reads the document and nothing else.",
}


def about(kind: str, *, help_wanted: bool) -> str:
    """Return the help of ``check_KIND``, or its version."""
    program = f"check_{kind}"
    if not help_wanted:
        return f"{program} {__version__} (plumbline)\n"
    text = _HELP.get(kind, _COMPONENT).format(
        program=program,
        version=__version__,
        timeout=TIMEOUT_S,
        expectations=EXPECTATIONS,
        verdicts=VERDICTS,
        certificates=CERTIFICATES,
        days=RENEW_DAYS,
        kinds=", ".join(KINDS),
        stale=STALE_AFTER_S,
        symptoms=SYMPTOMS,
        space=SPACE,
        hours_old=SPACE_STALE_S,
        commands=COMMANDS,
        paths=PATHS,
    )
    return f"{text}\n"


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn the errors of the package into Refusal."""
    try:
        yield
    except PlumblineError as error:
        raise Refusal(str(error)) from error


def explained(path: str, subject: tuple[Any, ...], expectations: str) -> Any:
    """Return the document of a file without a checksum; raise Refusal for all others."""
    with _refusing():
        noun, remedy = _DOCUMENTS.get(subject[0], ("verdict", store.VERDICT_REMEDY))
        try:
            raw = load(path, noun, remedy, MAX_BYTES)
        except DocumentError as error:
            if expectations and isinstance(error.__cause__, FileNotFoundError):
                _refuse_unexpected(expectations, *subject)
            raise
        refuse_damaged(raw, f"{noun} {path}", remedy)
        if (raw["layer"], raw["name"], raw["group"])[: len(subject)] != subject:
            raise Refusal(f"{noun} {path} is of {raw['layer']} {raw['name']}; {remedy}")
        if expectations and raw["stamp"] != store.stamp_of(expectations):
            text = f"was judged by other expectations than {expectations}"
            raise Refusal(f"{noun} {path} {text}; {remedy}")
        return raw


def _refuse_unexpected(
    expectations: str, layer: str, name: Optional[str] = None, is_group: bool = False
) -> None:
    """Raise an error if nothing is planned on this node, or not this component or group."""
    if is_group and LAYERS[layer].site_wide:
        raise Refusal("--group: a node measures one host, its own; name it with --component")
    node = load_expectations(expectations)
    if name is None:
        return
    if not is_group:
        node.find(layer, name)
    elif not LAYERS[layer].whole:
        node.members(layer, name)
    elif not any(
        expectation.parallel and expectation.component == name for expectation in node.find(layer)
    ):
        raise Refusal(
            f"expectations have no file system {name} in layer {layer}; name its first client in "
            "the policy and deploy the role agent again"
        )


_DEPLOYED_WITH = {
    "symptoms": ("--commands", COMMANDS),
    "space": ("--expectations", EXPECTATIONS),
}
"""Option and default of a file that is as old as the deployment of a node's looks."""


def waiting(
    kind: str, path: str, options: Mapping[str, str], now: float, limit_s: float
) -> tuple[str, str, list[str], list[Any]]:
    """Return OK for a node that was deployed lately and waits for its first look, else raise.

    Raises:
        Refusal: it has waited for longer than ``limit_s``, or nothing is deployed.
    """
    option, default = _DEPLOYED_WITH[kind]
    waits_s = _deployed_s(options.get(option, default), now)
    if waits_s > limit_s:
        explained(path, (kind,), "")
    name = options.get("--file-system") or title(options.get("--node") or "this node")
    text = f"{name} waits for the first look, deployed {format_duration(waits_s)} ago"
    return "OK", text, [], []


def _deployed_s(path: str, now: float) -> float:
    """Return the age of a deployed file in seconds; that of the epoch if it is missing."""
    try:
        return max(0.0, now - os.stat(path).st_mtime)
    except OSError:
        return now


def notes(layers: Iterable[str], state: str, locks: str) -> dict[str, Unrecorded]:
    """Return the notes of runs that could not be recorded, by layer; raise Refusal."""
    with _refusing():
        return store.unrecorded(layers, state, locks)


def unreadable(path: str, what: str, remedy: str, error: Exception, most: int) -> str:
    """Return the reason why a file of at most so many bytes cannot be read, with the remedy."""
    try:
        read_bytes(path, what, remedy, most)
    except DocumentError as refusal:
        return str(refusal)
    return f"{what} {path}: {error}; {remedy}"
