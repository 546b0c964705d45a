"""Places of targets on their own servers: folders beside what is served, and paths without network.

A server measures only where the topology names a folder, since none follows from the file system.
"""

from __future__ import annotations

from typing import Iterator

from plumbline.model.errors import DocumentError
from plumbline.model.layers.layer import Layer
from plumbline.plan.places import Place, refuse_duplicates
from plumbline.topology.document import NETWORK
from plumbline.topology.graph import Route, Target, Topology
from plumbline.topology.names import fold
from plumbline.topology.paths import host_of, to_target


def on_servers(topology: Topology, layer: Layer) -> list[Place]:
    """Return the targets that their own servers measure, by the path behind the network.

    Raises:
        DocumentError: no target has a folder; or one is in a brick, is what the server exports, has
            no server, or is that of another target.
    """
    places = []
    for target in topology.targets.values():
        if target.retired or not target.server_folder:
            continue
        _refuse_served(target)
        path = _from_server(topology, target)
        device = topology.components[target.on].device
        keys = {"kind": "server-folder", "directory": target.server_folder}
        if device:
            keys["device"] = device
        group = target.file_system
        places.append(Place(target.name, path[0], path[0], group, keys, path, layer.steps()))
    if not places:
        reasons = "; ".join(left_out(topology, layer)) or "all targets are retired"
        raise DocumentError(f"plumbline_policy: {reasons}; or remove the layer")
    refuse_duplicates(
        [((place.node, place.target["directory"]), place.component) for place in places],
        "the server_folder {0[1]} on {0[0]}",
    )
    return places


def _from_server(topology: Topology, target: Target) -> Route:
    """Return the path of a target from its server; raise DocumentError without a server."""
    path = to_target(topology, target)
    own = path[path.index(host_of(topology, path)) :]
    if any(topology.components[name].kind in NETWORK for name in own[:-1]):
        raise DocumentError(
            f"plumbline_topology: {target.name} has a server_folder, but no server stands before "
            f"{target.on}; add its server to the parts, or leave server_folder out"
        )
    return own


def _refuse_served(target: Target) -> None:
    """Refuse a brick and what is in it, and the very folder that a server exports.

    The client's own folder lies in an export, and another user of the server would take it over.
    """
    brick = target.reach.get("brick", "").partition(":")[2].rstrip("/")
    served = brick or target.reach.get("source", "").partition(":")[2].rstrip("/")
    folder = target.server_folder
    if served and (folder == served or (brick and folder.startswith(f"{brick}/"))):
        inside = f"is in the brick {brick}" if brick else "is what the server exports"
        remedy = "beside it, on the same file system" if brick else "of its own beside it or in it"
        raise DocumentError(
            f"plumbline_topology: {target.name}: server_folder {folder} {inside}, whose files "
            f"belong to the file system; make a folder {remedy}"
        )


def left_out(topology: Topology, layer: Layer) -> Iterator[str]:
    """Yield a sentence on the targets of each kind that no server measures."""
    unnamed = [
        target
        for target in topology.targets.values()
        if not target.retired and not target.server_folder
    ]
    lustre = dict.fromkeys(target.file_system for target in unnamed if "ost" in target.reach)
    if lustre:
        yield (
            f"layer {layer.name} leaves out {fold(lustre)}: a server of Lustre has no folder "
            "beside its objects, and no echo client is run on a file system in use; plumbline "
            "stages shows whether a server's software or its disks take the time"
        )
    others = [target.name for target in unnamed if "ost" not in target.reach]
    if others:
        yield (
            f"layer {layer.name} leaves out {fold(others)}: give them a server_folder in "
            "plumbline_topology"
        )
