"""Fleets: the measurements of nodes and their periods, with noise and faults.

Losses are natural logarithms, standard deviations those of logarithms, shares are fractions of 1.
``make bench`` fits most of them again (tests/bench/fit_noise.py).
"""

from __future__ import annotations

import re
from random import Random
from types import MappingProxyType
from typing import Collection, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.expectation import Expectation
from plumbline.model.layers import BY_DEPTH, LAYERS
from plumbline.model.layers.ost import OST
from plumbline.model.limits import Reference
from plumbline.model.record import Operation, Scenario
from plumbline.model.service import PathService, Service, SitePart
from plumbline.plan.baseline import Baselines, Key
from plumbline.plan.duration import seconds_of
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import Policy
from plumbline.plan.schedule import Slots
from plumbline.plan.shared import flows_of
from plumbline.plan.speeds import Speeds, speeds
from plumbline.topology.graph import Topology
from plumbline.topology.paths import sharings

CALLS_SCATTER = 3.0
"""Scatter of a run of metadata calls over that of a run of bytes, and of its repeats: an assumption
that gives 8 % in a quiet file system and 15 % in the year, within the 5 to 28 % that
tests/bench/metadata_nights.py covers.  The year has no benchmark of metadata."""


class Noise(NamedTuple):
    """Variation of the measurements of one healthy fleet.

    ``component``: lasting, between equal parts.  ``host``: shared by all parts of a host on a day;
    ``day``: shared by a whole file system on a day.  ``run``: of one run; ``repeat``: of the
    repeats within it.  A share ``tail_share`` of the runs loses a fifth and a further ``tail_loss``
    in the mean.

    A busy spell of a file system begins after a quiet day with probability ``spell_begins`` and
    goes on after a busy one with ``spell_goes_on``; each of its days loses MIN_SPELL_LOSS and a
    further ``spell_loss`` in the mean, and runs then differ by ``spell_run``.

    ``contended`` and ``contended_in_spell`` are the shares of runs whose coverage is below
    MAX_COVERAGE; it is lower by ``coverage_lost`` in the mean, and the run loses
    ``contention_cost`` x -log(coverage).  ``network``: of one test of a pair of hosts or adapters.

    A disturbance goes on into a run that follows at once with probability ``goes_on``, which fades
    with (1 + hours) ** -FADES; a share ``alike`` of these takes as much again.
    """

    component: float = 0.0
    host: float = 0.0
    day: float = 0.0
    run: float = 0.0
    repeat: float = 0.0
    tail_share: float = 0.0
    tail_loss: float = 0.0
    spell_begins: float = 0.0
    spell_goes_on: float = 0.0
    spell_loss: float = 0.0
    spell_run: float = 0.0
    contended: float = 0.0
    contended_in_spell: float = 0.0
    coverage_lost: float = 0.0
    contention_cost: float = 0.0
    network: float = 0.0
    goes_on: float = 0.0
    alike: float = 0.0

    @property
    def of_calls(self) -> Noise:
        """Noise of metadata calls."""
        run, repeat = self.run * CALLS_SCATTER, self.repeat * CALLS_SCATTER
        return self._replace(run=run, repeat=repeat)


FADES = 0.3
"""After a low benchmark of the year 39 to 51 % of the next ones of its file system were low within
2 hours, 30 % after a day or two and 23 % after eight, compared with 18 % of all."""

LASTS = 0.5
"""Correlation of a host's or file system's shared loss on two days in a row: 0.62 for the hosts of
a cluster in production (tests/bench/fit_noise.py).  Its heavy tails are an assumption."""

OVERNIGHT = 0.02
"""The chance that a disturbance of a single target lasts into the next night, an assumption: no day
on which a disk of that cluster was low by three standard deviations was followed by another one.
Disturbances of whole file systems last much longer, and are busy spells here."""

MIN_TAIL_LOSS = 0.223
"""-log(0.8): a run of the tail has lost at least a fifth."""

MIN_SPELL_LOSS = 0.15
MAX_COVERAGE = 0.9
COVERAGE_ALONE = 0.99
"""Coverage of a run that is not contended; the median of Edison's benchmarks."""

NONE = Noise()

QUIET = Noise(component=0.02, host=0.01, day=0.01, run=0.025, repeat=0.01, network=0.01)
"""A file system in good order with little use.

``run`` is that of the steadiest benchmarks of the year, Mira's hacc_io (0.025).  The year has no
data on the rest: ``day``, ``host`` and ``repeat`` are assumed as half of it or less.
"""

