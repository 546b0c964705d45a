"""What a person says of how ranks are to be started: by what, on which hosts, with which Python."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from plumbline.errors import DocumentError
from plumbline.model.printed import whole
from plumbline.ranks.layout import spread

_HOST = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]*)(?:(?::|\s+slots=)(?P<slots>[1-9]\d*))?")


class Client(NamedTuple):
    """A host that ranks run on; ``slots`` is how many of them, 0 for an equal share."""

    name: str
    slots: int = 0


class Launch(NamedTuple):
    """What starts the ranks.

    ``launcher`` is a program; ``clients`` are empty for this host alone, or for the ``given`` hosts
    of Slurm's allocation; ``python`` is empty for the first one that has mpi4py; ``options`` go to
    the launcher.
    """

    launcher: str = "mpirun"
    clients: tuple[Client, ...] = ()
    python: str = ""
    options: tuple[str, ...] = ()
    given: int = 1

    @property
    def hosts(self) -> int:
        """How many hosts have ranks."""
        return len(self.clients) or self.given

    def slots(self, ranks: int) -> tuple[Client, ...]:
        """Return the clients with their numbers of ranks, which add up to ``ranks``.

        Raises:
            DocumentError: what was given adds up to fewer.
        """
        if not self.clients:
            return ()
        if all(client.slots for client in self.clients):
            if sum(client.slots for client in self.clients) < ranks:
                raise DocumentError(
                    f"the clients have slots for fewer than {ranks} ranks; give them more, or none"
                )
            return self.clients
        shares = spread(ranks, len(self.clients))
        found = (Client(one.name, share) for one, share in zip(self.clients, shares))
        return tuple(client for client in found if client.slots)


def by_slurm(launcher: str) -> bool:
    """Return whether a program is Slurm's, which finds the hosts of its allocation."""
    return Path(launcher).name == "srun"


def parse_clients(text: str, separator: str = ",") -> tuple[Client, ...]:
    """Return the clients of ``host1,host2:4``, or of the lines of a hostfile.

    Raises:
        DocumentError: an entry is no host, one is there twice, or only some have a number.
    """
    lines = [line.partition("#")[0].strip() for line in text.split(separator)]
    found = []
    for line in filter(None, lines):
        match = _HOST.fullmatch(line)
        if not match:
            raise DocumentError(f"{line!r:.80} is no client; write host, or host:4 for four ranks")
        slots = whole(match["slots"] or "0", f"the ranks of {line!r:.80}", DocumentError)
        found.append(Client(match["name"], slots))
    for name, count in Counter(client.name for client in found).items():
        if count > 1:
            raise DocumentError(f"the client {name} is named twice; name it once, with its slots")
    without = [client.name for client in found if not client.slots]
    if without and len(without) < len(found):
        raise DocumentError(
            f"the client {without[0]} has no number of ranks and others have one; give one to all "
            "of them, or to none"
        )
    return tuple(found)
