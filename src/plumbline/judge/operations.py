"""Operations of one component, and their names."""

from __future__ import annotations

from plumbline.model.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.record import Operation, Scenario

if TYPE_CHECKING:
    from typing import Iterable, Iterator, Optional, Sequence

    from plumbline.model.expectation import Expectation
    from plumbline.model.series import Series


def operations(
    expectation: Expectation, series: Sequence[Series]
) -> Iterator[tuple[Operation, Scenario]]:
    """Yield each operation that is expected or, if none is named, that was measured.

    Operations that are no longer expected are not judged: they would be stale forever.

    Raises:
        DocumentError: an operation is unknown.
    """
    keys = tuple(expectation.references) or tuple(
        dict.fromkeys(
            f"{entry.latest.operation.value}/{entry.latest.scenario.value}" for entry in series
        )
    )
    for key in keys:
        operation, _, scenario = key.partition("/")
        try:
            yield Operation(operation), Scenario(scenario)
        except ValueError as error:
            raise DocumentError(
                f"expectations of {expectation.component} name the unknown operation {key!r}; "
                "deploy the role agent again"
            ) from error


def series_of(
    series: Iterable[Series],
    operation: Operation,
    scenario: Scenario,
    partner: Optional[str] = None,
) -> Optional[Series]:
    """Return the series of one operation, of a host with one partner; None without one."""
    step = operation, scenario, partner
    for candidate in series:
        latest = candidate.latest
        if (latest.operation, latest.scenario, latest.partner) == step:
            return candidate
    return None


def label(operation: Operation, scenario: Scenario) -> str:
    """Return an operation in words; ``together`` marks a joint run."""
    together = " together" if scenario is Scenario.TOGETHER else ""
    return f"{operation.value}{together}"