YEAR = Noise(
    component=0.02,
    host=0.02,
    day=0.05,
    run=0.05,
    repeat=0.025,
    tail_share=0.02,
    tail_loss=0.24,
    spell_begins=0.095,
    spell_goes_on=0.48,
    spell_loss=0.36,
    spell_run=0.19,
    contended=0.08,
    contended_in_spell=0.13,
    coverage_lost=0.11,
    contention_cost=0.8,
    network=0.01,
    goes_on=0.48,
    alike=0.25,
)
"""A production file system.

Fitted to a year of scheduled benchmarks on five file systems (scratch1 to 3 of Edison, cscratch of
Cori, mira-fs1 of Mira; NERSC and ALCF, published with pytokio), by medians over the file systems:
``run`` and ``day`` from benchmarks of one day and direction set against one another, days that are
busy by the median of their benchmarks, runs of both kinds of days by their coverage.
``spell_goes_on`` lies between 0.22 and 0.56 and is chosen so that 15 % of the days are busy, as in
the year.  Not fitted and yet similar: 14.4 % of the runs are below 80 % of their level (the year's
14.8 %), 4.7 % of the pairs of runs in a row both are (3.2 %; 7.2 % on the busiest).

Each benchmark wrote or read a whole file system without repeats, so the year does not show the
spread of single targets, hosts and repeats.  ``component`` is the spread of the peers of good
arrays (disks of a cluster in production: 0.012; ORNL accepts 5 to 7.5 % between all of a group).
``host`` is at most 0.033 in that cluster, perhaps caused by load; 0.02 is assumed.  ``repeat`` is
assumed as half of ``run``, a run's own noise and its tail as common to all of its repeats, and a
spell as common to all targets of a file system except for ``spell_run``.  The year has no test of a
network: ``network`` is assumed.  ``goes_on`` is of second benchmarks within 15 minutes of a low
one; ``alike``: of runs low on two days in a row 43 % lost the same within a tenth, compared with
24 % of any two low ones.
"""

CALLS_PER_S = 10_000.0
"""Calls per second of a healthy metadata target; losses are shares of it, so any figure does."""

NOISES = {"none": NONE, "quiet": QUIET, "year": YEAR}

REACHED = 0.88
"""Demonstrated / theoretical rate of a healthy path: Red Storm's 176.31 of 200 MB/s a port (section
V).  It only sets the distance to the ceiling, which no run exceeds."""


_COVERED_KINDS = ("device", "directory", "server-folder")
"""Kinds of targets whose traffic the measuring node can see."""


class Flow(NamedTuple):
    """One operation of one component; ``partner`` is empty except for pairs."""

    layer: str
    component: str
    operation: Operation
    scenario: Scenario
    partner: str = ""


class Member(NamedTuple):
    """One component in one layer: its expectation without baselines, and its shared losses.

    ``system`` is the file system whose busy days it shares, empty for a host; a metadata target has
    its own.  ``covered`` is whether the measuring node knows its other traffic meanwhile.
    """

    node: str
    expectation: Expectation
    system: str
    covered: bool

    @property
    def key(self) -> tuple[str, str]:
        """Return layer and component."""
        return self.expectation.layer, self.expectation.component

    def flows(self) -> Iterator[Flow]:
        """Yield its simulated operations, for each partner if there are any."""
        for operation, scenario, _ in simulated(self.expectation):
            step = (*self.key, operation, scenario)
            for partner in self.expectation.partners:
                yield Flow(*step, partner.name)
            if not self.expectation.partners:
                yield Flow(*step)


def simulated(expectation: Expectation) -> Iterator[tuple[Operation, Scenario, Reference]]:
    """Yield the steps whose rates are simulated: bytes that parts carry, and calls on metadata."""
    if LAYERS[expectation.layer].of_metadata:
        return expectation.runs()
    return expectation.steps_in_bytes()


class Longest(NamedTuple):
    """The node whose run of a layer takes longest, and its duration."""

    layer: str
    node: str
    seconds: float


