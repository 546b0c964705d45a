"""``plumbline topology``: draft the description of a site, check it, and count its parts.

With ``--live``, on a client, also compare its OSTs and their servers with the topology, or list
them without one; with ``--measured`` the wiring with what a history shows.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Collection, Iterator, Mapping, Sequence

from plumbline.cli.output import remark, say, show
from plumbline.doors.table import render
from plumbline.measure.targets.mounted import MountedSystem, mounted_systems, system_at
from plumbline.measure.targets.whereabouts import Difference, compare
from plumbline.model.command import CommandRunner
from plumbline.model.errors import PlumblineError, ToolError, UsageError
from plumbline.model.expectation import Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.layers.net import NET
from plumbline.model.units import format_rate
from plumbline.observe.command import SystemRunner
from plumbline.observe.mounts import Mount, mount_at
from plumbline.site.drafting import drafted
from plumbline.store.files import EXPECTATIONS
from plumbline.store.snapshot import load_expectations

if TYPE_CHECKING:
    from plumbline.topology.graph import Component, Topology


def check(arguments: argparse.Namespace) -> int:
    """Print the parts of the site and return 0; an error is one sentence."""
    if not arguments.inventory:
        if not arguments.live or arguments.json:
            raise UsageError("name the folder of the inventory with -i")
        if not os.path.lexists(EXPECTATIONS):
            return _list_mounts()
        node = load_expectations(EXPECTATIONS)
        return _live([node], _partners(node))
    if find_spec("plumbline.site.inventory") is None:
        raise ToolError(
            "this host has what nodes need, which reads no inventory; do so on the monitoring host "
            "or on the control host"
        )
    from plumbline.doors.ceilings import baseline_notes, share_notes
    from plumbline.doors.exposure import exposure_table
    from plumbline.plan.exposure import exposures, seldom_shown
    from plumbline.plan.schedule import collisions
    from plumbline.site.inventory import compiled, deployed_hosts, read_inventory, topology_of
    from plumbline.site.wiring import addresses_of, proof

    inventory = read_inventory(arguments.inventory)
    topology = topology_of(inventory)
    # follows every path, to find the same errors as plumbline plan
    plan, measured, policy = compiled(inventory, topology)
    entries = [entry for entries in plan.expectations.values() for entry in entries]
    notes = [*_notes(topology, deployed_hosts(inventory)), *share_notes(entries)]
    notes += [*baseline_notes(entries), *collisions(plan.schedule), *plan.one_by_one]
    found = list(exposures(topology, measured))
    notes += seldom_shown(found, policy.periods_s())
    document = {
        "schema": 1,
        "site": topology.site,
        "components": [*topology.components.values()],
        "targets": [*topology.targets.values()],
        "exposure": [exposure.to_json() for exposure in found],
        "notes": notes,
    }
    lines = [_table(topology), *_exposure_lines(exposure_table(topology, found) if found else "")]
    lines += [f"note: {note}" for note in notes]
    lines.append(
        f"{topology.site} is sound: {len(entries)} measurements, {len(plan.services)} services"
    )
    differ = False
    if arguments.measured:
        wired = proof(topology, measured, Path(arguments.measured))
        document["wiring"] = wired
        lines += [f"measured: {text}" for text in wired.sentences()]
        differ = bool(wired.differences)
    show(arguments, document, lines, indent=1)
    if arguments.live and not arguments.json:
        nodes = [plan.node(name) for name in plan.expectations]
        differ = bool(_live(nodes, addresses_of(topology))) or differ
    return int(differ)


def draft(arguments: argparse.Namespace) -> int:
    """Print a first topology from this client's mounts; return 1 if something is not in it."""
    run = SystemRunner()
    mounts = [mount_at(run, arguments.mount)] if arguments.mount else mounted_systems(run)
    if not mounts:
        raise UsageError("this host has no mount of Lustre or GlusterFS; call it on a client")
    site = drafted(run, mounts, gethostname().partition(".")[0])
    say(*site.text.splitlines())
    remark(*(f"left out: {trouble}" for trouble in site.troubles))
    return int(bool(site.troubles))


def _partners(node: Expectations) -> dict[str, str]:
    """Return the hosts that a node is tested with by their addresses: a plan has no others."""
    return {
        partner["address"]: partner["name"]
        for entry in node.entries
        if entry["layer"] == NET.name
        for partner in entry["partners"]
    }


