"""A user's file is traced to its targets by its layout; a file without one is reported."""

from __future__ import annotations

from typing import Any, Mapping

import pytest

from plumbline.measure.targets.whereabouts import whereabouts
from plumbline.model.errors import PlumblineError
from tests.package.fakes import Answer, FakeRunner
from tests.package.recorded import reply, table

FILE = table("whereabouts.yml")


def answers(layout: Any = "", changes: Mapping[str, Any] = {}) -> dict[str, Answer]:
    """Return the answers of a node about a file with a layout."""
    layouts = {"lfs getstripe -d -y": layout, "getfattr": layout}
    return {start: reply(raw) for start, raw in {**FILE["answers"], **layouts, **changes}.items()}


@pytest.mark.parametrize("case", FILE["cases"], ids=lambda case: case["case"])
def test_a_file_is_traced_to_its_targets(case: dict[str, Any]) -> None:
    run = FakeRunner(answers(case.get("layout", ""), case.get("answers", {})))
    path, targets = case.get("path", "/mnt/lustre/u/f"), case.get("targets", FILE["lustre"])
    if "raises" in case:
        name, words = case["raises"]
        with pytest.raises(PlumblineError) as caught:
            whereabouts(run, path, targets)
        assert type(caught.value).__name__ == name
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
        return
    place = whereabouts(run, path, targets)
    assert [[holder.name, holder.component] for holder in place.holders] == case["holders"]
    assert case.get("mount", [place.kind, place.mount]) == [place.kind, place.mount]
    assert [start for start in case.get("never", ()) if run.called(start)] == []
