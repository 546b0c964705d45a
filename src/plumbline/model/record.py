"""Records: one measurement of an operation on a component, or the reason for its absence.

An error is never a measurement: a tool that failed raises ``ToolError``.
"""

from __future__ import annotations

from enum import Enum
from math import isfinite
from typing import Annotated, Any, ClassVar, Container, Iterator, Mapping, NamedTuple, Optional

from plumbline.model.codec import formerly, read, without_schema
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.quantity import BYTES_PER_S, LATENCIES, Quantity
from plumbline.model.units import LARGEST
from plumbline.model.validation import amounts, counts, rates, same_schema, times, unicode_text

SCHEMA = 3
"""Above that of any earlier record, so that an old console waits for its update."""

_FORMER_SCHEMAS = (1, 2)
"""Records of plumbline 0.1.0, whose rates had other names, and those with only four latencies."""


_OPERATIONS: dict[str, Operation] = {}


class Operation(str):
    """Operation of a layer, with the quantity of its results.

    ``Operation("read")`` returns the operation of that name.  Operations used by several layers are
    defined here, others in the file of their layer.

    A run of an operation may give further ``quantities`` besides its rate, by name.  Each is an
    operation too, ``read p99``: its series, baseline and verdict are those of any operation, but
    the run is that of ``read``.
    """

    quantity: Quantity
    quantities: Mapping[str, Operation]
    of: Optional[Operation] = None
    """Operation whose runs give this quantity; None if it has runs of its own."""
    terms: Mapping[str, Any] = {}
    """Terms of its probe in place of those of its layer, by field of ``ProbeSpec``."""

    WRITE: ClassVar[Operation]
    READ: ClassVar[Operation]
    REREAD: ClassVar[Operation]
    SEND: ClassVar[Operation]
    RECEIVE: ClassVar[Operation]

    def __new__(cls, name: str) -> Operation:
        """Return the operation of a name; raise ValueError if no layer has it."""
        if name not in _OPERATIONS:
            raise ValueError(f"{name!r:.60} is no operation")
        return _OPERATIONS[name]

    @classmethod
    def define(cls, name: str, quantity: Quantity, **terms: Any) -> Operation:
        """Create an operation, or return it if another layer has defined it.

        Raises:
            ValueError: the other layer has defined it with another quantity.
        """
        operation = _OPERATIONS.setdefault(name, super().__new__(cls, name))
        if vars(operation).setdefault("quantity", quantity) != quantity:
            raise ValueError(f"operation {name} is in {operation.quantity.unit} already")
        vars(operation).setdefault("quantities", {})
        vars(operation).setdefault("terms", terms)
        return operation

    @property
    def name(self) -> str:
        """Name of a further quantity, ``p99``; of an operation with runs of its own, its own."""
        return str(self) if self.of is None else self[len(self.of) + 1 :]

    def define_quantity(self, name: str, quantity: Quantity) -> Operation:
        """Create a further quantity of its runs, or return it if another layer has defined it.

        Raises:
            ValueError: the other layer has defined it with another quantity.
        """
        operation = self.define(f"{self} {name}", quantity)
        operation.of = self
        self.quantities = {**self.quantities, name: operation}
        return operation

    @property
    def value(self) -> str:
        """Name as plain text."""
        return str(self)


Operation.WRITE = Operation.define("write", BYTES_PER_S)
Operation.READ = Operation.define("read", BYTES_PER_S)
Operation.REREAD = Operation.define("reread", BYTES_PER_S)
Operation.SEND = Operation.define("send", BYTES_PER_S)
Operation.RECEIVE = Operation.define("receive", BYTES_PER_S)


class Scenario(str, Enum):
    """Measuring a component alone, or together with the peers that share its path."""

    SINGLE = "single"
    TOGETHER = "together"


def step_name(operation: str, scenario: str) -> str:
    """Return operation and scenario in words: ``read``, or ``read together``."""
    return operation if scenario == Scenario.SINGLE.value else f"{operation} {scenario}"


class Outcome(str, Enum):
    """Outcome of a measurement; only OK has a rate."""

    OK = "ok"
    FAILED = "failed"
    """The tool failed, which does not incriminate the component."""
    HUNG = "hung"
    """The tool hung on the component's own file or device."""
    SKIPPED = "skipped"
    BROKEN = "broken"
    """The component had an I/O error or was gone, twice in one run, but its server answers."""
    UNREACHABLE = "unreachable"
    """The server of the component does not answer."""
    NO_MOUNT = "no_mount"
    """The measuring node's mount of the file system is dead or missing."""
    UNANSWERED = "unanswered"
    """A query other than I/O on the component got no answer, twice in one run."""


