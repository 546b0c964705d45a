"""The topology as a person types it: parts with rated speeds, and the file systems upon them.

The form is explained with examples in docs/topology.md.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Iterator, Literal, Optional, Union

from pydantic import Field, field_validator, model_validator

from plumbline.model.errors import DocumentError
from plumbline.model.names import BRICK, PATH, SOURCE, SUBVOLUME, Allowed
from plumbline.model.units import LINE_ENCODINGS, tcp_goodput
from plumbline.topology.names import DECIMAL, HEXADECIMAL, expand, refuse_no_ost
from plumbline.topology.strict import LineRate, Names, Rate, Strict, parse

HOSTS = ("client", "server")
"""Kinds of parts that run programs: plumbline measures from them, Nagios lists them."""

NETWORK = ("switch", "router", "link")
"""Kinds of parts that many servers share; without a rate they never limit."""

Kind = Literal[
    "client",
    "server",
    "nic",
    "switch",
    "router",
    "link",
    "hba",
    "port",
    "controller",
    "channel",
    "enclosure",
    "array",
    "disk",
]


class Zone(str, Enum):
    """A place on a disk: its rate falls from the outer tracks to the inner ones."""

    FASTEST = "fastest"
    AVERAGE = "average"
    SLOWEST = "slowest"


_FRAMING = {"ethernet": (40, 38), "shaped": (52, 14)}
"""Bytes of headers within and of frame around a packet.

``ethernet``: what lies on the wire (see units.tcp_goodput).  ``shaped``: what a traffic shaper
counts, the 14 bytes of header alone, with TCP time stamps (RFC 7323), which Linux sends.
"""


class Part(Strict):
    """Components of one kind; ``name`` is a range where there are several."""

    name: str
    kind: Kind
    feeds: Names = []
    through: Names = []
    count: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    rate: Optional[Rate] = None
    average: Optional[Rate] = None
    slowest: Optional[Rate] = None
    read: Optional[Rate] = None
    write: Optional[Rate] = None
    link: Optional[LineRate] = None
    encoding: Optional[str] = None
    mtu: Annotated[Optional[int], Field(ge=576, le=65535)] = None
    framing: Literal["ethernet", "shaped"] = "ethernet"
    address: Optional[str] = None
    device: Optional[str] = None

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, encoding: Optional[str]) -> Optional[str]:
        if encoding is not None and encoding not in LINE_ENCODINGS:
            raise ValueError(
                f"{encoding!r} is no known line encoding; write {', '.join(LINE_ENCODINGS)}"
            )
        return encoding

    @model_validator(mode="after")
    def _one_way_to_give_a_rate(self) -> Part:
        ways = [self.rate is not None, self.link is not None, bool(self.read or self.write)]
        if sum(ways) > 1:
            raise ValueError("give the speed once: rate, or link with encoding, or read and write")
        if (self.read is None) != (self.write is None):
            raise ValueError("read and write belong together; give both, or rate for the two")
        if (self.link is None) != (self.encoding is None):
            raise ValueError(
                f"link and encoding belong together; encoding is one of {', '.join(LINE_ENCODINGS)}"
            )
        if self.link is None and "mtu" in self.model_fields_set:
            raise ValueError("mtu says what TCP leaves of a link; give link and encoding too")
        if self.mtu is None and "framing" in self.model_fields_set:
            raise ValueError("framing says how packets of mtu are framed; give mtu too")
        return self

    @model_validator(mode="after")
    def _rate_is_the_fastest(self) -> Part:
        rates = [rate for rate in (self.slowest, self.average, self.rate) if rate is not None]
        if self.rate is None and rates:
            raise ValueError("average and slowest go with rate, which is the fastest; give it too")
        if rates != sorted(rates):
            raise ValueError("slowest is at most average, and both at most rate; correct them")
        return self

    @model_validator(mode="after")
    def _only_where_it_means_something(self) -> Part:
        if self.address is not None and self.kind not in HOSTS:
            raise ValueError(f"a {self.kind} has no address; give it to its server or client")
        if self.device is not None and self.kind in HOSTS:
            raise ValueError(f"a {self.kind} is no device; give it to its disks")
        return self

    def capacity(self, zone: Zone = Zone.FASTEST) -> tuple[Optional[float], Optional[float]]:
        """Return bytes per second of reading and writing; None if the part never limits.

        ``zone`` matters if the part gives rates for it.
        """
        if self.link is not None and self.encoding is not None:
            goodput = 1.0 if self.mtu is None else tcp_goodput(self.mtu, *_FRAMING[self.framing])
            link_rate = self.link * LINE_ENCODINGS[self.encoding] * goodput * self.count
            return link_rate, link_rate
        elsewhere = {Zone.AVERAGE: self.average, Zone.SLOWEST: self.slowest}.get(zone)
        rate = elsewhere or self.rate
        read = rate if self.read is None else self.read
        write = rate if self.write is None else self.write
        return read and read * self.count, write and write * self.count


class Targets(Strict):
    """Storage targets upon parts; ``name`` is hexadecimal for Lustre, as Lustre writes it.

    A kind of its own adds the keys that lead to a target, each with the text that it allows.
    """

    name: str
    part: str
    through: Names = []

    def leading(self) -> Iterator[tuple[str, str, Allowed]]:
        """Yield each key that leads to a target and is given, its text, and what it allows."""
        for key, field in type(self).model_fields.items():
            for allowed in field.metadata:
                if isinstance(allowed, Allowed) and key in self.model_fields_set:
                    yield key, getattr(self, key), allowed


class GlusterfsTargets(Targets):
    """The distribute volume's subvolume of each target, and its brick to be proven, if given."""

    subvolume: Annotated[str, SUBVOLUME]
    brick: Annotated[Optional[str], BRICK] = None


