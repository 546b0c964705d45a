"""The modules that document action plug-ins say what these take."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.hpcops.plumbline.plugins.action import investigate, records
from ansible_collections.hpcops.plumbline.plugins.module_utils.command import ARGUMENTS
from ansible_collections.hpcops.plumbline.plugins.modules import (
    investigate as investigate_page,
)
from ansible_collections.hpcops.plumbline.plugins.modules import records as records_page


@pytest.mark.parametrize(
    ("plugin", "page"), [(investigate, investigate_page), (records, records_page)]
)
def test_every_option_is_documented_with_its_kind_and_default(plugin: Any, page: Any) -> None:
    said = yaml.safe_load(page.DOCUMENTATION)["options"]
    own = {name: spec for name, spec in plugin.OPTIONS.items() if name not in ARGUMENTS}
    assert set(said) == set(own)
    for name, spec in own.items():
        told = {key: value for key, value in said[name].items() if key != "description"}
        assert told == spec, name