class Fleet(NamedTuple):
    """A site with its measurements: ``periods_s`` is the time between two runs of each layer."""

    site: str
    members: tuple[Member, ...]
    periods_s: Mapping[str, float]
    speeds: Speeds
    kinds: Mapping[str, str]
    """The kind of each part, ``target`` of a target, METADATA of a metadata target."""
    services: tuple[Service, ...] = ()
    """The services of the plan, which show the verdicts."""
    paths: tuple[PathService, ...] = ()
    """The services of the plan that show the suspects."""
    parts: Mapping[str, SitePart] = MappingProxyType({})
    """Kind of each part of the plan."""
    demonstrated: Mapping[Flow, float] = MappingProxyType({})
    """Rates of flows while all is well, in bytes per second; others give a share of a ceiling."""
    after_s: Mapping[str, float] = MappingProxyType({})
    """Seconds from a slot to its tests, by layer; 0 for others."""

    @property
    def systems(self) -> tuple[str, ...]:
        """Return the file systems whose targets are measured."""
        return tuple(
            dict.fromkeys(
                member.system for member in self.members if LAYERS[member.key[0]].per_target
            )
        )

    def longest(self) -> Iterator[Longest]:
        """Yield for each layer the node whose run takes longest while everything is healthy."""
        for layer in (kind.name for kind in LAYERS.values() if kind.grouped):
            nodes: dict[str, list[Expectation]] = {}
            for member in self.members:
                if member.key[0] == layer:
                    nodes.setdefault(member.node, []).append(member.expectation)
            if nodes:
                seconds, node = max(
                    (seconds_of(expectations), node) for node, expectations in nodes.items()
                )
                yield Longest(layer, node, seconds)

    def neighbour(self, component: str) -> str:
        """Return the target or device that shares most parts with one.

        Raises:
            UsageError: there is no such target or device, or no other one shares a part with it.
        """
        own = [place for place in self.members if place.key[1] == component]
        for member in own:
            parts = set(member.expectation.path) - {component}
            candidates = [
                (len(parts.intersection(other.expectation.path)), other.key[1])
                for other in self.members
                if other.key[0] == member.key[0] and other.key[1] != component
            ]
            shared, name = max(candidates, key=lambda pair: pair[0], default=(0, ""))
            if shared:
                return name
        flaw = "shares no part with another one" if own else "is no target or device"
        raise UsageError(f"{component!r} {flaw}, so it has no neighbour; name two faults instead")


def build(topology: Topology, policy: Policy, healthy: Optional[Baselines] = None) -> Fleet:
    """Return the fleet of a site; ``healthy`` are its baselines while all is well.

    Raises:
        DocumentError: the documents do not fit together, nothing is measured, or a path has no part
            with a rate.
    """
    plan = compile_plan(topology, policy, {})
    systems = {target.on: target.file_system for target in topology.targets.values()}
    systems.update({target.name: target.file_system for target in topology.targets.values()})
    periods = {
        name: policy.layer(name).period_s() for name, layer in LAYERS.items() if layer.has_peers
    }
    # measurements of other layers have a noise of their own, which nobody has fitted; verbs have
    # that of TCP for lack of a better one
    members = tuple(
        Member(node, expectation, _system(expectation, systems), _covered(expectation, node))
        for node, expectations in plan.expectations.items()
        for expectation in expectations
        if expectation.layer in periods and any(simulated(expectation))
    )
    if not members:
        raise DocumentError(
            f"plumbline_topology: nothing of {topology.site} is measured; give it file systems "
            "with targets, devices, or hosts with addresses"
        )
    for member in members:
        _refuse_unlimited(member.expectation)
    kinds = {name: part.kind for name, part in topology.components.items()}
    kinds.update(dict.fromkeys(topology.targets, "target"))
    kinds.update(dict.fromkeys(topology.metadata, METADATA))
    return Fleet(
        topology.site,
        members,
        periods,
        speeds(topology),
        kinds,
        plan.services,
        plan.paths,
        plan.parts,
        _demonstrated(topology, members, healthy or {}),
        _after_s(policy),
    )


def _after_s(policy: Policy) -> dict[str, float]:
    schedules = {name: policy.layer(name).schedule for name in LAYERS}
    return {
        name: schedule.after for name, schedule in schedules.items() if isinstance(schedule, Slots)
    }


