"""Modules that document action plug-ins have the options of these plug-ins."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.hpcops.plumbline.plugins.action import (
    investigate,
    records,
    through,
    together,
)
from ansible_collections.hpcops.plumbline.plugins.module_utils.command import ARGUMENTS
from ansible_collections.hpcops.plumbline.plugins.modules import (
    investigate as investigate_page,
)
from ansible_collections.hpcops.plumbline.plugins.modules import records as records_page
from ansible_collections.hpcops.plumbline.plugins.modules import through as through_page
from ansible_collections.hpcops.plumbline.plugins.modules import together as together_page
from ansible_collections.hpcops.plumbline.plugins.modules import variables as variables_page


@pytest.mark.parametrize(
    ("plugin", "page"),
    [
        (investigate, investigate_page),
        (records, records_page),
        (through, through_page),
        (together, together_page),
    ],
)
def test_each_option_is_documented_with_its_type_and_default(plugin: Any, page: Any) -> None:
    documented = yaml.safe_load(page.DOCUMENTATION)["options"]
    own = {name: spec for name, spec in plugin.OPTIONS.items() if name not in ARGUMENTS}
    assert set(documented) == set(own)
    for name, spec in own.items():
        option = {key: value for key, value in documented[name].items() if key != "description"}
        assert option == spec, name


@pytest.mark.parametrize(
    "page", [investigate_page, records_page, through_page, together_page, variables_page]
)
def test_an_example_runs_once_with_existing_options(page: Any) -> None:
    document = yaml.safe_load(page.DOCUMENTATION)
    task, *_ = yaml.safe_load(page.EXAMPLES)
    assert set(task[f"hpcops.plumbline.{document['module']}"]) <= set(document["options"])
    assert task["run_once"]
    assert yaml.safe_load(page.RETURN) or page is variables_page
