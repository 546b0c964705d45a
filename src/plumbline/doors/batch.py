"""Verdicts as a file of passive check results for Nagios.

Each line is an external command, ``[time] PROCESS_SERVICE_CHECK_RESULT;host;service;state;output``
(Nagios Core 4, external commands).  The output equals that of the active check of the component.
"""

from __future__ import annotations

from typing import Iterable, NamedTuple

from plumbline.doors.plugin import clean, plugin_output
from plumbline.model.service import Service
from plumbline.model.verdict import Judged, State
from plumbline.site.nodes import Directory


class Batch(NamedTuple):
    """Results to hand over, verdicts without a service and services without a verdict.

    ``lines`` are whole commands; ``states`` counts their verdicts.
    """

    lines: tuple[str, ...]
    states: dict[State, int]
    without_service: tuple[Judged, ...]
    without_verdict: tuple[Service, ...]

    @property
    def services(self) -> int:
        """Return the number of all services."""
        return len(self.lines) + len(self.without_verdict)

    @property
    def text(self) -> str:
        """Return the text of the file."""
        return "".join(f"{line}\n" for line in self.lines).encode("utf-8", "replace").decode()


def batch(judged: Iterable[Judged], services: Iterable[Service]) -> Batch:
    """Return the results of all services with a verdict; the last verdict of a service counts."""
    directory = Directory(services)
    results: dict[tuple[str, str], tuple[Service, Judged]] = {}
    without_service = []
    for verdict in judged:
        service = directory.find(verdict)
        if service is None:
            without_service.append(verdict)
        else:
            results[service.host, service.description] = service, verdict
    states = dict.fromkeys(State, 0)
    for _, outcome in results.values():
        states[outcome.verdict.state] += 1
    return Batch(
        tuple(result(service, outcome) for service, outcome in results.values()),
        states,
        tuple(without_service),
        tuple(item for item in directory.services if (item.host, item.description) not in results),
    )


def result(service: Service, judged: Judged) -> str:
    """Return the Nagios command for one verdict, on one line."""
    verdict = judged.verdict
    output = plugin_output(verdict.layer.upper(), verdict).rstrip("\n")
    # Nagios reads a backslash as the begin of an escape sequence, such as a newline
    return (
        f"[{judged.judged_at:.0f}] PROCESS_SERVICE_CHECK_RESULT;{_field(service.host)};"
        f"{_field(service.description)};{verdict.state:d};" + output.replace("\\", "/")
    )


def _field(name: str) -> str:
    """Return a name without the field separator, which no name of a Nagios object contains."""
    return clean(name).replace(";", "_")
