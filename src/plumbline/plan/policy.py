"""The policy as a person types it: limits, terms of the probes, and schedules, with defaults.

Everything may be left out.  What is said for a component beats what is said for its group, that
beats its layer, that beats the site.  The form is explained with examples in docs/policy.md.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Optional

from pydantic import Field, PlainValidator, model_validator

from plumbline.errors import DocumentError
from plumbline.model.expectation import Limits
from plumbline.model.spec import ProbeSpec
from plumbline.model.threshold import Range
from plumbline.topology.strict import Duration, Percent, Rate, Size, Strict, parse

LAYERS = ("ost", "raw", "net")
_DAY_S = 86400
_NET_PORT = 12865


def _range(value: object) -> Range:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no range; write for example '80:'")
    try:
        return Range.parse(value)
    except DocumentError as error:
        raise ValueError(str(error)) from error


Threshold = Annotated[Range, PlainValidator(_range)]


class LimitsPolicy(Strict):
    """When a verdict is bad; the names and meanings are those of model.expectation.Limits."""

    warning: Optional[Threshold] = None
    critical: Optional[Threshold] = None
    peer_loss: Optional[Percent] = None
    confirm_days: Annotated[Optional[int], Field(ge=1)] = None
    certainty: Annotated[Optional[float], Field(gt=0)] = None
    change_runs: Annotated[Optional[int], Field(ge=2)] = None
    min_coverage: Optional[Percent] = None
    invalid_above: Annotated[Optional[float], Field(ge=1)] = None
    retransmit_share: Optional[Percent] = None
    fill_limit: Optional[Percent] = None
    min_runs: Annotated[Optional[int], Field(ge=1)] = None
    max_spread: Optional[Percent] = None
    fill_change: Optional[Percent] = None
    max_age: Optional[Duration] = None
    hung_after: Optional[Duration] = None


class ProbePolicy(Strict):
    """The terms of a probe; the meanings are those of model.spec.ProbeSpec."""

    tool: Optional[str] = None
    bytes: Optional[Size] = None
    seconds: Optional[Duration] = None
    block: Optional[Size] = None
    queue_depth: Annotated[Optional[int], Field(ge=1)] = None
    repeats: Annotated[Optional[int], Field(ge=1)] = None
    rate_cap: Optional[Rate] = None
    direct: Optional[bool] = None


class Override(Strict):
    """What differs for one group or component."""

    limits: LimitsPolicy = LimitsPolicy()
    probe: ProbePolicy = ProbePolicy()


class Timer(Strict):
    """When a layer runs: systemd's calendar, and how often that is."""

    calendar: str = "*-*-* 02:00"
    every: Duration = float(_DAY_S)
    randomized_delay: Duration = 1800.0
    limit: Duration = 3600.0
    stale_after: Optional[Duration] = None

    @model_validator(mode="after")
    def _says_how_often(self) -> Timer:
        if ("calendar" in self.model_fields_set) != ("every" in self.model_fields_set):
            raise ValueError(
                "calendar and every belong together, for example calendar '*-*-* 02:00', every 1 d"
            )
        if self.stale_after is not None and self.stale_after < self.every:
            raise ValueError("stale_after is shorter than every, so each result would go stale")
        return self

    def stale_after_s(self) -> float:
        """Return the age that is too old: given, or half as long again as the period."""
        return self.stale_after or 1.5 * self.every


class Slots(Strict):
    """When pairs of hosts meet: at the start of each slot, for the window."""

    slot: Duration = 3600.0
    window: Duration = 300.0
    stale_after: Optional[Duration] = None

    @model_validator(mode="after")
    def _fits_the_clock(self) -> Slots:
        divides_hour = not self.slot % 60 and not 3600 % self.slot
        divides_day = not self.slot % 3600 and not _DAY_S % self.slot
        if not (divides_hour or divides_day):
            raise ValueError(
                "slot must divide an hour or a day evenly, for example 15 min, 1 h or 4 h"
            )
        if self.window >= self.slot:
            raise ValueError("window must be shorter than slot")
        if self.stale_after is not None and self.stale_after < self.slot:
            raise ValueError("stale_after is shorter than slot, so each result would go stale")
        return self

    def calendar(self) -> str:
        """Return the slots as systemd's calendar; UTC, because slots count from the epoch."""
        if self.slot < 3600:
            return f"*-*-* *:0/{self.slot / 60:.0f}:00 UTC"
        return f"*-*-* 0/{self.slot / 3600:.0f}:00:00 UTC"


