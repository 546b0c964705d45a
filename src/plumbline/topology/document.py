"""Topology document: parts with their rated speeds, and the file systems on them.

docs/topology.md explains the form with examples.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Iterator, Literal, Optional, Union

from pydantic import Field, field_validator, model_validator

from plumbline.model.errors import DocumentError
from plumbline.model.infiniband import port_name, port_rate, verbs_on_ethernet, verbs_on_infiniband
from plumbline.model.names import BRICK, MDT, PATH, SCRATCH, SOURCE, SUBVOLUME, Allowed
from plumbline.model.units import LINE_ENCODINGS, tcp_goodput
from plumbline.topology.names import DECIMAL, HEXADECIMAL, expand, refuse_no_ost
from plumbline.topology.strict import LineRate, Names, Rate, Strict, parse

HOSTS = ("client", "server")
"""Kinds of parts that run programs: plumbline measures from them, and Nagios lists them."""

NETWORK = ("switch", "router", "link")
"""Kinds of parts shared by many servers; without a rate they never limit."""

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
    """Zone of a disk; the rate falls from the outer tracks to the inner ones."""

    FASTEST = "fastest"
    AVERAGE = "average"
    SLOWEST = "slowest"


_FRAMING = {"ethernet": (40, 38), "shaped": (52, 14)}
"""Bytes of headers inside a packet, and of the frame around it.

