"""What Nagios must ask for: one service a component and layer, one a group, on the judged host.

Of what is driven at once there is one service a file system, which judges the whole and its targets
beside one another: one cause, one alarm.  Whether the probes of a node run is one service a node.
"""

from __future__ import annotations

import re
from typing import Iterator, Sequence

from plumbline.errors import DocumentError
from plumbline.expect.bearers import with_bearers
from plumbline.expect.parallel import by_file_system
from plumbline.layers import PAIRED, WHOLE, layer_of
from plumbline.model.anchor import anchor, group_anchor
from plumbline.model.service import NODE, Service
from plumbline.plan.assignment import Assignment

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


def services(measured: Sequence[Assignment]) -> tuple[Service, ...]:
    """Return the services of components, of groups, of whole file systems, then those of nodes.

    Raises:
        DocumentError: two of them would have the same NRPE command on one node.
    """
    each = [one for one in measured if one.layer not in WHOLE]
    found = (
        *(_of_component(one) for one in each),
        *_of_groups(each),
        *(_of_whole(whole) for _, whole in by_file_system(measured)),
        *_of_nodes(measured),
    )
    taken: dict[tuple[str, str], Service] = {}
    for service in found:
        other = taken.setdefault((service.node, service.command), service)
        if other is not service:
            raise DocumentError(
                f"plumbline_topology: services {other.description!r} and {service.description!r} "
                f"would both be the command {service.command}; rename one of them"
            )
    return with_bearers(measured, found)


def _of_component(assignment: Assignment) -> Service:
    layer = layer_of(assignment.layer)
    operations = dict.fromkeys(operation.value for operation, _ in assignment.steps)
    return Service(
        assignment.host,
        assignment.node,
        " ".join([layer.title, assignment.component, *operations]),
        _command(assignment.layer, assignment.component),
        layer.check,
        ("--component", assignment.component),
        assignment.layer,
        assignment.component,
        "",
        round(assignment.limits.stale_after_s),
        anchor(assignment.layer, assignment.component),
    )


def _of_groups(measured: Sequence[Assignment]) -> Iterator[Service]:
    """Yield the services of groups: one for each node that measures two or more members."""
    members: dict[tuple[str, str, str], list[Assignment]] = {}
    for one in measured:
        if one.layer not in PAIRED:
            members.setdefault((one.layer, one.group, one.node), []).append(one)
    for (layer, group, node), found in members.items():
        if len(found) > 1:
            yield Service(
                node,
                node,
                f"{layer_of(layer).title} group {group}",
                _command(layer, f"group_{group}"),
                layer_of(layer).check,
                ("--group", group),
                layer,
                "",
                group,
                round(max(one.limits.stale_after_s for one in found)),
                group_anchor(layer, group),
            )


def _of_whole(whole: Assignment) -> Service:
    name, layer = whole.component, layer_of(whole.layer)
    return Service(
        whole.host,
        whole.node,
        f"{layer.title} {name} write read",
        _command(layer.name, name),
        layer.check,
        ("--group", name),
        layer.name,
        "",
        name,
        round(whole.limits.stale_after_s),
        group_anchor(layer.name, name),
    )


def _of_nodes(measured: Sequence[Assignment]) -> Iterator[Service]:
    limits: dict[str, float] = {}
    for one in measured:
        limit = one.limits.stale_after_s
        limits[one.node] = min(limits.get(one.node, limit), limit)
    for node, freshness_s in limits.items():
        yield Service(
            node,
            node,
            f"NODE {node} probes",
            _command(NODE, "probes"),
            "check_node",
            (),
            NODE,
            node,
            "",
            round(freshness_s),
        )


def _command(layer: str, name: str) -> str:
    return f"plumbline_{layer}_{_UNSAFE.sub('_', name)}"