class Layer(Strict):
    """The rules of one layer, and where its groups and components differ."""

    limits: LimitsPolicy = LimitsPolicy()
    probe: ProbePolicy = ProbePolicy()
    groups: dict[str, Override] = {}
    components: dict[str, Override] = {}


class TimedLayer(Layer):
    """A layer that runs by the calendar: ost and raw."""

    schedule: Timer = Timer()


class NetLayer(Layer):
    """The layer of host pairs, that runs by slots."""

    schedule: Slots = Slots()
    port: Annotated[int, Field(ge=1, le=65535)] = _NET_PORT


class Layers(Strict):
    """All layers; one that is left out has the defaults."""

    ost: TimedLayer = TimedLayer()
    raw: TimedLayer = TimedLayer()
    net: NetLayer = NetLayer()


class Policy(Strict):
    """The whole policy of a site."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    limits: LimitsPolicy = LimitsPolicy()
    layers: Layers = Layers()

    def layer(self, name: str) -> Layer:
        """Return the rules of one of LAYERS."""
        found: Layer = getattr(self.layers, name)
        return found


_SPECS = {
    "ost": ProbeSpec("fio", bytes=1 << 30, seconds=60.0, block_bytes=1 << 20, queue_depth=8),
    "raw": ProbeSpec("sgp_dd", bytes=1 << 30, seconds=60.0, block_bytes=1 << 20, queue_depth=8),
    "net": ProbeSpec("netperf", bytes=0, seconds=10.0, queue_depth=1, repeats=1, direct=False),
}
_SPEC_FIELDS = {"block": "block_bytes", "rate_cap": "rate_cap_Bps"}
_LIMIT_FIELDS = {"hung_after": "hung_after_s", "max_age": "max_age_s"}


def load(raw: object) -> Policy:
    """Return the policy of a parsed YAML mapping; an empty one has all defaults.

    Raises:
        DocumentError: a key or value that is not understood; the message names it.
    """
    return parse(Policy, raw or {}, "plumbline_policy")


def spec_of(policy: Policy, layer: str, group: str, component: str) -> ProbeSpec:
    """Return the terms that apply to one component."""
    rules = policy.layer(layer)
    overrides = _overrides(rules, group, component)
    merged = _merge([rules.probe, *(override.probe for override in overrides)], _SPEC_FIELDS)
    return _SPECS[layer]._replace(**merged)


def limits_of(policy: Policy, layer: str, group: str, component: str) -> Limits:
    """Return the limits that apply to one component, without what follows from its schedule."""
    rules = policy.layer(layer)
    overrides = _overrides(rules, group, component)
    merged = _merge(
        [policy.limits, rules.limits, *(override.limits for override in overrides)], _LIMIT_FIELDS
    )
    return Limits()._replace(**merged)


def hung_after_given(policy: Policy, layer: str, group: str, component: str) -> bool:
    """Return whether a person has set the time after which a run of the component hangs."""
    rules = policy.layer(layer)
    overrides = _overrides(rules, group, component)
    said = [policy.limits, rules.limits, *(override.limits for override in overrides)]
    return any(limits.hung_after is not None for limits in said)


def _overrides(rules: Layer, group: str, component: str) -> list[Override]:
    """Return what differs, the most particular last."""
    found = [rules.groups.get(group), rules.components.get(component)]
    return [override for override in found if override is not None]


def _merge(documents: list[Any], fields: dict[str, str]) -> dict[str, Any]:
    """Return what is said, the last word winning, by the names of the values."""
    merged: dict[str, Any] = {}
    for document in documents:
        said = {key: getattr(document, key) for key in document.model_fields_set}
        merged.update({fields.get(key, key): value for key, value in said.items()})
    return merged
