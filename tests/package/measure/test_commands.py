"""Commands of probes are bounded and harmless, and refuse anything else."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.measure.probes import probe_for
from plumbline.model.errors import DocumentError
from tests.package.measure.jobs import CALLS, REFUSED, changed


@pytest.mark.parametrize("case", CALLS, ids=lambda case: case["case"])
def test_a_tool_is_called_with_these_options(case: dict[str, Any]) -> None:
    argv = probe_for(case["tool"]).command(changed(case["tool"], case))
    assert set(case.get("has", ())) <= set(argv)
    for start in case.get("lacks", ()):
        assert not [word for word in argv if word.startswith(start)]
    assert " ".join(argv).startswith(case.get("begins", ""))


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_impossible_and_forbidden_jobs_are_refused(case: dict[str, Any]) -> None:
    for tool in case["tools"]:
        with pytest.raises(DocumentError, match=case["says"]):
            probe_for(tool).command(changed(tool, case))
