"""OSTs that are in use and in no topology: data lies on them, and nobody measures them."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Sequence

from plumbline.errors import SkipTarget, ToolError
from plumbline.model.command import CommandRunner
from plumbline.targets.lustre_output import parse_osts
from plumbline.targets.query import ask


class Difference(NamedTuple):
    """What a mount shows and the topology does not, and the other way round; OSTs by name.

    ``trouble`` says why nothing can be told.
    """

    mount: str
    unnamed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    trouble: str = ""

    def sentences(self) -> list[str]:
        """Return a sentence for each OST, or the one on why nothing can be told."""
        if self.trouble:
            return [f"{self.mount}: {self.trouble}"]
        return [
            *(
                f"{name} is active on {self.mount}, but not in the topology"
                for name in self.unnamed
            ),
            *(
                f"{name} is in the topology, but not active on {self.mount}"
                for name in self.missing
            ),
        ]


def unnamed(active: Sequence[str], known: frozenset[str]) -> tuple[str, ...]:
    """Return the active OSTs that are not known, in their order."""
    return tuple(name for name in active if name not in known)


def compare(
    run: CommandRunner, mount: str, measured: Sequence[str], known: Mapping[str, str]
) -> Difference:
    """Return how a mount differs from the topology, which measures some OSTs and knows others."""
    try:
        osts = parse_osts(ask(run, ["lfs", "osts", mount]))
    except (SkipTarget, ToolError) as error:
        return Difference(mount, trouble=str(error))
    if not osts:
        return Difference(mount, trouble="lfs osts shows no OST; is it a mount of Lustre?")
    active = [name for name, (_, state) in osts.items() if state == "ACTIVE"]
    every = frozenset([*measured, *known])
    missing = tuple(name for name in measured if name not in active)
    return Difference(mount, unnamed(active, every), missing)
