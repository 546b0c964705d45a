"""Which component of the topology a device of this node is.

A disk is known by the raw target that it is or lies under, a network interface by the storage
address, an adapter by being the only one of its kind beside the node.  Whatever is nobody's is the
node's own.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional, Sequence

from plumbline.errors import DocumentError, ToolError
from plumbline.layers import ON_DEVICES, PAIRED
from plumbline.model.expectation import Expectations
from plumbline.model.json_text import read_json
from plumbline.symptoms.system import System

_BLOCK = "/sys/class/block"
_DEPTH = 8
"""Stacked devices are rarely more than four deep: LUKS on LVM on md on multipath."""


def _said(entry: Mapping[str, Any], key: str) -> str:
    """Return a text of an entry's target; raise DocumentError where it has none."""
    said = entry["target"].get(key)
    if not isinstance(said, str):
        raise DocumentError(
            f"expectations: {entry['layer']} {entry['component']} has no {key}; deploy the role "
            "agent again"
        )
    return said


def _known(expectations: Expectations) -> Iterator[str]:
    yield from (expectations.node, *expectations.served)
    yield from (part.name for part in expectations.neighbours)
    for entry in expectations.entries:
        yield entry["component"]
        yield from entry.get("path", ())


class Parts:
    """The devices of one node and the components that they are."""

    def __init__(self, expectations: Expectations, system: System) -> None:
        self.node = expectations.node
        self._system = system
        self._neighbours = expectations.neighbours
        self.disks = {
            entry["component"]: self.block_name(_said(entry, "device"))
            for entry in expectations.entries
            if entry["layer"] in ON_DEVICES
        }
        self.known = frozenset(_known(expectations))
        """Every component that the node knows: itself, its parts, and what its paths cross."""
        self._found: dict[str, str] = {}
        self._owners: dict[str, set[str]] = {}
        for component, block in self.disks.items():
            for below in self.below(block):
                self._owners.setdefault(below, set()).add(component)
        self._address = next(
            (_said(one, "address") for one in expectations.entries if one["layer"] in PAIRED), ""
        )

    def block_name(self, device: str) -> str:
        """Return the kernel's name of a device file, e.g. ``sdb``; of a generic SCSI one its disk.

        A name that leads nowhere comes back as its last word.
        """
        name = self._system.real(device).rpartition("/")[2]
        disks = self._system.names(f"/sys/class/scsi_generic/{name}/device/block")
        return disks[0] if disks else name

    def below(self, block: str, depth: int = _DEPTH) -> tuple[str, ...]:
        """Return a block device and all that it lies on: paths of a multipath, the whole disk."""
        names = [block]
        if depth:
            lower = [*self._system.names(f"{_BLOCK}/{block}/slaves"), *self._whole(block)]
            names += [name for one in lower for name in self.below(one, depth - 1)]
        return tuple(dict.fromkeys(names))

    def of_block(self, name: str) -> str:
        """Return the component that a block device is or lies under, else the node."""
        if name not in self._found:
            self._found[name] = self._owner(name)
        return self._found[name]

    def _owner(self, name: str) -> str:
        for one in (name, *self._whole(name)):
            owners = self._owners.get(one, set())
            if len(owners) == 1:
                return next(iter(owners))
        return self.node

    def of_blocks(self, names: Sequence[str]) -> str:
        """Return the only component that all of these lie under, else the node."""
        owners = {self.of_block(name) for name in names}
        return owners.pop() if len(owners) == 1 else self.node

    def of_kind(self, *kinds: str) -> tuple[str, Optional[float]]:
        """Return the only part beside the node of some kinds, and its rated speed in B/s.

        The node itself, without a speed, where there is none or more than one.
        """
        found = [part for part in self._neighbours if part.kind in kinds]
        if len(found) != 1:
            return self.node, None
        return found[0].name, found[0].rate_Bps

    def storage_interfaces(self) -> tuple[str, ...]:
        """Return the network interface with the storage address, then those below it.

        Nothing where the address, or what has it, is not known.
        """
        for link in self._links() if self._address else ():
            known = link.get("addr_info", ())
            has = [one for one in known if isinstance(one, dict)] if isinstance(known, list) else []
            if any(one.get("local") == self._address for one in has):
                return tuple(dict.fromkeys(self._lower(str(link.get("ifname")), _DEPTH)))
        return ()

    def _links(self) -> Sequence[Mapping[str, Any]]:
        """Return what ``ip`` says; a node without it does not know, and that is no error."""
        try:
            completed = self._system.run(["ip", "-json", "address", "show"], 10.0)
            links = read_json(completed.stdout) if completed.ok else []
        except (ToolError, ValueError):
            return []
        found = links if isinstance(links, list) else []
        return [link for link in found if isinstance(link, dict)]

    def _lower(self, interface: str, depth: int) -> Iterator[str]:
        yield interface
        for name in self._system.names(f"/sys/class/net/{interface}") if depth else ():
            if name.startswith("lower_"):
                yield from self._lower(name[len("lower_") :], depth - 1)

    def _whole(self, block: str) -> tuple[str, ...]:
        """Return the disk of a partition, nothing for a disk."""
        if not self._system.read(f"{_BLOCK}/{block}/partition"):
            return ()
        return (self._system.real(f"{_BLOCK}/{block}").split("/")[-2],)
