# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node measures, from the document that the role agent has put there."""

from __future__ import annotations

import json
from typing import Mapping, NamedTuple, Sequence

from ansible_collections.hpcops.plumbline.plugins.module_utils.unit import LAYERS

EXPECTATIONS = "/etc/plumbline/expectations.json"

_WHOLE = "parallel"
"""The kind of target that stands for a file system as a whole."""


class Unmeasured(Exception):
    """What is asked for is not measured here; the message says what is."""


class Measures(NamedTuple):
    """The components of each layer that a node measures; of layer fs the whole file systems.

    ``judged`` are all that it judges, with their layers: targets of layer fs and groups too.
    """

    node: str
    layers: Mapping[str, Sequence[str]]
    judged: frozenset[tuple[str, str]]
    tests: frozenset[str] = frozenset()
    """Further tests of its file systems, which are measured where one is named."""

    def components(self, layer: str, wanted: Sequence[str]) -> list[str]:
        """Return the components of a layer that are asked for, all without a wish.

        Raises:
            Unmeasured: the node measures no such layer, or not all of these.
        """
        known = self.layers.get(layer, ())
        if not known:
            others = ", ".join(self.layers) or "nothing"
            raise Unmeasured(f"{self.node} measures nothing in layer {layer}; it measures {others}")
        for name in wanted:
            if name not in known and not (layer == "fs" and name in self.tests):
                raise Unmeasured(
                    f"{self.node} measures no {name} in layer {layer}; it measures "
                    f"{', '.join(known)}"
                )
        return list(wanted or known)

    def judges(self, layers: Sequence[str], names: Sequence[str]) -> bool:
        """Return whether the node judges any of these in any of these layers; none is all."""
        return any(
            (not layers or layer in layers) and (not names or name in names)
            for layer, name in self.judged
        )


def read_measures(path: str) -> Measures:
    """Return what the node measures.

    Raises:
        Unmeasured: nothing is deployed there.
        ValueError: the document is damaged.
    """
    try:
        with open(path, encoding="utf-8") as file:
            raw = json.load(file)
        # in layer fs a unit measures a whole file system; one target is measured in layer ost
        chosen = [
            (entry["layer"], entry["component"])
            for entry in raw["entries"]
            if entry["layer"] != "fs" or entry["target"]["kind"] == _WHOLE
        ]
        tests = frozenset(
            entry["component"]
            for entry in raw["entries"]
            if entry["target"].get("file_system", entry["component"]) != entry["component"]
            and entry["target"]["kind"] == _WHOLE
        )
        layers = {
            layer: [name for of, name in chosen if of == layer and name not in tests]
            for layer in LAYERS
        }
        judged = frozenset(
            (entry["layer"], entry[kind])
            for entry in raw["entries"]
            for kind in ("component", "group")
        )
        return Measures(
            raw["node"], {layer: names for layer, names in layers.items() if names}, judged, tests
        )
    except FileNotFoundError as error:
        raise Unmeasured(f"there is no {path}; deploy plumbline with site.yml") from error
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error!r}); deploy the role agent again") from error
