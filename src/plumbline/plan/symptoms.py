"""Which hosts have services for their symptoms, and of which kinds, as the policy says."""

from __future__ import annotations

from typing import Literal, Sequence

from pydantic import model_validator

from plumbline.errors import DocumentError
from plumbline.symptoms.reported import HOLDS_S
from plumbline.topology.ranges import expand
from plumbline.topology.strict import Duration, Strict

Kind = Literal["arrays", "disks", "enclosures", "links", "lustre", "kernel"]


class SymptomsPolicy(Strict):
    """The kinds of each host, and of those that are named the kinds in their place.

    ``hosts`` is by name or range, such as ``client[1-2]``; an empty list is for none.
    ``every`` is how often all nodes look, ``stale_after`` the age at which a look no longer holds,
    both in seconds.
    """

    kinds: list[Kind] = []
    hosts: dict[str, list[Kind]] = {}
    every: Duration = 600.0
    stale_after: Duration = HOLDS_S

    @model_validator(mode="after")
    def _holds_until_the_next_look(self) -> SymptomsPolicy:
        if self.every % 60 or 3600 % self.every or self.every > HOLDS_S / 2:
            raise ValueError(
                "every must be minutes that divide an hour, at most 30 min, for a look holds for "
                "an hour; for example 10 min"
            )
        if self.stale_after < 2 * self.every:
            raise ValueError(
                f"stale_after is shorter than two times every ({self.every / 60:.0f} min), so each "
                "look would go stale before the next one"
            )
        return self

    @property
    def calendar(self) -> str:
        """Return when nodes look, as systemd's calendar."""
        return f"*:0/{self.every / 60:.0f}"


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
