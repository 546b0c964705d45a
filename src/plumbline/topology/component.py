"""The parts and the targets of a site: what a topology is made of."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional

from plumbline.topology.document import HOSTS


class Component(NamedTuple):
    """One part that can be slow.

    ``read_Bps`` and ``write_Bps`` are its capacities in bytes per second, None where it never
    limits.  ``feeds`` are its neighbours nearer to the network, ``through`` the parts that its way
    to the network must cross.  ``address`` and ``device`` are empty where there is none.
    ``among`` is the name or range that the document has for it and its like.
    """

    name: str
    kind: str
    read_Bps: Optional[float]
    write_Bps: Optional[float]
    feeds: tuple[str, ...]
    through: tuple[str, ...]
    address: str
    device: str
    among: str

    @property
    def is_host(self) -> bool:
        """True for what runs programs: a client or a server."""
        return self.kind in HOSTS


class Target(NamedTuple):
    """One storage target: the component it lies on, the client that probes it, how it is reached.

    ``reach`` has ``kind`` and that kind's own keys, as in an expectation's ``target``.
    ``among`` is the name or range that the document has for it and its like.
    """

    name: str
    file_system: str
    on: str
    through: tuple[str, ...]
    client: str
    reach: Mapping[str, str]
    retired: bool
    among: str
