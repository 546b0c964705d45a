"""Access of symptom collectors to a node: commands, kernel files, devices and their components.

Two earlier looks are kept, half a day apart.  Growth is counted from the older one, so that events
of the night are still reported in the morning and are dropped after a day.

A disk belongs to the raw target that it is or lies under, a network interface is identified by the
storage address, an adapter by being the node's only neighbour of its kind.  Everything else is
attributed to the node.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.codec import read
from plumbline.model.command import System
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.expectation import Expectations, Partner
from plumbline.model.layers import LAYERS
from plumbline.model.layers.raw import RAW
from plumbline.model.validation import read_json, times
from plumbline.observe.query import QUICK_S, complaint


def ask(system: System, argv: Sequence[str], timeout_s: float = QUICK_S) -> str:
    """Return the output of a command; raise ToolError with its own message if it fails."""
    completed = system.run(argv, timeout_s)
    if not completed.ok:
        raise ToolError(complaint(completed))
    return completed.stdout


def parse_json(program: str, text: str) -> Any:
    """Parse the JSON output of a program; raise ToolError if it is none."""
    try:
        return read_json(text)
    except ValueError as error:
        raise ToolError(f"{program} printed no JSON ({error}): {text[:60]!r}") from error


KEPT_S = 43200.0
"""Age at which the newer look replaces the older one, and this look the newer one."""

MAX_COUNTERS = 20_000
"""Most counters kept, for some thousand disks; the state file stays below a few MB."""


class EarlierLook(NamedTuple):
    """The counters of one look."""

    at: Annotated[float, times]
    values: Mapping[str, float]


class Past(NamedTuple):
    """Two earlier looks; ``highest`` are the highest speeds of links so far."""

    older: Optional[EarlierLook] = None
    newer: Optional[EarlierLook] = None
    highest: Mapping[str, float] = {}


class Growth(NamedTuple):
    """Growth of a counter since a time in seconds since the epoch."""

    amount: float
    since: float


class Counters:
    """Compares the counters of this look with earlier looks."""

    def __init__(self, past: Past) -> None:
        self._past = past
        self._seen: dict[str, float] = {}
        self._highest = dict(past.highest)

    def growth(self, name: str, value: Optional[float]) -> Optional[Growth]:
        """Record a counter; return its growth, None without growth or an earlier value."""
        if value is None:
            return None
        if len(self._seen) < MAX_COUNTERS:
            self._seen[name] = value
        past = self._past.older or self._past.newer
        if past is None or name not in past.values:
            return None
        # smaller than before: reset to zero, as by a reboot
        amount = value - past.values[name] if value >= past.values[name] else value
        return Growth(amount, past.at) if amount > 0 else None

    def recorded(self, prefix: str) -> tuple[str, ...]:
        """Return the counters of the last look whose names begin with a prefix."""
        past = self._past.newer or self._past.older
        return tuple(name for name in past.values if name.startswith(prefix)) if past else ()

    def highest(self, name: str, value: float) -> float:
        """Record a speed; return the highest so far, this one included."""
        best = max(value, self._highest.get(name, value))
        if name in self._highest or len(self._highest) < MAX_COUNTERS:
            self._highest[name] = best
        return best

    def after(self, now: float) -> Past:
        """Return the past for the next look."""
        seen = EarlierLook(now, self._seen)
        newer, older = self._past.newer, self._past.older
        # after a clock was set back they would never expire
        if newer is None or now < newer.at:
            return Past(None, seen, self._highest)
        if now - newer.at >= KEPT_S:
            return Past(newer, seen, self._highest)
        return Past(older, newer, self._highest)


_BLOCK = "/sys/class/block"
PCI = "/sys/bus/pci/devices"
_NETWORK, _NVME_CLASS = "0x02", "0x0108"
"""Prefixes of PCI classes (pci.ids)."""
_PARTITION = re.compile(r"((?:sd|vd|xvd)[a-z]+|nvme\d+n\d+)p?\d+|(.+)-part\d+")
_NVME_PATH = re.compile(r"(nvme\d+)c(\d+)(n\d+)")
"""A path of NVMe multipath: subsystem, controller and namespace."""
_DEPTH = 8
"""Stacked devices are rarely more than four deep: LUKS on LVM on md on multipath."""


def _target_text(entry: Mapping[str, Any], key: str) -> str:
    """Return a text of an entry's target; raise DocumentError if it has none."""
    text = entry["target"].get(key)
    if not isinstance(text, str):
        raise DocumentError(
            f"expectations: {entry['layer']} {entry['component']} has no {key}; deploy the role "
            "agent again"
        )
    return text


