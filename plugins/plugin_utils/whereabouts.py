# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the targets that hold a user's file: its layout alone is read, with few privileges."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Callable, Mapping, Sequence

from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import Done, Node

_CAPABILITY = "-all,+dac_read_search"
_LIMIT_S = 120.0
"""A file system that is in trouble may take its time."""


class NotFound(Exception):
    """No host finds the file; the message is what they say."""


Each = Callable[[Callable[[Node], Done]], Mapping[str, Done]]
"""Runs work on the nodes that measure targets, and returns the answers."""


def targets_of(path: str, each: Each) -> list[str]:
    """Return the targets that hold a file, by the names of the site.

    Raises:
        NotFound: no host finds it; the file system may be mounted on some only, so one is enough.
    """
    said: list[Done] = []
    # GlusterFS goes by the user alone and shows to root only what is closed to others; this root
    # may do no more than that user
    for user in ("plumbline", "root"):
        said += each(partial(_ask, path, user)).values()
        found = [json.loads(one.stdout)["holders"] for one in said if one.code == 0]
        if found:
            return _names([holder for holders in found for holder in holders])
    refused = dict.fromkeys(one.stderr.strip() for one in said)
    raise NotFound(" ".join(refused) or "No host that answers measures targets.")


def _ask(path: str, user: str, node: Node) -> Done:
    return node.run(_command(path, user), limit_s=_LIMIT_S)


def _command(path: str, user: str) -> list[str]:
    """Return the command for a user who may enter the folders of others and do nothing else."""
    return [
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        f"--inh-caps={_CAPABILITY}",
        f"--ambient-caps={_CAPABILITY}",
        f"--bounding-set={_CAPABILITY}",
        "--no-new-privs",
        *("plumbline", "where", "--json", "--", path),
    ]


def _names(holders: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the components; a target that one host does not measure may be another host's."""
    measured = {one["name"]: one["component"] for one in holders if one["component"]}
    names = [one["component"] for one in holders if one["component"]]
    names += [one["name"] for one in holders if one["name"] not in measured]
    return list(dict.fromkeys(names))