class Flag(str, Enum):
    """Known states of a component during the measurement."""

    DEGRADED = "degraded"
    DRAINING = "draining"
    """No new objects are created on it; its existing file is measured."""
    FAILED_OVER = "failed_over"
    LINK_ERRORS = "link_errors"
    """Error counters of the adapter's port rose meanwhile."""
    SHORT = "short"
    """The time limit came before all bytes were moved."""


class Tool(NamedTuple):
    """Program that measured, with its exact command line."""

    name: str
    version: str
    argv: tuple[str, ...]


SEGMENT_BYTES = 1448
"""TCP payload of one packet: MTU 1500 minus 20 bytes IP, 20 TCP and 12 time stamps, which Linux
sends by default (RFC 791, 9293, 7323)."""


def segments_retransmitted(segments: Optional[float], moved: float) -> Optional[float]:
    """Return the fraction of segments that were retransmitted, None if unknown.

    ``moved`` is in bytes.
    """
    return segments * SEGMENT_BYTES / moved if segments is not None and moved else None


def _refuse_wordless(**values: Mapping[str, Any]) -> None:
    """Refuse a specification without valid words (plumbline.model.spec.terms)."""
    checks = {"bytes": counts, "transfer_bytes": counts, "rate_cap_Bps": rates}
    for spec in values.values():
        for key, check in checks.items():
            if spec.get(key) is not None:
                check(**{key: spec[key]})


def _refuse_unnamed(**values: Mapping[str, Any]) -> None:
    """Refuse quantities whose names are no valid text, or whose figures are impossible."""
    for quantities in values.values():
        for name, figure in quantities.items():
            unicode_text(quantity=name)
            amounts(**{name: figure})


class _RecordFields(NamedTuple):
    id: Annotated[str, unicode_text]
    run_id: Annotated[str, unicode_text]
    layer: Annotated[str, unicode_text]
    component: Annotated[str, unicode_text]
    operation: Operation
    scenario: Scenario
    outcome: Outcome
    host: str
    started_at: Annotated[float, times]
    finished_at: Annotated[float, times]
    reason: str = ""
    path: tuple[str, ...] = ()
    partner: Optional[Annotated[str, unicode_text]] = None
    bytes: Annotated[int, counts] = 0
    seconds: Annotated[float, amounts] = 0.0
    rate: Optional[Annotated[float, rates]] = None
    repeats: tuple[Annotated[float, amounts], ...] = ()
    profile: tuple[Annotated[float, amounts], ...] = ()
    quantities: Annotated[Mapping[str, Any], _refuse_unnamed] = {}
    retransmits: Optional[Annotated[int, counts]] = None
    tool: Optional[Tool] = None
    spec: Optional[Annotated[Mapping[str, Any], _refuse_wordless]] = None
    spec_hash: str = ""
    fill: Optional[Annotated[float, amounts]] = None
    coverage: Optional[Annotated[float, amounts]] = None
    versions: Optional[Mapping[str, str]] = None
    flags: tuple[Flag, ...] = ()
    details: Optional[Mapping[str, Any]] = None


