"""From verdicts to the file of passive results that Nagios takes at once.

Each line is an external command, ``[time] PROCESS_SERVICE_CHECK_RESULT;host;service;state;output``
(Nagios Core 4, external commands).  The output is what the check of the same component prints.
"""

from __future__ import annotations

from typing import Iterable, NamedTuple

from plumbline.doors.plugin import clean, plugin_output
from plumbline.model.service import Service
from plumbline.model.verdict import Judged, State
from plumbline.site.nodes import Directory


class Batch(NamedTuple):
    """Results to hand over, and those that cannot be.

    ``lines`` are whole commands; ``states`` counts their verdicts; ``homeless`` have no service;
    ``silent`` are the services for which there is no verdict.
    """

    lines: tuple[str, ...]
    states: dict[State, int]
    homeless: tuple[Judged, ...]
    silent: tuple[Service, ...]

    @property
    def text(self) -> str:
        """Return the lines as a file has them."""
        return "".join(f"{line}\n" for line in self.lines).encode("utf-8", "replace").decode()


def batch(judged: Iterable[Judged], services: Iterable[Service]) -> Batch:
    """Return the results of all services that have a verdict; of several the last counts."""
    directory = Directory(services)
    results: dict[tuple[str, str], tuple[Service, Judged]] = {}
    homeless = []
    for verdict in judged:
        service = directory.find(verdict)
        if service is None:
            homeless.append(verdict)
        else:
            results[service.host, service.description] = service, verdict
    states = dict.fromkeys(State, 0)
    for _, outcome in results.values():
        states[outcome.verdict.state] += 1
    return Batch(
        tuple(result(service, outcome) for service, outcome in results.values()),
        states,
        tuple(homeless),
        tuple(each for each in directory.every if (each.host, each.description) not in results),
    )


def result(service: Service, judged: Judged) -> str:
    """Return the command that tells Nagios one verdict, on one line."""
    verdict = judged.verdict
    output = plugin_output(verdict.layer.upper(), verdict).rstrip("\n")
    # Nagios takes a backslash and what follows it for a line's end or the like
    return (
        f"[{judged.judged_at:.0f}] PROCESS_SERVICE_CHECK_RESULT;{_field(service.host)};"
        f"{_field(service.description)};{verdict.state:d};" + output.replace("\\", "/")
    )


def _field(name: str) -> str:
    """Return a name that ends no field; Nagios has no object with such a letter in its name."""
    return clean(name).replace(";", "_")
