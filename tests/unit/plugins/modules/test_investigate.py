"""The module documents the action plug-in of its name, whose tests compare the options."""

from __future__ import annotations

import yaml
from ansible_collections.hpcops.plumbline.plugins.modules.investigate import EXAMPLES, RETURN


def test_examples_and_results_are_documents() -> None:
    tasks = yaml.safe_load(EXAMPLES)
    assert "hpcops.plumbline.investigate" in tasks[0]
    assert tasks[0]["run_once"]
    assert yaml.safe_load(RETURN)