def _demonstrated(
    topology: Topology, members: Sequence[Member], healthy: Baselines
) -> dict[Flow, float]:
    """Return the baseline of each flow, or else its even share of a joint one.

    Of several joint baselines the one with the fewest flows counts, and of two layers the lower
    one.
    """
    shares: dict[tuple[str, str, str], float] = {}
    for sharing in reversed(list(sharings(topology))):
        for layer in reversed(BY_DEPTH):
            for operation in layer.operations:
                key = Key(layer.name, sharing.of, operation.value, Scenario.TOGETHER.value)
                for name in sharing.paths if key in healthy else ():
                    measured = OST.name if layer.on_targets else layer.name
                    component = topology.targets[name].on if layer.on_devices else name
                    share = healthy[key].median / len(sharing.paths)
                    shares[measured, component, key.operation] = share
    rates = {}
    for flow in (flow for member in members for flow in member.flows()):
        key = Key(flow.layer, flow.component, flow.operation.value, flow.scenario.value)
        if key in healthy:
            rates[flow] = healthy[key].median
        elif (flow.layer, flow.component, key.operation) in shares:
            rates[flow] = shares[flow.layer, flow.component, key.operation]
    return rates


def _system(expectation: Expectation, systems: Mapping[str, str]) -> str:
    if LAYERS[expectation.layer].joint:
        return systems.get(flows_of(expectation.target)[0].component, "")
    if LAYERS[expectation.layer].site_wide:
        return ""
    if LAYERS[expectation.layer].of_metadata:
        # each has users of its own
        return expectation.component
    return (
        expectation.group
        if LAYERS[expectation.layer].per_target
        else systems.get(expectation.component, expectation.group)
    )


def _covered(expectation: Expectation, node: str) -> bool:
    if LAYERS[expectation.layer].paired:
        return False
    if LAYERS[expectation.layer].joint:
        return LAYERS[flows_of(expectation.target)[0].layer].on_devices
    # the server of a Lustre target sees its traffic, a mere client does not
    local = expectation.target["kind"] == "lustre" and expectation.host == node
    return local or expectation.target["kind"] in _COVERED_KINDS


def _refuse_unlimited(expectation: Expectation) -> None:
    # of calls no part limits the rate
    for operation, _, reference in expectation.steps_in_bytes():
        if reference.ceiling is None and not expectation.partners:
            raise DocumentError(
                f"plumbline_topology: no part on the path of {expectation.component} has a "
                f"rate for {operation.value}; give one of "
                f"{', '.join(expectation.path)} a rate to simulate it"
            )


METADATA = "metadata"
"""Kind of metadata targets, which only faults of their own slow."""

RELEASE = "release-"
"""Prefix of the name of a release."""

SITE = "site"
"""Name of the whole site."""

NEIGHBOUR = "+neighbour"
"""Suffix of a target's or device's name, to include its nearest neighbour in the fault."""


REPAIRED_DAYS = 2
"""Two good moments end an alarm at the earliest."""


BEFORE = -(10**6)
"""The day of a fault that precedes the first one."""


class Fault(NamedTuple):
    """A component with ``1 - loss`` of its speed from ``day`` on; the first day is 1.

    ``component`` is a part or target; or a file system, the whole ``site``, ``release-2.4.0`` or
    ``release-2.4.0/scratch``, which slow flows and no part.  Day 0 is that of the installation,
    ``BEFORE`` precedes the days of the baselines.  ``operation`` is empty if all are slower; a
    ``loss`` below 0 is a replacement by something faster.

    It is repaired after the day ``last``, None if it stays; with a ``share`` below 1 it is slow on
    a random share of the days; a ``drift`` loses ``loss`` more each week.
    """

    component: str
    loss: float
    day: int = 1
    operation: str = ""
    last: Optional[int] = None
    share: float = 1.0
    drift: bool = False

    def on(self, day: int, seed: str) -> Optional[Fault]:
        """Return the fault as it is on a day, None if nothing is slower then."""
        if day < self.day or (self.last is not None and day > self.last):
            return None
        if self.share < 1 and Random(f"{seed}/{self}/{day}").random() >= self.share:
            return None
        if not self.drift:
            return self
        return self._replace(loss=1 - (1 - self.loss) ** ((day - self.since + 1) / 7))

    def blamed(self, day: int) -> bool:
        """Return whether an alarm is justified: it may stand until two days after a repair."""
        repaired = self.last is not None and day > self.last + REPAIRED_DAYS
        return self.day <= day and not repaired

    @property
    def version(self) -> str:
        """Return the version of a release, empty for other faults."""
        name, _, _ = self.component.partition("/")
        return name[len(RELEASE) :] if name.startswith(RELEASE) else ""

    @property
    def system(self) -> str:
        """Return the file system that a release is installed for, empty for all."""
        return self.component.partition("/")[2] if self.version else ""

    @property
    def since(self) -> int:
        """Return the first day that is judged."""
        return max(1, self.day)


