"""What the console tells one node about its own measurements, so that nodes need no topology."""

from __future__ import annotations

from plumbline.errors import DocumentError
from plumbline.model.kinds import numbers, rates_or_none, same_schema, texts
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.record import Operation, Scenario
from plumbline.model.reference import Ceiling, Reference
from plumbline.model.spec import ProbeSpec
from plumbline.model.threshold import Range

if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

    from plumbline.model.reference import Baseline

SCHEMA = 1


PARALLEL = "parallel"
"""The kind of target that all targets of a file system are together."""


class Limits(NamedTuple):
    """When a verdict is bad; the policy's numbers that apply to one component.

    ``warning`` and ``critical`` are ranges in percent of the baseline; ``peer_loss`` and
    ``min_coverage`` are fractions; ``invalid_above`` is a factor of the ceiling and
    ``min_efficiency`` the fraction of it that a healthy system demonstrates at least, 0 where
    nothing is asked; ``confirm_days``
    is the number of different days a mild loss against peers must last, and ``certainty`` how many
    standard errors the loss must be away from none; ``change_runs`` is the number of runs that show
    a lasting step down from the runs before; ``retransmit_share`` is the fraction of segments sent
    again that warns; ``fill_limit`` is the fraction above which a target
    is not written; a baseline alarms from ``min_runs`` runs and up to ``max_spread`` on; it holds
    while the target's fill differs by no more than ``fill_change``, a fraction of the target, and
    is to be renewed at an age of ``max_age_s``.  ``profile_distance`` is the fraction of its bytes
    that a run may have moved earlier or later than the baseline's profile has them.
    ``stale_after_s``: age at which the last record is too old.  ``hung_after_s``: a run that lasts
    longer hangs.
    """

    warning: Range = Range(80, float("inf"))
    critical: Range = Range(50, float("inf"))
    peer_loss: float = 0.10
    confirm_days: int = 3
    certainty: float = 2.5
    change_runs: int = 6
    min_coverage: float = 0.9
    invalid_above: float = 1.05
    min_efficiency: float = 0.0
    retransmit_share: float = 0.005
    fill_limit: float = 0.90
    min_runs: int = 5
    max_spread: float = 0.10
    fill_change: float = 0.20
    max_age_s: float = 180 * 86400.0
    profile_distance: float = 0.10
    stale_after_s: float = 129600.0
    hung_after_s: float = 900.0

    def weakness(self, baseline: Baseline) -> str:
        """Return why a baseline is not firm enough to alarm anybody; empty when it is."""
        if baseline.runs < self.min_runs:
            return f"rests on {baseline.runs} runs of {self.min_runs} needed"
        if baseline.spread > self.max_spread:
            return (
                f"spreads by {100 * baseline.spread:.0f} %, more than {100 * self.max_spread:.0f} %"
            )
        return ""

    def to_json(self) -> dict[str, Any]:
        """Return the document form, ranges as text."""
        raw = self._asdict()
        raw["warning"], raw["critical"] = str(self.warning), str(self.critical)
        return raw

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Limits:
        """Build from the document form; raise TypeError or DocumentError for wrong values."""
        values = dict(raw)
        for key in ("warning", "critical"):
            if key in values:
                values[key] = Range.parse(values[key])
        limits = cls(**values)
        numbers(**{key: value for key, value in values.items() if not isinstance(value, Range)})
        return limits


class Partner(NamedTuple):
    """The other host of a network pair: its storage address and the pair's path and ceiling."""

    name: str
    address: str
    path: tuple[str, ...]
    ceiling: Ceiling


