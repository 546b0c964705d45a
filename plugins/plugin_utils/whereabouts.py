# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the targets that hold a user's file; only its layout is read, with few privileges."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Callable, Mapping, Sequence

from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import (
    Completed,
    Node,
    restricted,
)

_LIMIT_S = 120.0
"""Long limit: a file system in trouble may be slow."""


class NotFound(Exception):
    """No host finds the file; the message has their errors."""


Each = Callable[[Callable[[Node], Completed]], Mapping[str, Completed]]
"""Function that runs work on the nodes that measure targets, and returns the results."""


def targets_of(path: str, run_on: Each) -> list[str]:
    """Return the site's names of the targets that hold a file.

    Raises:
        NotFound: no host finds the file; one is enough, as not all hosts mount the file system.
    """
    answers: list[Completed] = []
    # GlusterFS ignores the capability and shows closed folders only to root; this root has no more
    # privileges than the user
    for user in ("plumbline", "root"):
        answers += run_on(partial(_ask, path, user)).values()
        holder_lists = [json.loads(done.stdout)["holders"] for done in answers if done.code == 0]
        if holder_lists:
            return _names([holder for holders in holder_lists for holder in holders])
    refused = dict.fromkeys(done.stderr.strip() for done in answers)
    raise NotFound(" ".join(refused) or "No host that answers measures targets.")


def _ask(path: str, user: str, node: Node) -> Completed:
    argv = [*restricted(user), "plumbline", "where", "--json", "--", path]
    return node.run(argv, limit_s=_LIMIT_S)


def _names(holders: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return components; a target that one host does not measure may be measured by another."""
    measured = {holder["name"]: holder["component"] for holder in holders if holder["component"]}
    names = [holder["component"] for holder in holders if holder["component"]]
    names += [holder["name"] for holder in holders if holder["name"] not in measured]
    return list(dict.fromkeys(names))
