"""The policy of a site: limits, terms of the probes, schedules, defaults.

All keys are optional.  A value for a component overrides that for its group, which overrides that
for its layer, which overrides that for the site.  docs/policy.md explains the format with examples.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, Union

from pydantic import Field, PlainValidator, create_model, field_validator, model_validator

from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.expectation import MAX_RUNS
from plumbline.model.layers import LAYERS, layer_of
from plumbline.model.layers import layer as model
from plumbline.model.limits import Limits, Range
from plumbline.model.names import PATH, PROGRAM, SCRATCH
from plumbline.model.ranks import TESTS, Method, may_be_direct, named_test
from plumbline.model.small_reads import TAIL
from plumbline.model.spec import MAX_DEPTH, MAX_REPEATS, ProbeSpec
from plumbline.model.units import format_duration
from plumbline.plan.looks import ConditionsPolicy, SpacePolicy, SymptomsPolicy
from plumbline.plan.schedule import (
    Calendar,
    EarlyTimer,
    FirstTimer,
    LastTimer,
    LaterSlots,
    LaterTimer,
    Slots,
    Timer,
    TwoDaysTimer,
)
from plumbline.topology.names import expand
from plumbline.topology.strict import (
    Duration,
    Fill,
    Loss,
    OperationTime,
    Percent,
    Rate,
    Size,
    Strict,
    parse,
)

_REFERENCE = 100.0
"""Rate of a healthy component, in percent of its reference."""


def _range(value: object) -> Range:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is no range; write for example '80:'")
    try:
        levels = Range.parse(value)
    except DocumentError as error:
        raise ValueError(str(error)) from error
    if levels.alerts(_REFERENCE):
        raise ValueError(
            f"{value!r} alarms at 100 % of the reference too; write '80:' for what is below 80 %"
        )
    if 0 < levels.start <= 1:
        raise ValueError(f"{value!r} is in percent; write '80:' for what is below 80 %")
    return levels


Threshold = Annotated[Range, PlainValidator(_range)]


class Goal(Strict):
    """Promised rate in each direction, in bytes per second; None without a goal."""

    write: Optional[Rate] = None
    read: Optional[Rate] = None

    @model_validator(mode="before")
    @classmethod
    def _of_both(cls, goal: object) -> object:
        return {"write": goal, "read": goal} if isinstance(goal, str) else goal


class ConfirmPolicy(Strict):
    """Confirmation: most runs, least time between them, allowed hours and bytes.

    ``bytes`` is a share of the bytes of the layer's planned runs.  ``runs: 0`` disables it.
    """

    runs: Annotated[int, Field(ge=0, le=MAX_RUNS)] = 7
    every: Duration = 3600.0
    bytes: Percent = 0.05
    calendar: Calendar = "*-*-* 05..11:06"
    randomized_delay: Duration = 300.0
    limit: Duration = 1500.0

    @model_validator(mode="after")
    def _has_bytes(self) -> ConfirmPolicy:
        if self.runs and not self.bytes:
            raise ValueError("confirm has no bytes; write runs: 0 to switch it off")
        return self


class LaterConfirmPolicy(ConfirmPolicy):
    """Default for devices, half an hour later: they are read while their targets are idle."""

    calendar: Calendar = "*-*-* 05..11:36"
    limit: Duration = 1200.0


class LastConfirmPolicy(ConfirmPolicy):
    """Default for targets on their servers, after the hours of clients and devices."""

    calendar: Calendar = "*-*-* 12..18:06"


_NET_PORT = 12865
_RDMA_PORT = 18515
"""Default of perftest."""
_LOWEST_PORT = 1024
"""Lower ports need root, and the receiving end runs as another user."""


class LimitsPolicy(Strict):
    """Limits of a verdict, with the meanings of model.limits.Limits."""

    warning: Optional[Threshold] = None
    critical: Optional[Threshold] = None
    peer_loss: Optional[Loss] = None
    min_coverage: Optional[Percent] = None
    invalid_above: Annotated[Optional[float], Field(ge=1, le=1000)] = None
    min_efficiency: Optional[Percent] = None
    retransmit_share: Optional[Percent] = None
    fill_limit: Optional[Fill] = None
    min_runs: Annotated[Optional[int], Field(ge=1, le=1_000_000)] = None
    max_spread: Optional[Percent] = None
    fill_change: Optional[Percent] = None
    max_age: Optional[Duration] = None
    profile_distance: Optional[Percent] = None
    hung_after: Optional[Duration] = None


class ProbePolicy(Strict):
    """Terms of a probe, with the meanings of model.spec.ProbeSpec."""

    tool: Optional[str] = None
    bytes: Optional[Size] = None
    seconds: Optional[OperationTime] = None
    transfer: Optional[Size] = None
    queue_depth: Annotated[Optional[int], Field(ge=1, le=MAX_DEPTH)] = None
    repeats: Annotated[Optional[int], Field(ge=1, le=MAX_REPEATS)] = None
    rate_cap: Optional[Rate] = None
    direct: Optional[bool] = None


class Override(Strict):
    """Overrides for one group or component."""

    limits: LimitsPolicy = LimitsPolicy()
    probe: ProbePolicy = ProbePolicy()


class GroupOverride(Override):
    """Overrides for one group, and its promised rate in bytes per second."""

    goal: Goal = Goal()


class Layer(Strict):
    """Rules of one layer, and the overrides of its groups and components."""

    limits: LimitsPolicy = LimitsPolicy()
    probe: ProbePolicy = ProbePolicy()
    schedule: Union[Timer, Slots]
    judge: list[str] = []
    """Names of further quantities to judge besides the rates."""
    groups: dict[str, GroupOverride] = {}
    components: dict[str, Override] = {}

    def default_spec(self, layer: model.Layer) -> ProbeSpec:
        """Return the terms of the layer before anything that the policy sets of its probe."""
        return layer.spec

    def default_floor(self, layer: model.Layer) -> float:
        """Return the least share of a ceiling before anything that the policy sets of limits."""
        return layer.min_efficiency

    def period_s(self) -> float:
        """Return the period in which each component is measured, in seconds."""
        return self.schedule.period_s()

    def stale_after_s(self, members: int) -> float:
        """Return the age at which a result of ``members`` components is outdated, in seconds."""
        return self.schedule.stale_after_s(members)


class TimedLayer(Layer):
    """A layer with a calendar."""

    schedule: Timer = Timer()


class TargetLayer(TimedLayer):
    """A layer that measures target by target."""

    confirm: ConfirmPolicy = ConfirmPolicy()


class OstLayer(TargetLayer):
    """The layer of storage targets; ``random_reads`` are file systems with small reads."""

    judge: list[str] = [TAIL]
    random_reads: list[str] = []


class RawLayer(TargetLayer):
    """The layer of block devices."""

    judge: list[str] = [TAIL]
    schedule: LaterTimer = LaterTimer()
    confirm: LaterConfirmPolicy = LaterConfirmPolicy()


class OssLayer(TargetLayer):
    """The layer of targets on their own servers."""

    schedule: FirstTimer = FirstTimer()
    confirm: LastConfirmPolicy = LastConfirmPolicy()


class NetLayer(Layer):
    """The layer of host pairs, which runs in slots."""

    schedule: Slots = Slots()
    port: Annotated[int, Field(ge=_LOWEST_PORT, le=65535)] = _NET_PORT

    @model_validator(mode="after")
    def _promises_nothing(self) -> NetLayer:
        for name, override in self.groups.items():
            if override.goal.write or override.goal.read:
                raise ValueError(
                    f"groups {name} has a goal, but hosts are not measured at once; "
                    "give limits min_efficiency"
                )
        return self


class RdmaLayer(NetLayer):
    """The layer of RDMA adapters, which runs in the slots of host pairs, after TCP.

    ``port`` is the first of those on which the receiving ends wait: three for each rail.
    """

    schedule: LaterSlots = LaterSlots()
    port: Annotated[int, Field(ge=_LOWEST_PORT, le=65535)] = _RDMA_PORT


_SHARED = 0.5
"""Healthy shared files gave 31 % (Jaguar's writes) to 58 % of the ceiling, files for each rank
60 to 100 %: docs/policy.md."""


def of_test(spec: ProbeSpec, test: Method) -> ProbeSpec:
    """Return the terms with transfer size and direct I/O of a test."""
    return spec._replace(transfer_bytes=test.transfer, direct=may_be_direct(test))


class FsLayer(TimedLayer):
    """The layer that drives all targets of a file system at once; disabled without ``clients``.

    ``clients`` are names and ranges; the first client launches the ranks, with ``launcher``;
    ``work`` is a folder on all clients.  All targets of a file system have the same probe.
    ``memory`` is that of a client: without explicit bytes, each client moves 1.5 times as much.
    ``budget`` is the limit of bytes written by one run.  The ``tests`` run in turn; the first one
    also judges the targets, and has the probe's transfer size.
    """

    schedule: LastTimer = LastTimer()
    clients: list[str] = []
    ranks_per_target: Annotated[int, Field(ge=1, le=100_000)] = 1
    tests: Annotated[list[str], Field(min_length=1)] = list(TESTS)
    launcher: Annotated[str, Field(min_length=1)] = "mpirun"
    work: str = ""
    memory: Optional[Size] = None
    budget: Optional[Size] = None

    @field_validator("clients")
    @classmethod
    def _are_names(cls, texts: list[str]) -> list[str]:
        try:
            return [name for text in texts for name in expand(text)]
        except DocumentError as error:
            raise ValueError(str(error)) from error

    @field_validator("tests")
    @classmethod
    def _are_tests(cls, names: list[str]) -> list[str]:
        try:
            tests = [named_test(name).name for name in names]
        except UsageError as error:
            raise ValueError(str(error)) from error
        for name, number in Counter(tests).items():
            if number > 1:
                raise ValueError(f"tests names {name} twice; name each test once")
        return tests

    @property
    def first(self) -> Method:
        """The test that judges the targets too."""
        return named_test(self.tests[0])

    def default_spec(self, layer: model.Layer) -> ProbeSpec:
        """Return the terms of the first test."""
        return of_test(layer.spec, self.first)

    def default_floor(self, layer: model.Layer) -> float:
        """Return the layer's least share of a ceiling, half of it for ranks that share a file."""
        return layer.min_efficiency * (_SHARED if self.first.shared else 1.0)

    def period_s(self) -> float:
        """Return the period of each test in seconds."""
        return len(self.tests) * self.schedule.period_s()

    def stale_after_s(self, members: int) -> float:
        """Return the age at which a result is outdated, in seconds.

        With several tests the default is two rounds: every other run may repeat a low test.
        """
        alone = len(self.tests) == 1 or self.schedule.stale_after
        return self.schedule.stale_after_s(members) if alone else 2 * self.period_s()

    @model_validator(mode="after")
    def _can_be_launched(self) -> FsLayer:
        for name, number in Counter(self.clients).items():
            if number > 1:
                raise ValueError(f"clients names {name} twice; name each client once")
        try:
            PROGRAM.refuse("launcher", self.launcher)
            for allowed in (PATH, SCRATCH):
                allowed.refuse("work", self.work or "/")
        except DocumentError as error:
            raise ValueError(str(error)) from error
        if self.work == "/":
            raise ValueError("work is the folder of all; name one that is for plumbline alone")
        if len(self.clients) > 1 and not self.work:
            raise ValueError(
                "several clients need work, a folder that all of them see, for example one on the "
                "file system that is measured"
            )
        return self

    @model_validator(mode="after")
    def _keeps_results_of_a_round(self) -> FsLayer:
        stale_s, round_s = self.schedule.stale_after, self.period_s()
        if stale_s is not None and stale_s < round_s:
            raise ValueError(
                f"schedule stale_after is shorter than the {format_duration(round_s)} in which "
                f"each of {len(self.tests)} tests had its turn; raise it, or leave out tests"
            )
        return self

    @model_validator(mode="after")
    def _is_one_probe(self) -> FsLayer:
        probes = [("probe", self.probe)]
        probes += [
            (f"groups {name} probe", group_override.probe)
            for name, group_override in self.groups.items()
        ]
        for where, probe in probes:
            for key in sorted(probe.model_fields_set - _OF_RANKS):
                raise ValueError(f"{where} has no {key}; known are {', '.join(sorted(_OF_RANKS))}")
        for name, override in self.components.items():
            if override.probe.model_fields_set:
                raise ValueError(
                    f"components {name} has a probe of its own, but all targets of a file system "
                    "are measured alike; move it to the file system's group"
                )
        return self


_OF_RANKS = {"bytes", "seconds", "transfer", "direct"}
"""Terms that apply to ranks."""


class MdtLayer(TimedLayer):
    """The layer of metadata targets, which are compared with their calm hours: no confirmation."""

    schedule: EarlyTimer = EarlyTimer()


class SharedLayer(TimedLayer):
    """The layer of shared parts, with the terms of the layers whose reads it drives.

    No flow starts while others move more than ``max_load`` of its rate; ``budget`` is that of a
    round of all parts.
    """

    schedule: TwoDaysTimer = TwoDaysTimer()
    max_load: Percent = 0.1
    budget: Optional[Size] = None

    @model_validator(mode="after")
    def _has_terms_of_others(self) -> SharedLayer:
        overrides = {**self.groups, **self.components}.items()
        probes = {f"{name} probe": override.probe for name, override in overrides}
        for where, probe in {"probe": self.probe, **probes}.items():
            for key in sorted(probe.model_fields_set - _OF_FLOWS):
                raise ValueError(f"{where} has no {key}: set it in the layer whose reads it drives")
        return self


_OF_FLOWS = {"bytes", "seconds"}
"""Terms of a shared part's flows that are not those of their layer."""


class Layers(Strict):
    """Layers with specific rules; a missing layer has the defaults."""

    ost: OstLayer = OstLayer()
    raw: RawLayer = RawLayer()
    net: NetLayer = NetLayer()
    fs: FsLayer = FsLayer()
    mdt: MdtLayer = MdtLayer()
    oss: OssLayer = OssLayer()
    shared: SharedLayer = SharedLayer()
    rdma: RdmaLayer = RdmaLayer()


if TYPE_CHECKING:
    EveryLayer = Layers
else:
    EveryLayer = create_model(
        "EveryLayer",
        __base__=Layers,
        **{
            name: (TargetLayer, TargetLayer()) for name in LAYERS if name not in Layers.model_fields
        },
    )
    """All layers; those measured target by target have the rules of targets."""


class Policy(Strict):
    """The policy of a site."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    limits: LimitsPolicy = LimitsPolicy()
    alarm_budget: Annotated[float, Field(ge=0.001, le=1000)] = 0.5
    """Allowed false alarms of the whole site per month; the least is one in 83 years."""
    job_users: bool = False
    """Whether the users of jobs may be shown."""
    drop_caches: list[str] = []
    """Clients on which root may drop caches, by name or range."""
    layers: EveryLayer = EveryLayer()
    symptoms: SymptomsPolicy = SymptomsPolicy()
    """Services for symptoms of hardware and kernel."""
    conditions: ConditionsPolicy = ConditionsPolicy()
    """Parameters of Lustre whose changes are tracked."""
    space: Optional[SpacePolicy] = None
    """Services for the space of file systems; None for none."""

    def measures(self, name: str) -> bool:
        """Return whether a layer is measured, by default or because the policy names it."""
        return not LAYERS[name].if_named or name in self.layers.model_fields_set

    def periods_s(self) -> dict[str, float]:
        """Return the seconds between two runs of each measured layer."""
        return {name: self.layer(name).period_s() for name in LAYERS if self.measures(name)}

    def layer(self, name: str) -> Layer:
        """Return the rules of a layer."""
        rules: Layer = getattr(self.layers, name)
        return rules


_FIELDS = {
    "transfer": "transfer_bytes",
    "rate_cap": "rate_cap_Bps",
    "hung_after": "hung_after_s",
    "max_age": "max_age_s",
}
"""Fields of ProbeSpec and Limits whose keys have other names."""


def load(raw: object) -> Policy:
    """Return the policy of a parsed YAML mapping, with defaults for missing keys.

    Raises:
        DocumentError: a key or value is not understood; the message names it.
    """
    return parse(Policy, {} if raw is None else raw, "plumbline_policy")


def explicit(policy: Policy, layer: str, group: str, component: str, part: str) -> dict[str, Any]:
    """Return what the policy itself sets of a component's ``limits`` or ``probe``, by field."""
    rules = policy.layer(layer)
    levels = (policy, rules, rules.groups.get(group), rules.components.get(component))
    documents = (getattr(level, part, None) for level in levels)
    return {
        _FIELDS.get(key, key): getattr(document, key)
        for document in documents
        if document is not None
        for key in document.model_fields_set
    }


def spec_of(policy: Policy, layer: str, group: str, component: str) -> ProbeSpec:
    """Return the terms for one component."""
    terms = explicit(policy, layer, group, component, "probe")
    return policy.layer(layer).default_spec(layer_of(layer))._replace(**terms)


def limits_of(policy: Policy, layer: str, group: str, component: str) -> Limits:
    """Return the limits for one component, without those that follow from its schedule."""
    limits = explicit(policy, layer, group, component, "limits")
    floor = policy.layer(layer).default_floor(layer_of(layer))
    return Limits(min_efficiency=floor)._replace(**limits)


def goal_of(policy: Policy, layer: str, group: str, direction: str) -> Optional[float]:
    """Return the goal of a group for ``write`` or ``read``, in bytes per second."""
    rules = policy.layer(layer).groups.get(group)
    goal: Optional[float] = getattr(rules.goal, direction, None) if rules else None
    return goal