class Expectation(NamedTuple):
    """One component in one layer, as the node that measures it must know it.

    ``host`` is the Nagios host whose part is judged.  ``group`` names the peers: the components
    of one node and layer with the same group are siblings.  ``target`` says how the component is
    reached: ``kind`` and that kind's own keys.  ``references`` is keyed ``operation/scenario``, in
    the order of measuring.  ``partners`` are set for the layer ``net`` alone, in the order of the
    rounds (see plumbline.plan.rounds); ``address`` is then the host's own storage address.
    """

    layer: str
    component: str
    host: str
    group: str
    target: Mapping[str, Any]
    path: tuple[str, ...]
    spec: ProbeSpec
    references: Mapping[str, Reference]
    limits: Limits
    partners: tuple[Partner, ...] = ()

    @property
    def parallel(self) -> bool:
        """Return whether this is a file system as a whole, all targets driven at once.

        Its targets are those of layer ``fs`` whose group has its name.
        """
        return self.target.get("kind") == PARALLEL

    def reference(self, operation: Operation, scenario: Scenario) -> Reference:
        """Return both references of one operation, empty ones where the console gave none."""
        return self.references.get(f"{operation.value}/{scenario.value}", Reference(None, None))

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        raw = self._asdict()
        raw["spec"] = self.spec.to_json()
        raw["references"] = {key: value.to_json() for key, value in self.references.items()}
        raw["limits"] = self.limits.to_json()
        raw["partners"] = [
            {**partner._asdict(), "ceiling": partner.ceiling._asdict()} for partner in self.partners
        ]
        return raw

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Expectation:
        """Build from the document form; raise KeyError, TypeError or DocumentError."""
        values = dict(raw)
        values["path"] = tuple(raw["path"])
        values["spec"] = ProbeSpec.from_json(raw["spec"])
        values["references"] = {k: Reference.from_json(v) for k, v in raw["references"].items()}
        values["limits"] = Limits.from_json(raw["limits"])
        values["partners"] = tuple(_partner(entry) for entry in raw.get("partners", ()))
        texts("text", (raw["layer"], raw["component"], raw["host"], raw["group"]))
        return cls(**values)


def _partner(raw: Mapping[str, Any]) -> Partner:
    texts("partner", (raw["name"], raw["address"]))
    ceiling = Ceiling.from_json(raw["ceiling"])
    return Partner(raw["name"], raw["address"], tuple(raw["path"]), ceiling)


class Neighbour(NamedTuple):
    """A part next to a node, such as its network adapter; ``rate_Bps`` None if it never limits."""

    name: str
    kind: str
    rate_Bps: Optional[float]


class Expectations(NamedTuple):
    """The document of one node: its name, the site's name and all of its measurements."""

    node: str
    site: str
    entries: tuple[Mapping[str, Any], ...]
    """Still in document form: a check builds only the entries that it needs."""
    neighbours: tuple[Neighbour, ...] = ()
    """The parts that the node feeds or is fed by; none in a document of an older version."""

    def find(self, layer: str, component: Optional[str] = None) -> tuple[Expectation, ...]:
        """Return the expectations of ``layer`` (of one component), in measuring order.

        Raises:
            DocumentError: there is none, or it is damaged; the message names node and component.
        """
        found = self._build(layer, "component", component)
        return self._some(found, component or "component", layer)

    def members(self, layer: str, group: str) -> tuple[Expectation, ...]:
        """Return the expectations of all components of ``group`` in ``layer``, as ``find`` does."""
        return self._some(self._build(layer, "group", group), f"group {group}", layer)

    def _some(
        self, found: tuple[Expectation, ...], what: str, layer: str
    ) -> tuple[Expectation, ...]:
        if not found:
            raise DocumentError(
                f"expectations of {self.node} have no {what} in layer {layer}; "
                "add it to the topology and deploy the role agent again"
            )
        return found

    def _build(self, layer: str, key: str, wanted: Optional[str]) -> tuple[Expectation, ...]:
        try:
            return tuple(
                Expectation.from_json(entry)
                for entry in self.entries
                if entry["layer"] == layer and wanted in (None, entry[key])
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DocumentError(
                f"expectations of {self.node}: an entry of layer {layer} is damaged ({error!r}); "
                "deploy the role agent again"
            ) from error

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {
            "schema": SCHEMA,
            "node": self.node,
            "site": self.site,
            "neighbours": [neighbour._asdict() for neighbour in self.neighbours],
            # the last, see plumbline.store.excerpt
            "entries": self.entries,
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Expectations:
        """Build from the document form; raise DocumentError when it is not one of this schema."""
        try:
            same_schema(raw, SCHEMA, "the document of expectations", "deploy the role agent again")
            neighbours = tuple(map(_neighbour, raw.get("neighbours", ())))
            return cls(raw["node"], raw["site"], tuple(raw["entries"]), neighbours)
        except (KeyError, TypeError) as error:
            raise DocumentError(
                f"expectations are damaged ({error!r}); deploy the role agent again"
            ) from error


def _neighbour(raw: Mapping[str, Any]) -> Neighbour:
    found = Neighbour(raw["name"], raw["kind"], raw["rate_Bps"])
    texts("neighbour", (found.name, found.kind))
    rates_or_none(rate_Bps=found.rate_Bps)
    return found
