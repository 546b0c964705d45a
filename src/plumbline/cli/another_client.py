"""A run on another client than the planned one, which nothing keeps apart from the planned ones.

The expectations say whose they are; a node knows its own name from the document deployed there.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from socket import gethostname
from typing import Sequence

from plumbline.errors import DocumentError, UsageError
from plumbline.layers import SINGLE_TARGETS
from plumbline.model.expectation import Expectation, Expectations
from plumbline.store.places import EXPECTATIONS, STATE
from plumbline.store.snapshot import load_expectations
from plumbline.targets import KINDS


def add_another_client(parser: argparse.ArgumentParser) -> None:
    """Declare the option."""
    parser.add_argument(
        "--another-client",
        action="store_true",
        help="measure with the --expectations of another client, into a --state of its own, while "
        "that client measures nothing",
    )


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
    shared = [one for one in entries if one.target.get("kind") in everywhere]
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
    others = document.elsewhere or {}
    if layer not in SINGLE_TARGETS or any(
        (entry.get("layer"), entry.get("component")) == (layer, name) for entry in document.entries
    ):
        return
    if name not in others:
        raise DocumentError(
            f"expectations of {document.node} have no {name} in layer {layer}; another client may "
            "measure it (plumbline plan -i INVENTORY), else add it to the topology and deploy the "
            "role agent again"
        )
    if not others[name]:
        raise UsageError(f"{name} is retired; take it out of retired in the topology, and deploy")
    raise UsageError(
        f"{name} is measured by {others[name]}, and this is {document.node}: two clients on one "
        f"target halve each other's rates; run it on {others[name]}, or see --another-client"
    )


def _own_name(given: str) -> str:
    """Return the name by which the plan knows this host; its own where nothing is deployed."""
    deployed = Path(EXPECTATIONS)
    if Path(given) != deployed and deployed.exists():
        return load_expectations(EXPECTATIONS).node
    return gethostname()


def _same(node: str, here: str) -> bool:
    return node == here or node.partition(".")[0] == here.partition(".")[0]
