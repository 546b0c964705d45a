"""The module documents the action plug-in of its name."""

from __future__ import annotations

import yaml
from ansible_collections.hpcops.plumbline.plugins.modules.variables import DOCUMENTATION, EXAMPLES


def test_the_example_gives_the_option() -> None:
    (task,) = yaml.safe_load(EXAMPLES)
    assert set(task["hpcops.plumbline.variables"]) == set(yaml.safe_load(DOCUMENTATION)["options"])
    assert task["run_once"]