class Losses(NamedTuple):
    """Losses to draw from: ``chosen`` ones, or a range from ``lowest`` to ``highest``."""

    lowest: float
    highest: float
    chosen: tuple[float, ...] = ()

    def draw(self, chance: Random) -> float:
        """Draw a loss."""
        if self.chosen:
            return chance.choice(self.chosen)
        return chance.uniform(self.lowest, self.highest)


_FAULT = re.compile(
    r"(?P<component>[^=]+)=(?P<loss>[^:@~/]+)(?P<week>/week)?"
    r"(?::(?P<operation>[a-z_]+))?"
    r"(?:@(?P<day>before|[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?)?"
    r"(?:~(?P<days>[0-9]{1,3})/(?P<of>[0-9]{1,3}))?"
)


def parse_fault(text: str) -> Fault:
    """Parse ``oss03-hba=40%`` or ``oss03-hba=40%:read@12``; raise UsageError for a wrong one."""
    match = _FAULT.fullmatch(text)
    operations = dict.fromkeys(op.value for layer in LAYERS.values() for op in layer.operations)
    if match and match["operation"] and match["operation"] not in operations:
        match = None
    if not match or not 0 < int(match["days"] or 1) <= int(match["of"] or 1):
        raise UsageError(
            f"fault {text!r} is not understood; write COMPONENT=LOSS[/week][:OPERATION]"
            "[@DAY[-LAST]][~DAYS/OF], for example oss03-hba=40%@12, release-2.4.0=70%:read@40, "
            "ost7=40%@5-9, ost7=40%@before-0 or ost7=40%~3/10, where day 1 is the first, 0 that of "
            "the installation, and before it baselines are taken; operations are "
            f"{', '.join(operations)}"
        )
    return Fault(
        match["component"],
        _percent(match["loss"], text, faster=True),
        BEFORE if match["day"] == "before" else int(match["day"] or 1),
        match["operation"] or "",
        None if match["last"] is None else int(match["last"]),
        int(match["days"] or 1) / int(match["of"] or 1),
        bool(match["week"]),
    )


def parse_losses(text: str) -> Losses:
    """Parse ``20-90%``, ``40%`` or ``15,20,30%``; raise UsageError for wrong ones."""
    first, dash, last = text.rstrip("%").partition("-")
    if dash:
        lowest, highest = _percent(first, text), _percent(last, text)
        if lowest > highest:
            raise UsageError(f"loss {text!r} begins above its end")
        return Losses(lowest, highest)
    chosen = tuple(_percent(loss, text) for loss in text.split(","))
    return Losses(min(chosen), max(chosen), chosen)


def _percent(text: str, argument: str, *, faster: bool = False) -> float:
    try:
        value = float(text.strip().rstrip("%")) / 100
    except ValueError:
        value = 0.0
    if not value or not (-1 if faster else 0) < value < 1:
        raise UsageError(
            f"the loss in {argument!r} is not understood; write percent between 0 and 100, for "
            "example 40%"
        )
    return value


def random_faults(
    components: Sequence[str], count: int, losses: Losses, days: int, seed: str
) -> tuple[Fault, ...]:
    """Return faults of ``count`` different components that begin in the first half of ``days``."""
    chance = Random(seed)
    return tuple(
        Fault(component, losses.draw(chance), chance.randint(1, max(1, days // 2)))
        for component in chance.sample(components, count)
    )


def refuse_unknown(
    faults: Iterable[Fault], parts: Collection[str], systems: Sequence[str], days: int
) -> None:
    """Refuse faults that begin after the last day, or that no measurement crosses.

    ``parts`` are those on a path, with the targets, ``systems`` the file systems.

    Raises:
        UsageError: it names the fault.
    """
    for fault in faults:
        if fault.version and fault.system not in ("", *systems):
            raise UsageError(
                f"{fault.component!r} is for no file system of this site; it has "
                f"{', '.join(systems) or 'none'}"
            )
        wide = fault.version or fault.component in (SITE, *systems)
        if not wide and fault.component not in parts:
            raise UsageError(
                f"no measurement of this site crosses {fault.component!r}; correct the name: "
                "plumbline plan shows the paths"
            )
        if fault.day > days:
            raise UsageError(f"the fault of {fault.component} begins after the last day, {days}")