def _live(nodes: Sequence[Expectations], addresses: Mapping[str, str]) -> int:
    """Print differences between this client's mounts and the planned OSTs; return 1 if any."""
    run = SystemRunner()
    mounts = [(node, mount, osts) for node in nodes for mount, osts in _mounts(node).items()]
    if not mounts:
        raise UsageError("no OST is measured here, so there is nothing to compare with lfs osts")
    differ = False
    for node, mount, osts in mounts:
        difference = compare(run, mount, osts, node.elsewhere, addresses)
        differ = differ or bool(difference.sentences())
        same = [
            f"the OSTs of {mount} are those that {node.node} measures, and retired ones",
            *_same_servers(difference, osts),
        ]
        for sentence in difference.sentences() or same:
            say(f"live: {sentence}")
        if difference.servers is None and not difference.trouble:
            remark(f"{mount}: the servers of its OSTs are not compared: lctl shows none of them")
    return int(differ)


def _same_servers(difference: Difference, osts: Collection[str]) -> Iterator[str]:
    """Yield how many OSTs have the right server, if there is no difference."""
    if difference.servers and difference.servers.proven:
        yield (
            f"{len(difference.servers.proven)} of {len(osts)} OSTs are proven to be on their "
            "servers in the topology, by its addresses"
        )
    elif difference.servers:
        yield "OSTs of one server in Lustre are behind one server in the topology"


def _list_mounts() -> int:
    """Print the targets of all mounts, where there is nothing to compare them with; return 0.

    Raises:
        UsageError: no mount of this host has targets that can be listed.
    """
    run = SystemRunner()
    mounts = mounted_systems(run)
    if not mounts:
        raise UsageError(
            "nothing is deployed here, and this host has no mount of Lustre or GlusterFS; ask on a "
            "client, or name the folder of the inventory with -i"
        )
    troubles: list[str] = []
    systems = [system for mount in mounts for system in _systems(run, mount, troubles)]
    rows = [
        (system.mount.point, member.name, system.indices([member]), member.server, member.state)
        for system in systems
        for member in system.members
    ]
    say(render(("mount", "target", "index", "server", "state"), rows))
    for system in systems:
        say(f"{system.mount.point}: {len(system.members)} targets of {system.mount.source}")
    remark(*troubles)
    return int(bool(troubles))


def _systems(run: CommandRunner, mount: Mount, troubles: list[str]) -> Iterator[MountedSystem]:
    """Yield the file system of a mount, or add the reason why it is not shown to ``troubles``."""
    try:
        yield system_at(run, mount)
    except PlumblineError as error:
        troubles.append(f"{mount.point}: {error}")


def _mounts(node: Expectations) -> dict[str, dict[str, str]]:
    """Return the OSTs that a node measures with their servers, by mount."""
    mounts: dict[str, dict[str, str]] = {}
    for entry in node.entries:
        target = entry["target"]
        if LAYERS[entry["layer"]].per_target and target["kind"] == "lustre":
            mounts.setdefault(target["mount"], {})[target["ost"]] = entry["host"]
    return mounts


def _exposure_lines(table: str) -> list[str]:
    return ["", table, ""] if table else []


def _notes(topology: Topology, deployed: Collection[str]) -> list[str]:
    """Return notes on hosts that Ansible will not install."""
    missing = [host.name for host in topology.hosts() if deployed and host.name not in deployed]
    return [f"{name} is not in hosts.yml, so Ansible will not install it" for name in missing]


def _table(topology: Topology) -> str:
    counts = Counter((part.kind, _rates(part)) for part in topology.components.values())
    rows = [(str(count), kind, rates) for (kind, rates), count in counts.items()]
    for name in dict.fromkeys(target.file_system for target in topology.targets.values()):
        targets = [target for target in topology.targets.values() if target.file_system == name]
        retired = sum(target.retired for target in targets)
        note = f"{name}, {retired} retired" if retired else name
        rows.append((str(len(targets)), "target", note))
    systems = Counter(target.file_system for target in topology.metadata.values())
    rows += [(str(count), "metadata target", name) for name, count in systems.items()]
    return render(("number", "kind", "read / write"), rows)


def _rates(part: Component) -> str:
    rates = dict.fromkeys((part.read_Bps, part.write_Bps))
    return " / ".join("never limits" if rate is None else format_rate(rate) for rate in rates)
