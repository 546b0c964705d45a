"""Links of an InfiniBand fabric and their error counters, as infiniband-diags prints them.

``iblinkinfo`` prints a line for each port of a switch, so a link between switches has two.
``ibqueryerrors`` leaves out ports without errors, and those that did not answer.
"""

from __future__ import annotations

import re
from typing import Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import ToolError
from plumbline.model.infiniband import LANE_BY_LINE_RATE, LANES
from plumbline.model.validation import real, whole

LINKS = ("iblinkinfo", "-l", "--switches-only")
ERRORS = ("ibqueryerrors", "--switch", "--threshold-file", "/dev/null")
"""Without the site's thresholds, which hide a counter until it is above them."""

_LINE = re.compile(
    r'0x(?P<near>[0-9a-f]{16}) "(?P<name>.*?)" +\d+ +(?P<port>\d+)\[[ \d]*\] '
    r"==\( *(?:(?P<speed>\S.*?) +)?(?P<state>\S+)/ *\S[^=]*\)==> +"
    r"(?:(?:0x(?P<far>[0-9a-f]{16}) +\d+ +(?P<far_port>\d+))?\[[ \d]*\] *)?"
    r'"(?P<far_name>.*)"(?: \((?P<better>.*)\))?'
)
_SPEED = re.compile(r"(\d+)X +(\S.*)")
_ACTIVE = "Active"
_BETTER = re.compile(r"Could be (\d+X|[\d.]+ Gbps|\w+)")
_ERROR_LINE = re.compile(r" +GUID 0x([0-9a-f]{1,16}) port (\d+): (\[.*)")
_ERROR = re.compile(r"\[(\w+) == (\d+)\b")
_END = "## Summary:"
_SILENT = re.compile(r" query failed on (.{0,80}), (?:Lid|DR path) .* port \d+")
_INSIDE_A_SWITCH = "Aggregation Node"
"""Part of the name of a switch's own port for SHARP: it looks like a host, one at each switch."""
_MAX_LINE = 1000
"""Limit of a line in characters; those of iblinkinfo have two hundred."""

_LANES = {line: (name, round(LANES[name], 2)) for line, name in LANE_BY_LINE_RATE.items()}
"""Name and data rate of a lane in Gbit/s by its signalling rate."""
_FDR10 = ("FDR10", 10.0)


class End(NamedTuple):
    """A port of a switch, or of the adapter of a host."""

    guid: int
    port: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} port {self.port}"


class Link(NamedTuple):
    """A link that is up; ``better`` is what both of its ends could do, empty if they do it."""

    ends: tuple[End, End]
    between_switches: bool
    width: int
    lane: str
    lane_Bps: float
    better: str

    @property
    def place(self) -> str:
        """Return the ports of both ends, which tell the link from others."""
        return " ".join(f"{end.guid:x}.{end.port}" for end in self.ends)

    @property
    def rate_Bps(self) -> float:
        """Return the data rate in bytes per second."""
        return self.width * self.lane_Bps

    @property
    def speed(self) -> str:
        """Return the usual name of its speed, e.g. ``4X EDR``."""
        return f"{self.width}X {self.lane}"

    def __str__(self) -> str:
        return " to ".join(map(str, self.ends))


class Unclear(NamedTuple):
    """A port that is up and cannot be judged, and why: the rest of a sentence about it."""

    end: End
    why: str

    def __str__(self) -> str:
        return f"{self.end} {self.why}"


class Links(NamedTuple):
    """Links that are up, each once, and ports that are up whose link cannot be judged.

    ``down`` are the other ports, by guid and number.
    """

    links: tuple[Link, ...]
    unclear: tuple[Unclear, ...]
    down: frozenset[tuple[int, int]]


def parse_links(text: str) -> Links:
    """Parse the ports of all switches; the guid is added to a name that several devices have.

    Raises:
        ToolError: a line is no port, or truncated, or there is no switch, or no known speed.
    """
    rows = [_port(line) for line in text.splitlines() if line.strip()]
    if not rows or not text.endswith("\n"):
        raise ToolError(f"{' '.join(LINKS)} is not understood: it ends with {text[-60:]!r}")
    switches = {int(row["near"], 16) for row in rows}
    links, unclear = dict[str, Link](), list[Unclear]()
    for row in (row for row in rows if row["speed"] and _INSIDE_A_SWITCH not in row["far_name"]):
        near = End(int(row["near"], 16), whole(row["port"], "a port"), row["name"].strip())
        if row["state"] != _ACTIVE:
            unclear.append(Unclear(near, f"is in state {row['state'][:20]}"))
        if not row["far"]:
            unclear.append(Unclear(near, "has a far end that did not answer"))
            continue
        try:
            link = _link(row, near, switches)
        except ToolError as error:
            unclear.append(Unclear(near, f"shows {error}"))
            continue
        links[link.place] = link
    if unclear and not links:
        raise ToolError(f"{' '.join(LINKS)}: {unclear[0]}")
    down = (
        (int(row["near"], 16), whole(row["port"], "a port")) for row in rows if not row["speed"]
    )
    return Links(_named(tuple(links.values())), tuple(unclear), frozenset(down))


