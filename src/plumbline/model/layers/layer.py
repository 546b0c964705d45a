"""A layer with all that other stages need to know of it, so that nobody compares its name."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.record import Scenario

if TYPE_CHECKING:
    from plumbline.model.record import Operation
    from plumbline.model.spec import ProbeSpec


class Layer(NamedTuple):
    """One way to measure storage, with what kind of component it measures.

    ``name`` is its name in documents, records and on the command line, ``noun`` what a component of
    it is called.  ``operations`` are those of a component, away from storage first, and
    ``scenarios`` those in which they are measured.  ``spec`` are the terms of a probe where the
    policy says nothing.  ``min_efficiency`` is the least share of the ceiling that a healthy system
    demonstrates.
    """

    name: str
    noun: str
    operations: tuple[Operation, ...]
    scenarios: tuple[Scenario, ...]
    spec: ProbeSpec
    min_efficiency: float
    depth: int
    """The place on the way from the disk to the whole, in which reports name the layers."""
    results: str
    """Its results in a report: ``raw reads`` fine."""
    one: str = ""
    """The measurement of one component, ``{}``; empty where no step of locating makes it."""
    all: str = ""
    """The measurement of all components; empty where no step of locating makes it."""
    on_targets: bool = False
    """Its components are the targets of a file system, which is their group."""
    on_devices: bool = False
    """Its components are block devices, read on their own server, which is their group."""
    grouped: bool = False
    """Its groups have a service; one component can be measured at any time, beside its peers."""
    paired: bool = False
    """Its components are hosts that are measured in pairs, all of a site one group."""
    whole: bool = False
    """All components of a group are measured at once, and the group is judged as a whole."""

    if_named: bool = False
    """It is measured where the policy names it, and nowhere by default."""

    @property
    def per_target(self) -> bool:
        """Return whether it measures the targets of a file system one by one."""
        return self.on_targets and not self.whole

    @property
    def of_storage(self) -> bool:
        """Return whether its components store something, and are no hosts."""
        return self.on_targets or self.on_devices

    @property
    def by_ranks(self) -> bool:
        """Return whether ranks under MPI measure it, and no tool that the policy may choose."""
        return self.whole

    @property
    def confirmable(self) -> bool:
        """Return whether a component that was low is measured again between two planned runs."""
        return self.grouped

    @property
    def site_wide(self) -> bool:
        """Return whether all its components are one group, which no node measures alone."""
        return self.paired

    @property
    def has_peers(self) -> bool:
        """Return whether its components are judged one by one, beside others of their kind."""
        return self.grouped or self.paired

    @property
    def more_than_rates(self) -> bool:
        """Return whether a run shows more than rates: segments retransmitted, a profile."""
        return self.paired or self.whole

    def peer_group(self, group: str) -> str:
        """Return the group of the peers of a component whose plan names ``group``."""
        return "" if self.site_wide else group

    def steps(self, *, alone: bool = False) -> tuple[tuple[Operation, Scenario], ...]:
        """Return what is measured of a component, in this order; ``alone``: it has no peers."""
        return tuple(
            (operation, scenario)
            for scenario in self.scenarios
            if not (alone and scenario is Scenario.TOGETHER)
            for operation in self.operations
        )

    @property
    def title(self) -> str:
        """Return the word that its services begin with."""
        return self.name.upper()

    @property
    def check(self) -> str:
        """Return the Nagios plug-in that judges it."""
        return f"check_{self.name}"

    @property
    def timer(self) -> str:
        """Return the systemd timer that measures it."""
        return f"plumbline-{self.name}.timer"

    @property
    def service(self) -> str:
        """Return the systemd service that measures it."""
        return f"plumbline-{self.name}.service"

    def unit(self, component: str) -> str:
        """Return the systemd unit that measures one component."""
        return f"plumbline-{self.name}@{component}"
