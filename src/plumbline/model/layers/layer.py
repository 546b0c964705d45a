"""Properties of a layer; other modules use them instead of comparing its name."""

from __future__ import annotations

from typing import NamedTuple

from plumbline.model.quantity import LATENCIES, SECONDS
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec


class Layer(NamedTuple):
    """Way to measure storage, with the kind of its components.

    ``name`` is used in documents, records and on the command line, ``noun`` for a component in
    messages.  ``operations`` are measured for each component, in this order, in each of
    ``scenarios``.  ``spec`` is the default specification of the probe.  ``min_efficiency`` is the
    floor: the least fraction of the ceiling that a healthy system demonstrates.
    """

    name: str
    noun: str
    operations: tuple[Operation, ...]
    scenarios: tuple[Scenario, ...]
    spec: ProbeSpec
    min_efficiency: float
    depth: int
    """Position between disk and file system; reports list layers in this order."""
    results: str
    """Noun for its results in reports, e.g. ``raw reads``."""
    measured_by: str = ""
    """Module of the room measure that measures it; empty if a part or several nodes do."""
    one: str = ""
    """Name of measuring one component, ``{}``; empty if locating never does it."""
    all: str = ""
    """Name of measuring all components; empty if locating never does it."""
    on_targets: bool = False
    """Components are targets; their group is the file system."""
    of_metadata: bool = False
    """Its targets are those that the topology lists as ``metadata`` of a file system."""
    on_servers: bool = False
    """Its targets are measured by their own servers, on folders beside them."""
    on_devices: bool = False
    """Components are block devices; their group is their server, which reads them."""
    grouped: bool = False
    """Groups have a service; each component can be measured at any time."""
    paired: bool = False
    """Components are hosts or their adapters, measured in pairs; all of a site are one group."""
    by_verbs: bool = False
    """Its bytes are those of RDMA, whose headers are not those of TCP; components are adapters."""
    whole: bool = False
    """All components of a group are measured at once, and the group gets its own verdict."""

    joint: bool = False
    """Components are parts that the flows of several nodes share; their group is their kind."""

    chosen: tuple[Operation, ...] = ()
    """Operations of components that topology or policy choose; measured alone, after all others."""
    quantities: tuple[Operation, ...] = ()
    """Further quantities of the operations' runs; recorded, and judged if the policy names them."""
    if_named: bool = False
    """The layer is off by default; the policy turns it on."""

    @property
    def of_hosts(self) -> bool:
        """True if its components are hosts, measured in pairs by TCP."""
        return self.paired and not self.by_verbs

    @property
    def one_target(self) -> bool:
        """True if it measures targets of a file system, of data or metadata, one at a time."""
        return self.on_targets and not self.whole

    @property
    def per_target(self) -> bool:
        """True if clients measure the targets that hold a file system's data, one at a time."""
        return self.one_target and not (self.of_metadata or self.on_servers)

    @property
    def local(self) -> bool:
        """True if the server of the storage measures it, without the network."""
        return self.on_devices or self.on_servers

    @property
    def of_storage(self) -> bool:
        """True if its components are storage, not hosts."""
        return self.on_targets or self.on_devices

    @property
    def by_ranks(self) -> bool:
        """True if ranks under MPI measure it, instead of a tool chosen by the policy."""
        return self.whole

    @property
    def confirmable(self) -> bool:
        """True if a low component is measured again between two planned runs.

        Metadata targets have too few peers to tell a busy hour of the day from a slow target.
        """
        return self.grouped and not self.of_metadata

    @property
    def site_wide(self) -> bool:
        """True if several nodes measure the components of a group, which has no service."""
        return self.paired or self.joint

    @property
    def has_peers(self) -> bool:
        """True if its components are judged individually and have peers."""
        return self.grouped or self.paired or self.joint

    @property
    def has_provisional(self) -> bool:
        """True if its own last runs are a reference until it has a baseline."""
        return self.grouped or self.joint

    @property
    def more_than_rates(self) -> bool:
        """True if a run has more results than rates: retransmits, a profile."""
        return self.of_hosts or self.whole

    def peer_group(self, group: str) -> str:
        """Return the peer group of a component with ``group`` in the plan; empty if site-wide."""
        return "" if self.paired else group

    def steps(
        self, *, alone: bool = False, chosen: bool = False
    ) -> tuple[tuple[Operation, Scenario], ...]:
        """Return the steps to measure a component, in order.

        ``alone``: it has no peers.  ``chosen``: its chosen operations are measured too.
        """
        steps = [
            (operation, scenario)
            for scenario in self.scenarios
            if not (alone and scenario is Scenario.TOGETHER)
            for operation in self.operations
        ]
        further = self.chosen if chosen else ()
        return (*steps, *((operation, Scenario.SINGLE) for operation in further))

    @property
    def title(self) -> str:
        """First word of its services."""
        return self.name.upper()

    @property
    def check(self) -> str:
        """Nagios plug-in that judges it."""
        return f"check_{self.name}"

    @property
    def timer(self) -> str:
        """Systemd timer that measures it."""
        return f"plumbline-{self.name}.timer"

    @property
    def service(self) -> str:
        """Systemd service that measures it."""
        return f"plumbline-{self.name}.service"

    def unit(self, component: str) -> str:
        """Return the systemd unit that measures one component."""
        return f"plumbline-{self.name}@{component}"


REQUEST = "request"
"""Quantity of a run on Lustre: mean seconds from sending a request to its answer, at the client."""


def times_of_requests(*operations: Operation) -> tuple[Operation, ...]:
    """Return the mean time of a request at the client as a quantity of some operations."""
    return tuple(operation.define_quantity(REQUEST, SECONDS) for operation in operations)


def times_of_calls(*operations: Operation) -> tuple[Operation, ...]:
    """Return the times of single calls as quantities of some operations."""
    return tuple(
        operation.define_quantity(name, SECONDS) for operation in operations for name in LATENCIES
    )
