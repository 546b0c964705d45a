"""Targets that are taken together because files are striped over them."""

from __future__ import annotations

from typing import Sequence

from plumbline.cli.parallel_members import Members
from plumbline.cli.parallel_terms import Terms
from plumbline.errors import UsageError
from plumbline.model.expectation import Expectation
from plumbline.targets import STRIPED


def in_stripes(members: Members, terms: Terms) -> Members:
    """Return the members as sets of ``terms.stripes`` targets, each with files on all of them.

    Targets that do not fill a set are left out.

    Raises:
        UsageError: files over several targets cannot be made on these.
    """
    if terms.stripes == 1:
        return members
    for entry in members.entries:
        if entry.target.get("kind") != "lustre":
            raise UsageError(
                f"{entry.component} is a target of kind {entry.target.get('kind')}; files over "
                "several targets are made on Lustre alone: leave --stripes out"
            )
    last = len(members.entries) - terms.stripes
    sets = tuple(
        _set(members.entries[first : first + terms.stripes], terms.test.stripe_bytes)
        for first in range(0, last + 1, terms.stripes)
    )
    return members._replace(entries=sets)


def _set(entries: Sequence[Expectation], stripe_bytes: int) -> Expectation:
    """Return several targets as one, called after the first and the number of the others."""
    first = entries[0]
    osts = [str(entry.target.get("ost", entry.component)) for entry in entries]
    return first._replace(
        component=f"{first.component}+{len(entries) - 1}",
        target={
            "kind": STRIPED,
            "mount": first.target["mount"],
            "osts": ",".join(osts),
            "stripe_bytes": stripe_bytes,
        },
        path=tuple(dict.fromkeys(part for entry in entries for part in entry.path)),
    )
