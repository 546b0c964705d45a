"""What servers counted themselves during a run, beside what its clients saw.

Clients and servers have clocks of their own.  Where the console knows how far each is ahead of its
own, the servers' seconds are drawn by the clock of the clients; in any case it is said.
"""

from __future__ import annotations

from array import array
from datetime import datetime, timezone
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.record import Operation, Outcome, Record
from plumbline.model.trend import NodeClock, Run
from plumbline.report.figure import Cell, Row, counted, shown, steps
from plumbline.report.palette import BLUE, GREY, TEAL
from plumbline.units import format_rate

ABSENT = "The servers' own counters were not recorded during this run."
_SOURCES = {"diskstats": ("devices", TEAL), "lustre": ("targets", BLUE)}
"""What counts: its name in words, and the colour of its sum."""

_COUNTED_AS = {Operation.REREAD.value: Operation.READ.value}
_SINGLE = 14
_BEFORE_S, _AFTER_S = 1.0, 5.0
"""Caches empty after the last call: some seconds after a run still belong to it."""


class Served(NamedTuple):
    """One counter of one server; ``rates_Bps`` one a second from ``begin_s`` after the run's start.

    ``begin_s`` is negative where it begins before the run.
    """

    record: Record
    begin_s: float
    rates_Bps: tuple[float, ...]

    @property
    def source(self) -> str:
        """Return who counted."""
        return str((self.record.details or {}).get("source", ""))

    @property
    def words(self) -> str:
        """Return who counted in words, e.g. ``oss2 devices``."""
        return f"{self.record.host} {_SOURCES.get(self.source, (self.source, GREY))[0]}"

    def row(self) -> Row:
        """Return its row in the table: the mean of what is drawn, the highest and lowest second."""
        rates = self.rates_Bps
        mean = sum(rates) / len(rates)
        figures = (format_rate(one) for one in (mean, max(rates), min(rates)))
        return Row((self.record.component, self.record.operation.value, self.words, *figures))

    def numbers(self) -> Iterator[Sequence[Cell]]:
        """Yield its rows of the CSV."""
        of = self.record
        for second, rate in enumerate(self.rates_Bps):
            at = round(self.begin_s + second, 3)
            yield of.operation.value, of.component, self.words, at, rate


def served(run: Run, operation: str, window: tuple[float, float]) -> list[Served]:
    """Return what servers counted in a window of the run, in seconds since the epoch.

    Where the run names the parts that it crossed, others are left out, and so are the seconds in
    which it crossed other ones.  A server does not know that it reads again.
    """
    spans = _spans(run, operation)
    operation = _COUNTED_AS.get(operation, operation)
    crossed = _crossed(run)
    moved = [one for one in run.servers if one.profile_Bps and one.operation.value == operation]
    own = [one for one in moved if one.component in crossed]
    shifts = _shifts(run)
    found = (
        _clipped(one, shifts.get(one.host, 0.0), window[0], _both(window, spans.get(one.component)))
        for one in own or moved
    )
    return [one for one in found if one.rates_Bps]


def _spans(run: Run, operation: str) -> dict[str, tuple[float, float]]:
    """Return from when until when an operation crossed each part, in seconds since the epoch."""
    spans: dict[str, tuple[float, float]] = {}
    for one in run.records:
        if one.operation.value == operation:
            ended = max(one.finished_at, one.started_at + len(one.profile_Bps))
            for name in (one.component, *one.path):
                begin, end = spans.get(name, (one.started_at, ended))
                spans[name] = min(begin, one.started_at), max(end, ended)
    return spans


def _both(window: tuple[float, float], span: Optional[tuple[float, float]]) -> tuple[float, float]:
    begin, end = span or window
    return max(window[0], begin), min(window[1], end)


def _crossed(run: Run) -> set[str]:
    return {name for one in run.records for name in (one.component, *one.path)}


def _clipped(record: Record, ahead_s: float, start: float, window: tuple[float, float]) -> Served:
    """Return what of a record lies in a window, by seconds after ``start``."""
    at = record.started_at - ahead_s
    first = max(0, int(window[0] - _BEFORE_S - at))
    last = max(0, int(window[1] + _AFTER_S - at))
    return Served(record, at - start + first, record.profile_Bps[first:last])


