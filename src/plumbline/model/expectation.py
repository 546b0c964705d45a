"""Expectations: the console's instructions to a node, what to measure with which limits."""

from __future__ import annotations

import marshal
from functools import lru_cache
from math import log
from typing import (
    Annotated,
    Any,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    TypeVar,
)

from plumbline.model.codec import form, lenient, read, write, write_fields
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Subject
from plumbline.model.limits import Ceiling, Limits, Reference
from plumbline.model.quantity import BYTES_PER_S
from plumbline.model.record import Operation, Scenario
from plumbline.model.shared import SharedReads
from plumbline.model.space import SpaceTerms
from plumbline.model.spec import ProbeSpec
from plumbline.model.validation import Within, amounts, counts, rates, texts, unicode_text

MAX_RUNS = 100


class Confirm(NamedTuple):
    """Terms of confirmation: extra runs of a low component between two planned runs.

    ``runs`` is the largest number of extra runs, 0 for none, and ``every_s`` their least interval.
    ``daily_bytes`` is the daily average that all confirmation of a node and layer may move,
    ``most_bytes`` the most of it that may be saved up.
    """

    runs: Annotated[int, counts, Within(0, MAX_RUNS)] = 0
    every_s: Annotated[float, amounts] = 3600.0
    daily_bytes: Annotated[float, amounts] = 0.0
    most_bytes: Annotated[float, amounts] = 0.0


OFF = Confirm()


class Measured(NamedTuple):
    """Measurement that confirmation has started, with any outcome.

    ``at`` is in seconds since the epoch; ``bytes`` is the most it may move; ``control`` is True for
    a healthy peer, measured for comparison.
    """

    run_id: str
    at: float
    layer: str
    component: str
    bytes: int
    control: bool


T = TypeVar("T")

ALONE = 0
"""Wave number of an expectation that is measured alone."""


def in_waves(entries: Iterable[T], number: Callable[[T], int]) -> list[list[T]]:
    """Group entries by wave number; waves are in the order of their first entries."""
    waves: list[list[T]] = []
    numbered: dict[int, list[T]] = {}
    for entry in entries:
        wave = number(entry)
        if wave in numbered:
            numbered[wave].append(entry)
            continue
        waves.append([entry])
        if wave != ALONE:
            numbered[wave] = waves[-1]
    return waves


SCHEMA = 1


_USUAL_SPREADS = 2
"""Standard deviations of the logarithms of a baseline's runs within which a rate is usual."""

PARALLEL = "parallel"
"""Kind of target for all targets of a file system together."""


@lenient
class Partner(NamedTuple):
    """Partner in a network pair: its storage address, and path and ceiling of the pair."""

    name: str
    address: str
    path: tuple[str, ...]
    ceiling: Ceiling