def _port(line: str) -> re.Match[str]:
    match = _LINE.fullmatch(line.rstrip()) if len(line) < _MAX_LINE else None
    if not match:
        raise ToolError(f"{' '.join(LINKS)} is not understood: {line[:200]!r}")
    return match


def _link(row: re.Match[str], near: End, switches: Iterable[int]) -> Link:
    far = End(int(row["far"], 16), whole(row["far_port"], "a port"), row["far_name"].strip())
    width, lane, lane_Bps = _speed(row["speed"])
    first, second = sorted((near, far)) if far.guid in switches else (near, far)
    better = " ".join(_BETTER.findall(row["better"] or ""))
    return Link((first, second), far.guid in switches, width, lane, lane_Bps, better)


def _speed(text: str) -> tuple[int, str, float]:
    """Return width, name of a lane, and its data rate in bytes per second.

    Raises:
        ToolError: width or speed is not known.
    """
    match = _SPEED.fullmatch(text)
    if not match:
        raise ToolError(f"the speed {text[:40]!r}, which is not known")
    return whole(match[1], "a width"), *_lane(match[2])


def _lane(text: str) -> tuple[str, float]:
    """Return name and data rate in bytes per second of a lane; raise ToolError if unknown."""
    number = re.match(r"[\d.]+", text)
    lane = _LANES.get(real(number[0], "a speed")) if number else None
    if _FDR10[0] in text:
        lane = _FDR10
    if lane is None:
        raise ToolError(f"the speed {text[:40]!r}, which is not known")
    return lane[0], lane[1] * 1e9 / 8


class Errors(NamedTuple):
    """Counters by guid and port; those at 0 are left out.

    ``silent`` are the names of switches that did not answer, whose ports look like healthy ones.
    """

    counters: Mapping[tuple[int, int], Mapping[str, int]]
    silent: frozenset[str] = frozenset()

    def of(self, end: End) -> Mapping[str, int]:
        """Return the counters of a port."""
        return self.counters.get(end[:2], {})

    def sum_of(self, name: str, link: Link) -> Optional[int]:
        """Return the sum of a counter over both ends of a link, None if one is not known."""
        if any(self._is_silent(end) for end in link.ends):
            return None
        return sum(self.of(end).get(name, 0) for end in link.ends)

    def _is_silent(self, end: End) -> bool:
        # a name of several devices has the guid added
        names = (end.name, end.name.rpartition(" 0x")[0])
        return end[:2] not in self.counters and not self.silent.isdisjoint(names)


def parse_errors(text: str, complaints: str) -> Errors:
    """Return the counters of each port, and the switches that the tool complains of.

    Raises:
        ToolError: the output is truncated.
    """
    if _END not in text:
        raise ToolError(f"{' '.join(ERRORS)} is not understood: it ends with {text[-60:]!r}")
    rows = (_ERROR_LINE.fullmatch(line.rstrip()) for line in text.splitlines())
    counters = {
        (int(row[1], 16), whole(row[2], "a port")): {
            name: whole(number, name) for name, number in _ERROR.findall(row[3])
        }
        for row in rows
        if row
    }
    short = (line for line in complaints.split("\n") if len(line) < _MAX_LINE)
    silent = frozenset(match[1].strip() for match in map(_SILENT.search, short) if match)
    return Errors(counters, silent)


def _named(links: Sequence[Link]) -> tuple[Link, ...]:
    """Add the guid to each name that several devices have."""
    guids: dict[str, set[int]] = {}
    for end in (end for link in links for end in link.ends):
        guids.setdefault(end.name, set()).add(end.guid)

    def named(end: End) -> End:
        unique = end.name and len(guids[end.name]) == 1
        return end if unique else end._replace(name=f"{end.name} 0x{end.guid:016x}".strip())

    return tuple(link._replace(ends=(named(link.ends[0]), named(link.ends[1]))) for link in links)