``ethernet``: on the wire (see units.tcp_goodput).  ``shaped``: as a traffic shaper counts, only the
14 bytes of the frame header, and TCP time stamps, which Linux sends (RFC 7323).
"""


_MAX_ALIKE = 100_000
"""Above the disks of the largest storage systems, some 50,000."""


_MAX_IOPS = 1_000_000_000
"""Above those of any device, some millions."""


class Part(Strict):
    """Components of one kind; ``name`` may be a range.

    ``iops`` are the small random reads per second of the data sheet.  ``infiniband`` are width and
    speed of a port, ``4X HDR``, ``rdma`` the device of an adapter and its port, ``mlx5_0/1``.
    """

    name: str
    kind: Kind
    feeds: Names = []
    through: Names = []
    count: Annotated[int, Field(ge=1, le=_MAX_ALIKE)] = 1
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
    infiniband: Optional[str] = None
    rdma: Optional[str] = None
    media: Optional[Literal["flash"]] = None
    iops: Annotated[Optional[int], Field(ge=1, le=_MAX_IOPS)] = None

    @field_validator("encoding")
    @classmethod
    def _check_encoding(cls, encoding: Optional[str]) -> Optional[str]:
        if encoding is not None and encoding not in LINE_ENCODINGS:
            raise ValueError(
                f"{encoding!r} is no known line encoding; write {', '.join(LINE_ENCODINGS)}"
            )
        return encoding

    @field_validator("infiniband")
    @classmethod
    def _check_infiniband(cls, text: Optional[str]) -> Optional[str]:
        if text is None:
            return None
        try:
            port_rate(text)
        except DocumentError as error:
            raise ValueError(str(error)) from error
        return port_name(text)

    @model_validator(mode="after")
    def _check_rates_given(self) -> Part:
        ways = (self.rate, self.link, self.infiniband, self.read or self.write)
        if sum(way is not None for way in ways) > 1:
            raise ValueError(
                "give the speed once: rate, or link with encoding, or infiniband, or read and write"
            )
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
    def _check_order_of_rates(self) -> Part:
        rates = [rate for rate in (self.slowest, self.average, self.rate) if rate is not None]
        if self.rate is None and rates:
            raise ValueError("average and slowest go with rate, which is the fastest; give it too")
        if rates != sorted(rates):
            raise ValueError("slowest is at most average, and both at most rate; correct them")
        return self

    @model_validator(mode="after")
    def _check_keys_of_kind(self) -> Part:
        if self.address is not None and self.kind not in HOSTS:
            raise ValueError(f"a {self.kind} has no address; give it to its server or client")
        if self.rdma is not None and self.kind != "nic":
            raise ValueError(f"a {self.kind} is no RDMA adapter; give rdma to a part of kind nic")
        if self.device is not None and self.kind in HOSTS:
            raise ValueError(f"a {self.kind} is no device; give it to its disks")
        if self.media is not None and self.device is None:
            raise ValueError("media says how a device is measured; give device too")
        if self.iops is not None and self.media is None:
            raise ValueError("iops are those of small reads from flash; give media: flash too")
        return self

    def capacity(self, zone: Zone = Zone.FASTEST) -> tuple[Optional[float], Optional[float]]:
        """Return the bytes per second of reading and writing; None if the part never limits.

        ``zone`` matters only for parts with rates for it.
        """
        if self.link is not None and self.encoding is not None:
            goodput = 1.0 if self.mtu is None else tcp_goodput(self.mtu, *_FRAMING[self.framing])
            link_rate = self.link * LINE_ENCODINGS[self.encoding] * goodput * self.count
            return link_rate, link_rate
        if self.infiniband is not None:
            data_rate = port_rate(self.infiniband) * self.count
            return data_rate, data_rate
        zone_rate = {Zone.AVERAGE: self.average, Zone.SLOWEST: self.slowest}.get(zone)
        rate = zone_rate or self.rate
        read = rate if self.read is None else self.read
        write = rate if self.write is None else self.write
        return read and read * self.count, write and write * self.count

    def verbs_capacity(self) -> Optional[float]:
        """Return the bytes per second of RDMA; None if they are those of ``capacity``."""
        if self.infiniband is not None:
            return port_rate(self.infiniband) * verbs_on_infiniband() * self.count
        if self.link is None or self.encoding is None or self.mtu is None:
            return None
        line_rate = self.link * LINE_ENCODINGS[self.encoding] * self.count
        return line_rate * verbs_on_ethernet(self.mtu)

    @property
    def negotiated(self) -> str:
        """Width and speed, or else the rate of the link, that its port should have negotiated.

        It is in the words of the kernel, ``4X HDR`` or ``100 Gb/sec``; empty if unknown.
        """
        if self.infiniband is not None:
            return self.infiniband
        by_name = self.link is not None and self.encoding == "none" and self.count == 1
        return f"{self.link * 8e-9:g} Gb/sec" if self.link and by_name else ""


class Targets(Strict):
    """Storage targets on parts; for Lustre ``name`` has hexadecimal indices.

    Subclasses add keys that lead to a target, each with its allowed text.
    """

    name: str
    part: str
    through: Names = []

    def leading(self) -> Iterator[tuple[str, str, Allowed]]:
        """Yield each given key that leads to a target, with its value and its allowed text."""
        for key, field in type(self).model_fields.items():
            for allowed in field.metadata:
                if isinstance(allowed, Allowed) and key in self.model_fields_set:
                    yield key, getattr(self, key), allowed


class ServedTargets(Targets):
    """Targets whose servers can measure beside them.

    ``server_folder`` is a folder on the server, on the file system that holds the target.
    """

    server_folder: Optional[str] = None


class GlusterfsTargets(ServedTargets):
    """Targets by subvolume of a distribute volume, and optionally the brick that it must be."""

    subvolume: Annotated[str, SUBVOLUME]
    brick: Annotated[Optional[str], BRICK] = None


class DirectoryTargets(Targets):
    """Targets by directory, anywhere on the client, and the source of its mount.

    ``source`` is the output of ``findmnt``; the probe refuses any other.
    """

    directory: Annotated[str, PATH, SCRATCH]
    source: Annotated[Optional[str], SOURCE] = None


class ServedDirectories(DirectoryTargets, ServedTargets):
    """Targets by directory that hold data."""


class _FileSystem(Strict):
    name: str
    client: str
    retired: Names = []

    def expand(self, text: str) -> tuple[str, ...]:
        """Return the names of a range, numbered as in this kind; raise DocumentError."""
        return expand(text, DECIMAL)

    def reach(self, names: tuple[str, ...]) -> dict[str, list[str]]:  # noqa: ARG002
        """Return keys, common to all targets, that lead to each target; raise DocumentError."""
        return {}

    def expand_metadata(self, text: str) -> tuple[str, ...]:
        """Return the names of a range of metadata targets; raise DocumentError."""
        return self.expand(text)

    def reach_metadata(self, names: tuple[str, ...]) -> dict[str, list[str]]:
        """Return kind, and keys common to all metadata targets, that lead to each of them."""
        return {"kind": ["directory-metadata"] * len(names)}


class _Mounted(_FileSystem):
    mount: str

    def reach(self, names: tuple[str, ...]) -> dict[str, list[str]]:
        """Return the mount for each target; raise DocumentError unless it is a path."""
        PATH.refuse("mount", self.mount)
        SCRATCH.refuse("mount", self.mount)
        return {"mount": [self.mount] * len(names)}


class Lustre(_Mounted):
    """Lustre file system; its targets are OSTs, with Lustre's names."""

    kind: Literal["lustre"]
    targets: list[Targets]
    metadata: list[Targets] = []

    def expand(self, text: str) -> tuple[str, ...]:
        """Return the names of a hexadecimal range; raise DocumentError unless all are OSTs."""
        names = expand(text, HEXADECIMAL)
        refuse_no_ost(text, names)
        return names

    def reach(self, names: tuple[str, ...]) -> dict[str, list[str]]:
        """Return mount and OST for each target."""
        return {**super().reach(names), "ost": list(names)}

    def expand_metadata(self, text: str) -> tuple[str, ...]:
        """Return the names of a hexadecimal range; raise DocumentError unless all are MDTs."""
        names = expand(text, HEXADECIMAL)
        for name in names:
            MDT.refuse("the metadata target", name)
        return names

    def reach_metadata(self, names: tuple[str, ...]) -> dict[str, list[str]]:
        """Return kind, mount and MDT of each metadata target."""
        kinds = ["lustre-mdt"] * len(names)
        return {"kind": kinds, **super().reach(names), "mdt": list(names)}


class Glusterfs(_Mounted):
    """GlusterFS distribute volume; its targets are bricks."""

    kind: Literal["glusterfs"]
    targets: list[GlusterfsTargets]
    metadata: list[DirectoryTargets] = []


class Directory(_FileSystem):
    """Any file system with one directory or mount for each target."""

    kind: Literal["directory"]
    targets: list[ServedDirectories]
    metadata: list[DirectoryTargets] = []


AnyFileSystem = Annotated[Union[Lustre, Glusterfs, Directory], Field(discriminator="kind")]


class Document(Strict):
    """Topology of an entire site."""

    schema_: Literal[1] = Field(alias="schema")
    site: Annotated[str, Field(min_length=1)]
    parts: Annotated[list[Part], Field(min_length=1)]
    file_systems: list[AnyFileSystem] = []


def load(raw: object) -> Document:
    """Return the document of a parsed YAML mapping.

    Raises:
        DocumentError: a key or value is not understood; the message names part and key.
    """
    if not raw:
        raise DocumentError(
            "plumbline_topology is empty; describe the site's parts as in docs/topology.md"
        )
    return parse(Document, raw, "plumbline_topology")
