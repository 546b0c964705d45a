"""Expectations: what the console tells one node about its own measurements."""

from __future__ import annotations

from math import log

from plumbline.model.codec import lenient, read, read_document, write, write_fields
from plumbline.model.errors import DocumentError
from plumbline.model.limits import Ceiling, Limits, Reference
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec
from plumbline.model.validation import Within, amounts, counts, rates, texts

if TYPE_CHECKING:
    from typing import Annotated, Any, Mapping, Optional

    from plumbline.model.evidence import Subject


MOST_RUNS = 100


class Confirm(NamedTuple):
    """Terms of confirmation: measuring a low component again between two planned runs.

    ``runs`` is how often at most, 0 never, and ``every_s`` how far apart at least.  ``daily_bytes``
    is what all confirmation of a node and layer may move in a day on average, ``most_bytes`` what
    it may have saved up of that.
    """

    runs: Annotated[int, counts, Within(0, MOST_RUNS)] = 0
    every_s: Annotated[float, amounts] = 3600.0
    daily_bytes: Annotated[float, amounts] = 0.0
    most_bytes: Annotated[float, amounts] = 0.0


OFF = Confirm()


class Measured(NamedTuple):
    """A measurement that confirmation has begun, whatever became of it.

    ``at`` is in seconds since the epoch; ``bytes`` is what it may move at most; ``control`` says
    that a healthy peer was measured for comparison.
    """

    run_id: str
    at: float
    layer: str
    component: str
    bytes: int
    control: bool


if TYPE_CHECKING:
    from typing import Callable, Iterable, TypeVar

    T = TypeVar("T")

ALONE = 0
"""The number of the wave of what is measured alone."""


def in_waves(entries: Iterable[T], number: Callable[[T], int]) -> list[list[T]]:
    """Return what is measured at the same time, in the order of the first of each wave."""
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
"""Within how many standard deviations of its runs' logarithms a rate is usual."""

PARALLEL = "parallel"
"""The kind of target that all targets of a file system are together."""


@lenient
class Partner(NamedTuple):
    """The other host of a network pair: its storage address and the pair's path and ceiling."""

    name: str
    address: str
    path: tuple[str, ...]
    ceiling: Ceiling