class Expectation(NamedTuple):
    """Instructions to measure one component in one layer.

    ``host`` is the Nagios host of the component.  Components of one node and layer with the same
    ``group`` are peers.  ``target`` shows how to reach the component: ``kind`` and the keys of that
    kind.  ``references`` is keyed ``operation/scenario``, in the order of measuring; quantities to
    judge besides the rates come last.  ``partners`` are set only for the layer ``net``, in the
    order of the rounds (see plumbline.model.rounds).  ``confirm`` has the terms of extra runs after
    a low one.  ``wave`` is a number shared by all components that the node measures at the same
    time, 0 for a component measured alone.
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
    confirm: Confirm = OFF
    wave: Annotated[int, counts] = ALONE

    @property
    def subject(self) -> Subject:
        """Key of the evidence from its runs."""
        return self.layer, self.component, False

    @property
    def parallel(self) -> bool:
        """True if this measures all targets of a file system at once."""
        return self.target.get("kind") == PARALLEL

    @property
    def file_system(self) -> str:
        """File system of a component in layer ``fs``; the group of its targets has this name."""
        return str(self.target.get("file_system", self.component if self.parallel else self.group))

    @property
    def further(self) -> bool:
        """True for an additional test of a file system, which judges no target."""
        return self.parallel and self.file_system != self.component

    def steps(self) -> Iterator[tuple[Operation, Scenario, Reference]]:
        """Yield each expected operation with its references, in the order of measuring.

        Raises:
            DocumentError: an operation is unknown.
        """
        try:
            yield from [(*_step_of(key), reference) for key, reference in self.references.items()]
        except ValueError as error:
            raise DocumentError(
                f"expectations of {self.component} name {error}; deploy the role agent again"
            ) from error

    def steps_in_bytes(self) -> Iterator[tuple[Operation, Scenario, Reference]]:
        """Yield those steps that give bytes per second, which parts carry."""
        return (step for step in self.steps() if step[0].quantity == BYTES_PER_S)

    def runs(self) -> Iterator[tuple[Operation, Scenario, Reference]]:
        """Yield the steps with runs of their own: all but further quantities of others."""
        return (step for step in self.steps() if step[0].of is None)

    def reference(self, operation: Operation, scenario: Scenario) -> Reference:
        """Return the references of one operation; empty if the console gave none."""
        return self.references.get(f"{operation.value}/{scenario.value}", Reference(None, None))

    def usual(self, operation: Operation, scenario: Scenario, rate: float) -> bool:
        """Return True if a rate is within the baseline's usual range, and not low.

        The range is twice the spread of the baseline's runs, which holds 95 % of them.  Such a run
        needs no further repeats: their purpose is to exclude a hiccup as the cause of a low rate.
        """
        baseline = self.reference(operation, scenario).baseline
        if baseline is None or baseline.demonstrated or baseline.runs < self.limits.min_runs:
            return False
        ratio = rate / baseline.median
        low = self.limits.alerts(100 * ratio)
        return not low and abs(log(ratio)) <= _USUAL_SPREADS * baseline.spread

    def spec_of(self, operation: Operation) -> ProbeSpec:
        """Return the specification of an operation, or of the runs that give a quantity."""
        return own_terms(self.spec, operation)

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return write_fields(self)

    @classmethod
    def from_json(
        cls, raw: Mapping[str, Any], shared: Optional[dict[tuple[type, bytes], Any]] = None
    ) -> Expectation:
        """Build from the document form; raise KeyError, TypeError or DocumentError.

        ``shared`` has parts of entries built earlier, for reuse.
        """
        built = {} if shared is None else shared
        parts = {
            "spec": _built(ProbeSpec, raw["spec"], built),
            "limits": _built(Limits, raw["limits"], built),
            "confirm": _built(Confirm, raw.get("confirm", {}), built),
        }
        return read(cls, {**raw, **parts})


@lru_cache(maxsize=1000)
def _step_of(key: str) -> tuple[Operation, Scenario]:
    """Return operation and scenario of a reference's key; raise ValueError for unknown ones."""
    operation, _, scenario = key.partition("/")
    try:
        return Operation(operation), Scenario(scenario)
    except ValueError:
        raise ValueError(f"the unknown operation {key!r}") from None


def own_terms(spec: ProbeSpec, operation: Operation) -> ProbeSpec:
    """Return a layer's specification with the terms that one of its operations has of its own."""
    terms = (operation.of or operation).terms
    return spec._replace(**terms) if terms else spec


def _built(kind: Any, raw: Any, shared: dict[tuple[type, bytes], Any]) -> Any:
    """Return a part of an entry; equal parts are built once, and are one in memory."""
    # format 2 distinguishes 1, 1.0 and True, and takes a third of the time of repr()
    key = kind, marshal.dumps(raw, 2)
    if key not in shared:
        shared[key] = read(kind, raw)
    return shared[key]


@lenient
class Neighbour(NamedTuple):
    """A part next to a node, such as its network adapter; ``rate_Bps`` None if it never limits."""

    name: str
    kind: str
    rate_Bps: Optional[Annotated[float, rates]]


@lenient
class Switches(NamedTuple):
    """Switches of the topology: those next to a node, and all others, folded into ranges."""

    near: tuple[Annotated[str, unicode_text], ...]
    others: tuple[Annotated[str, unicode_text], ...] = ()


@lenient
class FabricLink(NamedTuple):
    """The way between two switches, or a switch and a host, of the topology.

    ``name`` is the part that limits it, ``rate_Bps`` the rate of all links on that way together,
    None if it has none.  ``of_host`` is True if the first end is a host.
    """

    name: str
    ends: tuple[str, str]
    rate_Bps: Optional[Annotated[float, rates]]
    of_host: bool = False