@formerly(rate_Bps="rate", repeats_Bps="repeats", profile_Bps="profile")
class Record(_RecordFields):
    """Stored measurement; times are seconds since the epoch.

    ``rate`` is the median of ``repeats``; ``profile`` has one value per second; ``quantities`` are
    further figures by name, each in its unit (``Operation.quantities``); ``fill`` and ``coverage``
    are fractions; ``path`` starts at the client; ``partner`` is the other host of a
    network pair; ``run_id`` is shared by all records of a run, whose components are peers;
    ``details`` has the ranks of a parallel run (docs/profiles.md) and the like.  A record with
    outcome OK has a finite positive rate; any other has a ``reason`` instead.  No other record can
    be built.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Record:
        """Build and validate; raise DocumentError with the component and the impossible value."""
        self = super().__new__(cls, *args, **kwargs)
        if self.outcome is Outcome.OK:
            if self.rate is None or not isfinite(self.rate) or self.rate <= 0:
                raise self._impossible(f"rate {self.rate!r} is not a positive number")
            if not isfinite(self.seconds) or self.seconds <= 0:
                raise self._impossible(f"duration {self.seconds!r} is not positive")
        elif self.rate is not None:
            raise self._impossible(f"outcome {self.outcome.value} must not carry a rate")
        elif not self.reason:
            raise self._impossible(f"outcome {self.outcome.value} needs a reason")
        return self

    def _impossible(self, problem: str) -> DocumentError:
        subject = f"{self.layer} {self.component} {self.operation.value}"
        return DocumentError(f"record of {subject}: {problem}")

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first; without quantities if there are none."""
        raw: dict[str, Any] = {"schema": SCHEMA}
        raw.update(self._asdict())
        if not self.quantities:
            del raw["quantities"]
        raw["tool"] = self.tool and self.tool._asdict()
        return raw

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Record:
        """Build from the document form.

        Raises:
            DocumentError: the schema is unknown, or a value missing or impossible.
        """
        name = raw.get("id", "without an id") if isinstance(raw, dict) else "that is no mapping"
        try:
            if raw["schema"] not in _FORMER_SCHEMAS:
                same_schema(raw, SCHEMA, f"record {name}", "update plumbline on this host")
                return read(cls, without_schema(raw))
            return read(cls, _with_quantities(without_schema(raw)))
        except (KeyError, TypeError, OverflowError) as error:
            raise DocumentError(f"record {name} is damaged: {error!r}") from error

    def quantity_records(self, asked: Container[str]) -> Iterator[Record]:
        """Yield a record for each quantity of the run whose ``operation/scenario`` is in ``asked``.

        After a failed run they have its outcome and reason.
        """
        for name, operation in self.operation.quantities.items():
            if f"{operation.value}/{self.scenario.value}" in asked:
                yield self._replace(
                    **self._result(name, operation.quantity),
                    id=f"{self.id}-{name}",
                    operation=operation,
                    repeats=(),
                    profile=(),
                    quantities={},
                    retransmits=None,
                    details=None,
                )

    def _result(self, name: str, quantity: Quantity) -> dict[str, Any]:
        """Return outcome, reason and rate of a quantity, where they differ from the run's."""
        if self.outcome is not Outcome.OK:
            return {}
        if self.quantities.get(name):
            return {"rate": quantity.figure(self.quantities[name])}
        tool = self.tool.name if self.tool else "its tool"
        return {"outcome": Outcome.FAILED, "reason": f"{tool} gave no {name}", "rate": None}


def _with_quantities(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a former schema with its latencies as quantities."""
    times = raw.pop("latency", None)
    if times is not None:
        raw["quantities"] = {name: times[f"{name}_s"] for name in LATENCIES}
    return raw


class _MeasurementFields(NamedTuple):
    bytes: int
    seconds: float
    rate: float
    profile: tuple[float, ...] = ()
    quantities: Mapping[str, float] = {}
    retransmits: Optional[int] = None
    flags: tuple[Flag, ...] = ()


class Measurement(_MeasurementFields):
    """Result of one operation, done once: bytes moved, seconds, and the rate that the tool reports.

    ``bytes`` may be 0 if the quantity is not bytes per second.  ``profile`` has one value per
    second, empty if the tool reports none; ``quantities`` are further figures, each in its unit, by
    the names that the layer declares; ``retransmits`` counts TCP segments, None if unknown;
    ``flags`` may have SHORT.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Measurement:
        """Build and validate; raise ToolError for an impossible value."""
        self = super().__new__(cls, *args, **kwargs)
        for name, value in (("seconds", self.seconds), ("rate", self.rate)):
            if not 0 < value <= LARGEST:
                raise _impossible(name, value, "is not a positive, plausible number")
        figures = self.quantities.values()
        zero_or_more = (self.bytes, *self.profile, *figures, self.retransmits or 0)
        for value in zero_or_more:
            if not 0 <= value <= LARGEST:
                raise _impossible("detail", value, "is negative or not a plausible number")
        return self

    def having(self, name: str, figure: float) -> Measurement:
        """Return it with a further quantity; raise ToolError for an impossible figure."""
        return Measurement(**{**self._asdict(), "quantities": {**self.quantities, name: figure}})


def _impossible(name: str, value: float, why: str) -> ToolError:
    return ToolError(f"measured {name} {value!r} {why}; run the tool by hand to see what it prints")
