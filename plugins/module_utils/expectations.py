# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measurements of a node, from the document that the role agent installs."""

from __future__ import annotations

import json
from typing import Mapping, NamedTuple, Sequence

from ansible_collections.hpcops.plumbline.plugins.module_utils.unit import LAYERS

EXPECTATIONS = "/etc/plumbline/expectations.json"

_PARALLEL = "parallel"
"""Kind of target for an entire file system."""


class Unmeasured(Exception):
    """This node does not measure the requested components; the message lists its own."""


class Measures(NamedTuple):
    """Components of each layer that a node measures; for layer fs entire file systems.

    ``judged`` has layer and name of all that it judges: also targets of layer fs, and groups.
    """

    node: str
    layers: Mapping[str, Sequence[str]]
    judged: frozenset[tuple[str, str]]
    tests: frozenset[str] = frozenset()
    """Additional tests of its file systems, which are measured only if named."""

    def components(self, layer: str, requested: Sequence[str]) -> list[str]:
        """Return the requested components of a layer, or all if none is requested.

        Raises:
            Unmeasured: the node does not measure the layer, or not all of these components.
        """
        measured = self.layers.get(layer, ())
        if not measured:
            names = ", ".join(self.layers) or "nothing"
            raise Unmeasured(f"{self.node} measures nothing in layer {layer}; it measures {names}")
        for name in requested:
            if name not in measured and not (layer == "fs" and name in self.tests):
                raise Unmeasured(
                    f"{self.node} measures no {name} in layer {layer}; it measures "
                    f"{', '.join(measured)}"
                )
        return list(requested or measured)

    def judges(self, layers: Sequence[str], names: Sequence[str]) -> bool:
        """Return True if the node judges one of the names in one of the layers; empty means all."""
        return any(
            (not layers or layer in layers) and (not names or name in names)
            for layer, name in self.judged
        )


def read_measures(path: str) -> Measures:
    """Return the measurements of the node.

    Raises:
        Unmeasured: nothing is deployed.
        ValueError: the document is damaged.
    """
    try:
        with open(path, encoding="utf-8") as file:
            raw = json.load(file)
        # a unit of layer fs measures an entire file system; layer ost measures single targets
        chosen = [
            (entry["layer"], entry["component"])
            for entry in raw["entries"]
            if entry["layer"] != "fs" or entry["target"]["kind"] == _PARALLEL
        ]
        tests = frozenset(
            entry["component"]
            for entry in raw["entries"]
            if entry["target"].get("file_system", entry["component"]) != entry["component"]
            and entry["target"]["kind"] == _PARALLEL
        )
        layers = {
            layer: [name for key, name in chosen if key == layer and name not in tests]
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