def _identified(**values: Mapping[str, Any]) -> None:
    for entry in values.values():
        texts("entry", (entry["layer"], entry["component"], entry["group"]))
        if not isinstance(entry["target"], dict):
            raise TypeError(f"target is {entry['target']!r:.60}, which is no mapping")


@lenient
@form(SCHEMA, "document of expectations", "deploy the role agent again")
class Expectations(NamedTuple):
    """Expectations document of one node: its name, the site's name and all measurements."""

    node: str
    site: str
    entries: tuple[Annotated[Mapping[str, Any], _identified], ...]
    """Entries in document form: a check builds only the entries that it needs."""
    neighbours: tuple[Neighbour, ...] = ()
    """Parts next to the node in the topology."""
    served: tuple[str, ...] = ()
    """Lustre targets of this server in the topology."""
    elsewhere: Mapping[str, str] = {}
    """Node of each other target of the file systems that the node measures; empty for none."""
    parameters: tuple[str, ...] = ()
    """Patterns of Lustre parameters whose changes matter."""
    drops_caches: bool = False
    """True if root may drop caches on the node to measure their effects separately."""
    space: tuple[SpaceTerms, ...] = ()
    """Limits of the file systems whose space the node keeps."""
    fabric: Optional[tuple[FabricLink, ...]] = None
    """Links of the InfiniBand fabric that the node looks at; None if it does not."""
    shared: tuple[SharedReads, ...] = ()
    """Shared parts that this node reads with others."""
    switches: Optional[Switches] = None
    """Switches that the node's links lead to, and all others; None if none is drawn."""

    def find(self, layer: str, component: Optional[str] = None) -> tuple[Expectation, ...]:
        """Return the expectations of a layer, or of one component in it, in measuring order.

        Raises:
            DocumentError: there is none, or one is damaged; the message names the node.
        """
        expectations = self._build(layer, "component", component)
        return self._some(expectations, component or "component", layer)

    def layers(self) -> tuple[str, ...]:
        """Return the layers of its entries, each once."""
        return tuple(dict.fromkeys(entry["layer"] for entry in self.entries))

    def every(self) -> tuple[Expectation, ...]:
        """Return all expectations, layer by layer; raise DocumentError if one is damaged."""
        return tuple(entry for layer in self.layers() for entry in self.find(layer))

    def targets(self) -> frozenset[str]:
        """Return all targets in the topology of the file systems that this node measures."""
        from plumbline.model.layers import LAYERS  # only recorders need it; a check never does

        measured = {
            entry["component"] for entry in self.entries if LAYERS[entry["layer"]].per_target
        }
        return frozenset({*measured, *self.elsewhere})

    def components(self) -> frozenset[str]:
        """Return all components that the node knows: itself, its parts, those on its paths."""
        names = {self.node, *self.served, *(part.name for part in self.neighbours)}
        for entry in self.entries:
            names.update((entry["component"], *entry.get("path", ())))
        return frozenset(names)

    def members(self, layer: str, group: str) -> tuple[Expectation, ...]:
        """Return the expectations of a group in a layer; raise as ``find`` does."""
        return self._some(self._build(layer, "group", group), f"group {group}", layer)

    def _some(
        self, expectations: tuple[Expectation, ...], noun: str, layer: str
    ) -> tuple[Expectation, ...]:
        if not expectations:
            raise DocumentError(
                f"expectations of {self.node} have no {noun} in layer {layer}; "
                "add it to the topology and deploy the role agent again"
            )
        return expectations

    def _build(self, layer: str, key: str, name: Optional[str]) -> tuple[Expectation, ...]:
        shared: dict[tuple[type, bytes], Any] = {}
        try:
            return tuple(
                Expectation.from_json(entry, shared)
                for entry in self.entries
                if entry["layer"] == layer and name in (None, entry[key])
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
            "neighbours": write(self.neighbours),
            "served": self.served,
            "elsewhere": self.elsewhere,
            "parameters": self.parameters,
            **({"drops_caches": True} if self.drops_caches else {}),
            **({"space": write(self.space)} if self.space else {}),
            **({} if self.fabric is None else {"fabric": write(self.fabric)}),
            **({"shared": write(self.shared)} if self.shared else {}),
            **({} if self.switches is None else {"switches": write(self.switches)}),
            "entries": self.entries,
        }