class Expectation(NamedTuple):
    """One component in one layer, as the node that measures it must know it.

    ``host`` is the Nagios host whose part is judged.  ``group`` names the peers: the components
    of one node and layer with the same group are peers.  ``target`` says how the component is
    reached: ``kind`` and that kind's own keys.  ``references`` is keyed ``operation/scenario``, in
    the order of measuring.  ``partners`` are set for the layer ``net`` alone, in the order of the
    rounds (see plumbline.model.rounds); ``address`` is then the host's own storage address.
    ``confirm`` says how it is measured again where it was low.  ``wave`` is one number for all that
    the node measures at the same time, 0 for what it measures alone.
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
        """Return by what the evidence of its runs is known."""
        return self.layer, self.component, False

    @property
    def parallel(self) -> bool:
        """Return whether all targets of a file system are driven at once."""
        return self.target.get("kind") == PARALLEL

    @property
    def file_system(self) -> str:
        """Return the file system; its targets are those of layer ``fs`` whose group it is."""
        return str(self.target.get("file_system", self.component if self.parallel else self.group))

    @property
    def further(self) -> bool:
        """Return whether this is a further test of a file system, which judges no target."""
        return self.parallel and self.file_system != self.component

    def reference(self, operation: Operation, scenario: Scenario) -> Reference:
        """Return both references of one operation, empty ones where the console gave none."""
        return self.references.get(f"{operation.value}/{scenario.value}", Reference(None, None))

    def usual(self, operation: Operation, scenario: Scenario, rate: float) -> bool:
        """Return whether a rate is one of those that the baseline is made of, and no low one.

        So is a rate within twice the spread of its runs, as 95 of 100 are.  A further repeat would
        say little of such a run: repeats tell a low figure from a hiccup of one of them.
        """
        baseline = self.reference(operation, scenario).baseline
        if baseline is None or baseline.demonstrated or baseline.runs < self.limits.min_runs:
            return False
        ratio = rate / baseline.median
        low = self.limits.alerts(100 * ratio)
        return not low and abs(log(ratio)) <= _USUAL_SPREADS * baseline.spread

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return write_fields(self)

    @classmethod
    def from_json(
        cls, raw: Mapping[str, Any], shared: Optional[dict[tuple[type, str], Any]] = None
    ) -> Expectation:
        """Build from the document form; raise KeyError, TypeError or DocumentError.

        ``shared`` holds what entries that were built before may have in common with this one.
        """
        built = {} if shared is None else shared
        parts = {
            "spec": _built(ProbeSpec, raw["spec"], built),
            "limits": _built(Limits, raw["limits"], built),
            "confirm": _built(Confirm, raw.get("confirm", {}), built),
        }
        return read(cls, {**raw, **parts})


def _built(kind: Any, raw: Any, shared: dict[tuple[type, str], Any]) -> Any:
    """Return a part of an entry; equal parts are built once, and are one in memory."""
    key = kind, repr(raw)
    if key not in shared:
        shared[key] = read(kind, raw)
    return shared[key]


@lenient
class Neighbour(NamedTuple):
    """A part next to a node, such as its network adapter; ``rate_Bps`` None if it never limits."""

    name: str
    kind: str
    rate_Bps: Optional[Annotated[float, rates]]


def _identified(**values: Mapping[str, Any]) -> None:
    for entry in values.values():
        texts("entry", (entry["layer"], entry["component"], entry["group"]))
        if not isinstance(entry["target"], dict):
            raise TypeError(f"target is {entry['target']!r:.60}, which is no mapping")


@lenient
class Expectations(NamedTuple):
    """The document of one node: its name, the site's name and all of its measurements."""

    node: str
    site: str
    entries: tuple[Annotated[Mapping[str, Any], _identified], ...]
    """Still in document form: a check builds only the entries that it needs."""
    neighbours: tuple[Neighbour, ...] = ()
    """The parts that the node feeds or is fed by."""
    served: tuple[str, ...] = ()
    """Lustre's targets that the topology puts on the node."""
    elsewhere: Mapping[str, str] = {}
    """Other targets of the file systems that the node measures, each with its own node,
    none where the name is empty."""
    parameters: tuple[str, ...] = ()
    """Patterns of Lustre's parameters whose changes count."""
    drops_caches: bool = False
    """Whether root may drop caches there to tell them apart."""

    def find(self, layer: str, component: Optional[str] = None) -> tuple[Expectation, ...]:
        """Return the expectations of ``layer`` (of one component), in measuring order.

        Raises:
            DocumentError: there is none, or it is damaged; the message names node and component.
        """
        expectations = self._build(layer, "component", component)
        return self._some(expectations, component or "component", layer)

    def every(self) -> tuple[Expectation, ...]:
        """Return all expectations, layer by layer; raise DocumentError where one is damaged."""
        layers = dict.fromkeys(entry["layer"] for entry in self.entries)
        return tuple(each for layer in layers for each in self.find(layer))

    def targets(self) -> frozenset[str]:
        """Return all targets that the topology has for the file systems of this node."""
        from plumbline.model.layers import LAYERS  # only recorders need it; a check never does

        own = {entry["component"] for entry in self.entries if LAYERS[entry["layer"]].per_target}
        return frozenset({*own, *self.elsewhere})

    def members(self, layer: str, group: str) -> tuple[Expectation, ...]:
        """Return the expectations of all components of ``group`` in ``layer``, as ``find`` does."""
        return self._some(self._build(layer, "group", group), f"group {group}", layer)

    def _some(
        self, expectations: tuple[Expectation, ...], what: str, layer: str
    ) -> tuple[Expectation, ...]:
        if not expectations:
            raise DocumentError(
                f"expectations of {self.node} have no {what} in layer {layer}; "
                "add it to the topology and deploy the role agent again"
            )
        return expectations

    def _build(self, layer: str, key: str, name: Optional[str]) -> tuple[Expectation, ...]:
        shared: dict[tuple[type, str], Any] = {}
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
            "entries": self.entries,
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Expectations:
        """Build from the document form; raise DocumentError when it is not one of this schema."""
        what = "the document of expectations"
        return read_document(cls, raw, SCHEMA, what, "deploy the role agent again")
