"""``plumbline metrics``: the verdicts of this node for Prometheus or Checkmk.

On the console, with a plan and the history of all nodes, those of a whole site.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Iterable, Iterator, Mapping, Optional

from plumbline.cli.options import add_source, asks_for_site, common, option
from plumbline.model.errors import DocumentError

if TYPE_CHECKING:
    from plumbline.model.expectation import Expectations
    from plumbline.observe.symptom import Report
    from plumbline.site.verdicts import NodeVerdicts

FORMATS = ("prometheus", "checkmk")


HELP = "export verdicts and rates to Prometheus or Checkmk"
DESCRIPTION = """Judge what this node, or with --plan and --history a whole site, has measured,
and write it as metrics for the textfile collector of Prometheus's node exporter, or as lines of
a Checkmk local check."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common(parser, "--output")
    option(parser, "--format", "form of the output", choices=FORMATS, default=FORMATS[0])
    add_source(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the metrics and return 0, whatever they say."""
    site, now = asks_for_site(arguments), time.time()
    nodes = tuple(_site(arguments, now) if site else _node(arguments, now))
    checkmk = arguments.format == "checkmk"
    text = _checkmk(nodes, now, site) if checkmk else _prometheus(nodes, now)
    if arguments.output:
        from plumbline.store.replacing import replace_own

        replace_own(Path(arguments.output), text, mode=0o644)
    else:
        # whatever the locale of who asks: both read UTF-8
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def _checkmk(nodes: Iterable[NodeVerdicts], now: float, site: bool) -> str:
    """Return the lines; of a site, with the node in the name of each group."""
    from plumbline.doors.checkmk import local_checks
    from plumbline.site.symptoms import verdicts_on

    return "".join(
        local_checks(
            (
                *(verdict for _, verdict in node.components),
                *node.groups,
                *([node.probes] if node.probes else []),
                *(verdicts_on(node.symptoms, now) if node.symptoms else []),
            ),
            node.node if site else "",
        )
        for node in nodes
    )


def _prometheus(nodes: Iterable[NodeVerdicts], now: float) -> str:
    from plumbline.doors.prometheus import exposition, families

    return exposition(families(nodes, now))


def _node(arguments: argparse.Namespace, now: float) -> Iterator[NodeVerdicts]:
    from plumbline.site.verdicts import tell_node
    from plumbline.store.snapshot import load_expectations, load_snapshot

    expectations = load_expectations(arguments.expectations)
    snapshot = load_snapshot(arguments.snapshot)
    verdicts = tell_node(expectations, snapshot, _deployed_at(arguments.expectations), now)
    yield verdicts._replace(
        symptoms=_symptoms(os.path.dirname(arguments.snapshot)),
        devices=_devices(expectations),
    )


def _devices(expectations: Expectations) -> Mapping[str, str]:
    """Return the kernel's name of each component that is a device; none of damaged expectations."""
    from plumbline.observe.command import SystemRunner
    from plumbline.observe.gather import LocalSystem
    from plumbline.observe.node import Parts

    try:
        return Parts(expectations, LocalSystem(SystemRunner())).disks
    except DocumentError as error:
        print(f"plumbline: without the names of devices: {error}", file=sys.stderr)
        return {}


def _symptoms(folder: str) -> Optional[Report]:
    """Return what the last look at symptoms has kept beside the snapshot; None where none has."""
    from plumbline.store.facts import SYMPTOMS_FILE as FILE
    from plumbline.store.verdicts import load_report

    path = os.path.join(folder, FILE)
    if not os.path.lexists(path):
        return None
    try:
        return load_report(path)
    except DocumentError as error:
        print(f"plumbline: without symptoms: {error}", file=sys.stderr)
        return None


def _site(arguments: argparse.Namespace, now: float) -> Iterator[NodeVerdicts]:
    from plumbline.site.verdicts import tell_site
    from plumbline.store.plan import load_plan

    plan, since = load_plan(arguments.plan), _deployed_at(arguments.plan)
    return tell_site(plan, Path(arguments.history), since, now)


def _deployed_at(path: str) -> float:
    """Return since when what a document asks for is expected, in seconds since the epoch."""
    return os.stat(path).st_mtime
