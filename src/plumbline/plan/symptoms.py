"""Which hosts have services for their symptoms, and of which kinds, as the policy says."""

from __future__ import annotations

from typing import Literal, Sequence

from plumbline.errors import DocumentError
from plumbline.topology.ranges import expand
from plumbline.topology.strict import Duration, Strict

Kind = Literal["arrays", "disks", "enclosures", "links", "lustre", "kernel"]


class SymptomsPolicy(Strict):
    """The kinds of each host, and of those that are named the kinds in their place.

    ``hosts`` is by name or range, such as ``client[1-2]``; an empty list is for none.
    ``stale_after`` is the age at which a look no longer holds, seconds.
    """

    kinds: list[Kind] = []
    hosts: dict[str, list[Kind]] = {}
    stale_after: Duration = 3600.0


def kinds_of(rules: SymptomsPolicy, hosts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the kinds of each host of the topology, each once.

    Raises:
        DocumentError: a host is named that is none, or named twice.
    """
    found: dict[str, tuple[str, ...]] = dict.fromkeys(hosts, tuple(dict.fromkeys(rules.kinds)))
    named: set[str] = set()
    for text, kinds in rules.hosts.items():
        for name in expand(text):
            if name not in found:
                raise DocumentError(
                    f"plumbline_policy: symptoms hosts {name} is no host of plumbline_topology; "
                    "correct its name, or remove it"
                )
            if name in named:
                raise DocumentError(
                    f"plumbline_policy: symptoms hosts names {name} twice; name it once"
                )
            named.add(name)
            found[name] = tuple(dict.fromkeys(kinds))
    return found