class DirectoryTargets(Targets):
    """The directory of each target, anywhere on the client, and the source of its mount.

    ``source`` is as ``findmnt`` shows it; the probe refuses any other.
    """

    directory: Annotated[str, PATH]
    source: Annotated[Optional[str], SOURCE] = None


class _FileSystem(Strict):
    name: str
    client: str
    retired: Names = []

    def expand(self, text: str) -> tuple[str, ...]:
        """Return the names of a range as this kind numbers them; raise DocumentError."""
        return expand(text, DECIMAL)

    def reach(self, names: tuple[str, ...]) -> dict[str, list[str]]:  # noqa: ARG002
        """Return the keys that lead to each target, beside its own; raise DocumentError."""
        return {}


class _Mounted(_FileSystem):
    mount: str

    def reach(self, names: tuple[str, ...]) -> dict[str, list[str]]:
        """Return the mount of all; raise DocumentError for one that is no path."""
        PATH.refuse("mount", self.mount)
        return {"mount": [self.mount] * len(names)}


class Lustre(_Mounted):
    """Targets are OSTs, named as Lustre names them."""

    kind: Literal["lustre"]
    targets: list[Targets]

    def expand(self, text: str) -> tuple[str, ...]:
        """Return the names of a range in hexadecimal; raise DocumentError for one of no OST."""
        names = expand(text, HEXADECIMAL)
        refuse_no_ost(text, names)
        return names

    def reach(self, names: tuple[str, ...]) -> dict[str, list[str]]:
        """Return mount and OST."""
        return {**super().reach(names), "ost": list(names)}


class Glusterfs(_Mounted):
    """Targets are bricks of a distribute volume."""

    kind: Literal["glusterfs"]
    targets: list[GlusterfsTargets]


class Directory(_FileSystem):
    """Targets are directories; any file system that is mounted once for each of its targets."""

    kind: Literal["directory"]
    targets: list[DirectoryTargets]


AnyFileSystem = Annotated[Union[Lustre, Glusterfs, Directory], Field(discriminator="kind")]


class Document(Strict):
    """The whole topology of a site."""

    schema_: Literal[1] = Field(alias="schema")
    site: Annotated[str, Field(min_length=1)]
    parts: Annotated[list[Part], Field(min_length=1)]
    file_systems: list[AnyFileSystem] = []


def load(raw: object) -> Document:
    """Return the document of a parsed YAML mapping.

    Raises:
        DocumentError: a key or value that is not understood; the message names part and key.
    """
    if not raw:
        raise DocumentError(
            "plumbline_topology is empty; describe the site's parts as in docs/topology.md"
        )
    return parse(Document, raw, "plumbline_topology")
