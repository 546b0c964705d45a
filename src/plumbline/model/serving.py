"""Servers of OSTs: those that the topology draws, compared with those that Lustre names.

An OST behind the wrong server makes suspects and path services blame a healthy server, although
each of its own measurements is right.
"""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.names import several
from plumbline.model.record import Flag, Record


class Serving(NamedTuple):
    """Differences of the topology from Lustre, and the OSTs whose server it has right.

    ``wrong`` are the OSTs of all differences.
    """

    differences: tuple[str, ...]
    proven: tuple[str, ...]
    wrong: tuple[str, ...] = ()


def serving(
    drawn: Mapping[str, str], seen: Mapping[str, Sequence[str]], addresses: Mapping[str, str]
) -> Serving:
    """Return the comparison for the OSTs in both ``drawn`` and ``seen``.

    ``drawn`` has the server of each OST in the topology.  ``seen`` has the LNet addresses of the
    servers that it may belong to: its first one, and the present one if that is another, since
    servers that take over for each other may be listed in either order.  ``addresses`` has the host
    of each address in the topology.

    Where the topology has none of the addresses, OSTs with one address belong to one server all the
    same, as an LNet address is that of one host.
    """
    hosts = {
        ost: [addresses.get(nid.rpartition("@")[0], "") for nid in nids]
        for ost, nids in seen.items()
        if ost in drawn and nids
    }
    proven = tuple(ost for ost, names in hosts.items() if drawn[ost] in names)
    others = {ost: names for ost, names in hosts.items() if drawn[ost] not in names}
    elsewhere: dict[tuple[str, str], list[str]] = {}
    together: dict[str, list[str]] = {}
    for ost, names in others.items():
        if all(names):
            elsewhere.setdefault((f"{names[0]} ({seen[ost][0]})", drawn[ost]), []).append(ost)
        elif len(names) == 1:
            together.setdefault(seen[ost][0], []).append(ost)
    differences = [
        (_sentence(osts, f"served by {server}", host), osts)
        for (server, host), osts in elsewhere.items()
    ]
    differences += _parted(together, drawn)
    return Serving(
        tuple(sentence for sentence, _ in differences),
        proven,
        tuple(ost for _, osts in differences for ost in osts),
    )


def _parted(
    together: Mapping[str, list[str]], drawn: Mapping[str, str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield a sentence and the OSTs of each LNet address that are drawn behind several servers."""
    for nid, osts in together.items():
        servers = list(dict.fromkeys(drawn[ost] for ost in osts))
        if len(servers) > 1:
            yield _sentence(osts, f"all served by {nid}", several(servers)), osts


def first_server(record: Optional[Record]) -> tuple[str, ...]:
    """Return the LNet address of an OST's first server, none if it may not be its own."""
    if record is None or Flag.FAILED_OVER in record.flags:
        return ()
    nid = (record.versions or {}).get("nid", "")
    return (nid,) if nid else ()


def _sentence(osts: Sequence[str], served: str, drawn: str) -> str:
    verb = "is" if len(osts) == 1 else "are"
    return (
        f"{several(osts)} {verb} {served}, but the topology has {'it' if verb == 'is' else 'them'} "
        f"behind {drawn}: a fault would be blamed on the wrong server"
    )
