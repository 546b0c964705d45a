"""Operations of one component, and their names."""

from __future__ import annotations

from functools import lru_cache
from typing import Iterable, Optional, Sequence

from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation, Scenario
from plumbline.model.series import Series


def operations(
    expectation: Expectation, series: Sequence[Series]
) -> list[tuple[Operation, Scenario]]:
    """Return each operation that is expected or, if none is named, that was measured.

    Operations that are no longer expected are not judged: they would be stale forever.  A further
    quantity is judged from its first run on: asking for it must not void the other verdicts.

    Raises:
        DocumentError: an operation is unknown.
    """
    measured = dict.fromkeys((entry.latest.operation, entry.latest.scenario) for entry in series)
    expected = [
        (operation, scenario)
        for operation, scenario, _ in expectation.steps()
        if operation.of is None or (operation, scenario) in measured
    ]
    return expected or list(measured)


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


@lru_cache(maxsize=1000)
def label(operation: Operation, scenario: Scenario) -> str:
    """Return an operation in words; ``together`` marks a joint run."""
    together = " together" if scenario is Scenario.TOGETHER else ""
    return f"{operation.value}{together}"