def _shifts(run: Run) -> dict[str, float]:
    """Return how far each server's clock is ahead of the clients', where both are known.

    Clients that differ among themselves are drawn by their own clocks; the middle one counts here.
    """
    clocks = {one.node: one for one in run.clocks}
    clients = sorted(
        clocks[host].ahead_s for host in {one.host for one in run.records} if host in clocks
    )
    if not clients:
        return {}
    middle = clients[len(clients) // 2]
    return {node: one.ahead_s - middle for node, one in clocks.items()}


def server_sentence(run: Run, found: Sequence[Served]) -> str:
    """Return what servers counted, and by which clocks it is drawn."""
    if not run.servers:
        return ABSENT
    if not found:
        nothing = "The servers' own counters were recorded, but none of them moved during this run."
        return f"{nothing}{_failed_words(run)}"
    hosts = sorted({one.record.host for one in found})
    return (
        f"{counted(len({one.record.component for one in found}), 'counter')} of "
        f"{counted(len(hosts), 'server')}, all traffic included. {_clock_words(run, hosts)}"
        f"{_failed_words(run)}"
    )


def _failed_words(run: Run) -> str:
    """Return what of the run's parts could not be watched, and why the first of them."""
    failed = {one.component: one for one in run.servers if one.outcome is Outcome.FAILED}
    failed = {name: failed[name] for name in _crossed(run).intersection(failed)}
    if not failed:
        return ""
    name, first = min(failed.items())
    others = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f" Not watched: {name}{others} on {first.host}: {first.reason}."


def _clock_words(run: Run, hosts: Sequence[str]) -> str:
    shifts = _shifts(run)
    known = [host for host in hosts if host in shifts]
    unknown = [host for host in hosts if host not in shifts]
    words = []
    if known:
        farthest = max(known, key=lambda host: abs(shifts[host]))
        words.append(
            f"Servers are drawn by the clients' clock: {farthest}, the farthest, was "
            f"{shifts[farthest]:+.2f} s off, known to within {_within(run, farthest):.2f} s "
            f"({_compared_at(run, farthest)})."
        )
    if unknown:
        words.append(
            f"How far the clocks of {counted(len(unknown), 'server')} ({', '.join(unknown[:3])}"
            f"{', …' if len(unknown) > 3 else ''}) differ from the clients' is not known: "
            "their seconds are drawn by their own."
        )
    return " ".join(words)


def _compared_at(run: Run, server: str) -> str:
    at = next(one.at for one in run.clocks if one.node == server)
    return f"compared {datetime.fromtimestamp(at, timezone.utc):%Y-%m-%d %H:%M} UTC"


def _within(run: Run, server: str) -> float:
    """Return how well an offset is known: the doubts of both clocks together."""
    clocks: Mapping[str, NodeClock] = {one.node: one for one in run.clocks}
    clients = {one.host for one in run.records}
    return clocks[server].within_s + max(
        clocks[host].within_s for host in clients if host in clocks
    )


def server_traces(found: Sequence[Served]) -> list[dict[str, Any]]:
    """Return a trace for each counter, where there are few, and one for the sum of each kind."""
    traces = [_trace(one) for one in found] if len(found) <= _SINGLE else []
    for source, (words, colour) in _SOURCES.items():
        own = [one for one in found if one.source == source]
        if own:
            traces.append(_sum_trace(own, f"sum of servers' {words}", colour))
    return traces


def _trace(server: Served) -> dict[str, Any]:
    name = shown(f"{server.record.component} on {server.record.host}")
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        **steps(server.begin_s, server.rates_Bps),
        "text": [name] * (len(server.rates_Bps) + 1),
        "line": {"color": _SOURCES.get(server.source, ("", GREY))[1], "width": 1, "shape": "hv"},
        "opacity": 0.6,
        "showlegend": False,
        "hovertemplate": "%{text}, its own counter<br>second %{x}: %{y} MB/s<extra></extra>",
    }


def _sum_trace(own: Sequence[Served], name: str, colour: str) -> dict[str, Any]:
    begin_s, total = added(own)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        **steps(begin_s, total),
        "line": {"color": colour, "width": 3, "dash": "dash", "shape": "hv"},
        "hovertemplate": f"{name}, second %{{x}}: %{{y}} MB/s<extra></extra>",
    }


def added(found: Sequence[Served]) -> tuple[int, array[float]]:
    """Return the first second and the sum of each, one that begins within a second by share."""
    first = min(_floor(one.begin_s) for one in found)
    length = max(_floor(one.begin_s) + len(one.rates_Bps) for one in found) - first
    total = array("d", bytes(8 * (length + 1)))
    for one in found:
        place = _floor(one.begin_s)
        late = one.begin_s - place
        for second, rate in enumerate(one.rates_Bps):
            total[place - first + second] += rate * (1 - late)
            total[place - first + second + 1] += rate * late
    return first, total if total[-1] else total[:-1]


def _floor(seconds: float) -> int:
    return int(seconds // 1)