def _partner_addresses(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield storage address and name of each partner; raise DocumentError if one is damaged."""
    try:
        for raw in entry.get("partners", ()):
            partner = read(Partner, raw)
            yield partner.address, partner.name
    except (KeyError, TypeError, ValueError) as error:
        raise DocumentError(
            f"expectations: a partner of {entry['component']} is damaged ({error!r}); deploy the "
            "role agent again"
        ) from error


_OPTICAL = ("sr", "fd")


def host_alone(host: str, system: System) -> Expectations:
    """Return expectations of a host without a plan: its disks, by the kernel's names."""
    disks = (
        name
        for name in system.names(_BLOCK)
        if system.names(f"{_BLOCK}/{name}/device")
        and not system.read(f"{_BLOCK}/{name}/partition")
        and not name.startswith(_OPTICAL)
        and not _NVME_PATH.fullmatch(name)
    )
    entries = (
        {
            "layer": RAW.name,
            "component": name,
            "group": host,
            "target": {"kind": "device", "device": f"/dev/{name}"},
        }
        for name in disks
    )
    return Expectations(host, "", tuple(entries))


class Parts:
    """The devices of one node and their components."""

    def __init__(self, expectations: Expectations, system: System) -> None:
        self.node = expectations.node
        self._system = system
        self._neighbours = expectations.neighbours
        self.fabric = expectations.fabric or ()
        self.switches = expectations.switches
        self.disks = {
            entry["component"]: self.block_name(_target_text(entry, "device"))
            for entry in expectations.entries
            if LAYERS[entry["layer"]].on_devices
        }
        self.known = expectations.components()
        self._components: dict[str, str] = {}
        self._owners: dict[str, set[str]] = {}
        for component, block in self.disks.items():
            for below in self.below(block):
                self._owners.setdefault(below, set()).add(component)
        pairs = [entry for entry in expectations.entries if LAYERS[entry["layer"]].of_hosts]
        self._address = next((_target_text(entry, "address") for entry in pairs), "")
        self._hosts = dict(address for entry in pairs for address in _partner_addresses(entry))

    def block_name(self, device: str) -> str:
        """Return the kernel's name of a device file, e.g. ``sdb``, or a generic SCSI device's disk.

        For a dead link, return the last part of the path.
        """
        name = self._system.real(device).rpartition("/")[2]
        disks = self._system.names(f"/sys/class/scsi_generic/{name}/device/block")
        return disks[0] if disks else name

    def below(self, block: str, depth: int = _DEPTH) -> tuple[str, ...]:
        """Return a block device and all devices below it: paths of a multipath, the whole disk."""
        names = [block]
        if depth:
            lower = [*self._system.names(f"{_BLOCK}/{block}/slaves"), *self._disk_of(block)]
            names += [name for device in lower for name in self.below(device, depth - 1)]
        return tuple(dict.fromkeys(names))

    def of_block(self, name: str) -> str:
        """Return the component of a block device, or of the device above it, else the node."""
        if name not in self._components:
            self._components[name] = self._owner(name)
        return self._components[name]

    def _owner(self, name: str) -> str:
        if path := _NVME_PATH.fullmatch(name):
            name = path[1] + path[3]
        # the kernel has forgotten a removed disk: take its name from the partition's
        partition = _PARTITION.fullmatch(name)
        guessed = [partition[1] or partition[2]] if partition else []
        for block in (name, *(self._disk_of(name) or guessed)):
            owners = self._owners.get(block, set())
            if len(owners) == 1:
                return next(iter(owners))
        return self.node

    def of_blocks(self, names: Sequence[str]) -> str:
        """Return the one component of all these block devices, else the node."""
        owners = {self.of_block(name) for name in names}
        return owners.pop() if len(owners) == 1 else self.node

    def of_scsi(self, address: str) -> str:
        """Return the component of a SCSI address such as ``0:0:1:0``, else the node."""
        return self.of_blocks(self._system.names(f"/sys/class/scsi_device/{address}/device/block"))

    def of_nvme(self, *controllers: str) -> str:
        """Return the component of NVMe controllers such as ``nvme0``, else the node."""
        blocks = self._system.names(_BLOCK)
        paths = filter(None, map(_NVME_PATH.fullmatch, blocks))
        # a disk has the number of its subsystem, not of a controller
        disks = [path[1] + path[3] for path in paths if f"nvme{path[2]}" in controllers]
        heads = tuple(f"{controller}n" for controller in controllers)
        return self.of_blocks(disks or [block for block in blocks if block.startswith(heads)])

    def of_address(self, address: str) -> str:
        """Return the host with this storage address, else the node."""
        return self._hosts.get(address, self.node)

    def of_interface(self, name: str) -> str:
        """Return the network part of the interface with the storage address, else the node."""
        own = name in self.storage_interfaces()
        return self.of_kind("nic", "link")[0] if own else self.node

    def of_pci(self, address: str) -> str:
        """Return the component of a PCI device, else the node."""
        folder = f"{PCI}/{address}"
        controllers = self._system.names(f"{folder}/nvme")
        kind = self._system.read(f"{folder}/class")
        if controllers or kind.startswith(_NVME_CLASS):
            return self.of_nvme(*controllers)
        return self.of_nic(address) if kind.startswith(_NETWORK) else self.of_kind("hba")[0]

    def of_nic(self, address: str) -> str:
        """Return the network part of a PCI device, the node if it is not the storage network."""
        interfaces = self._system.names(f"{PCI}/{address}/net")
        storage = self.storage_interfaces() if interfaces else ()
        if storage and not set(storage).intersection(interfaces):
            return self.node
        return self.of_kind("nic", "link")[0]

    def of_kind(self, *kinds: str) -> tuple[str, Optional[float]]:
        """Return the node's only neighbour of these kinds, and its rated speed in B/s.

        The node itself, without a speed, if there is none or more than one.
        """
        neighbours = [part for part in self._neighbours if part.kind in kinds]
        if len(neighbours) != 1:
            return self.node, None
        return neighbours[0].name, neighbours[0].rate_Bps

    def storage_interfaces(self) -> tuple[str, ...]:
        """Return the network interface with the storage address, and the interfaces below it.

        Empty if the address is unknown, no interface has it, or ``ip`` is missing.
        """
        if not self._address:
            return ()
        try:
            completed = self._system.run(["ip", "-json", "address", "show"], QUICK_S)
            links = read_json(completed.stdout) if completed.ok else []
            names = [
                str(link["ifname"])
                for link in links
                for address in link.get("addr_info", ())
                if address.get("local") == self._address
            ]
        except (ToolError, ValueError, LookupError, TypeError, AttributeError):
            return ()
        return tuple(dict.fromkeys(self._lower(names[0], _DEPTH))) if names else ()

    def _lower(self, interface: str, depth: int) -> Iterator[str]:
        yield interface
        for name in self._system.names(f"/sys/class/net/{interface}") if depth else ():
            if name.startswith("lower_"):
                yield from self._lower(name[len("lower_") :], depth - 1)

    def _disk_of(self, block: str) -> tuple[str, ...]:
        """Return the disk of a partition, empty for a disk."""
        if not self._system.read(f"{_BLOCK}/{block}/partition"):
            return ()
        return (self._system.real(f"{_BLOCK}/{block}").split("/")[-2],)


class Node(NamedTuple):
    """A node at the time ``now``, in seconds since the epoch."""

    system: System
    parts: Parts
    counters: Counters
    now: float
