"""Links of an InfiniBand fabric and their error counters, as infiniband-diags prints them.

``iblinkinfo`` prints a line for each port of a switch, so a link between switches has two.
``ibqueryerrors`` leaves out ports without errors.
"""

from __future__ import annotations

import re
from typing import Iterable, Mapping, NamedTuple, Sequence

from plumbline.model.errors import ToolError
from plumbline.model.infiniband import LANE_BY_LINE_RATE, LANES
from plumbline.model.validation import real, whole

LINKS = ("iblinkinfo", "-l", "--switches-only")
ERRORS = ("ibqueryerrors", "--switch")

_LINE = re.compile(
    r'0x([0-9a-f]{16}) "(.*?)" +\d+ +(\d+)\[[ \d]*\] '
    r"==\( *(?:(\d+)X +(\S.*?) +)?(\w+)/ *(\w[\w ]*)\)==> +"
    r'(?:0x([0-9a-f]{16}) +\d+ +(\d+))?\[[ \d]*\] *"(.*)"(?: \((.*)\))?'
)
_BETTER = re.compile(r"Could be (\d+X|[\d.]+ Gbps|\w+)")
_ERROR_LINE = re.compile(r" +GUID 0x([0-9a-f]{1,16}) port (\d+): (\[.*)")
_ERROR = re.compile(r"\[(\w+) == (\d+)\b")
_END = "## Summary:"
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


def parse_links(text: str) -> tuple[Link, ...]:
    """Return the links that are up, each once, from the ports of all switches.

    The guid is added to a name that several devices have.

    Raises:
        ToolError: a line is no port, or truncated, or there is no switch.
    """
    rows = [_port(line) for line in text.splitlines() if line.strip()]
    if not rows or not text.endswith("\n"):
        raise ToolError(f"{' '.join(LINKS)} is not understood: it ends with {text[-60:]!r}")
    switches = {int(row[1], 16) for row in rows}
    links = (_link(row, switches) for row in rows if row[4] and row[8])
    return _named(tuple({link.place: link for link in links}.values()))


def _port(line: str) -> re.Match[str]:
    match = _LINE.fullmatch(line.rstrip()) if len(line) < _MAX_LINE else None
    if not match:
        raise ToolError(f"{' '.join(LINKS)} is not understood: {line[:200]!r}")
    return match


def _link(row: re.Match[str], switches: Iterable[int]) -> Link:
    near = End(int(row[1], 16), whole(row[3], "a port"), row[2].strip())
    far = End(int(row[8], 16), whole(row[9], "a port"), row[10].strip())
    lane, lane_Bps = _lane(row[5])
    first, second = sorted((near, far)) if far.guid in switches else (near, far)
    width, better = whole(row[4], "a width"), " ".join(_BETTER.findall(row[11] or ""))
    return Link((first, second), far.guid in switches, width, lane, lane_Bps, better)


def _lane(text: str) -> tuple[str, float]:
    """Return name and data rate in bytes per second of a lane; raise ToolError if unknown."""
    number = re.match(r"[\d.]+", text)
    lane = _LANES.get(real(number[0], "a speed")) if number else None
    if _FDR10[0] in text:
        lane = _FDR10
    if lane is None:
        raise ToolError(f"{' '.join(LINKS)} shows the speed {text[:40]!r}, which is not known")
    return lane[0], lane[1] * 1e9 / 8


Errors = Mapping[tuple[int, int], Mapping[str, int]]
"""Counters by guid and port; those at 0 are left out."""


def parse_errors(text: str) -> Errors:
    """Return the counters of each port; raise ToolError for truncated output."""
    if _END not in text:
        raise ToolError(f"{' '.join(ERRORS)} is not understood: it ends with {text[-60:]!r}")
    rows = (_ERROR_LINE.fullmatch(line.rstrip()) for line in text.splitlines())
    return {
        (int(row[1], 16), whole(row[2], "a port")): {
            name: whole(number, name) for name, number in _ERROR.findall(row[3])
        }
        for row in rows
        if row
    }


def _named(links: Sequence[Link]) -> tuple[Link, ...]:
    """Add the guid to each name that several devices have."""
    guids: dict[str, set[int]] = {}
    for end in (end for link in links for end in link.ends):
        guids.setdefault(end.name, set()).add(end.guid)

    def named(end: End) -> End:
        unique = end.name and len(guids[end.name]) == 1
        return end if unique else end._replace(name=f"{end.name} 0x{end.guid:016x}".strip())

    return tuple(link._replace(ends=(named(link.ends[0]), named(link.ends[1]))) for link in links)
