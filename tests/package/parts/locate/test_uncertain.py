"""Explanation of an alarm whose measurement does not vote."""

from __future__ import annotations

import pytest

from plumbline.parts.locate.document import explanations
from plumbline.parts.locate.observation import Observation, Vote
from plumbline.parts.locate.suspects import locate
from tests.package.parts.locate.scenes import LAB, both


def explained(name: str, share: float) -> bool:
    """Return whether a slow link explains a target that is too uncertain to vote."""
    votes = [unsure(item, share) if item.of.component == name else item for item in slow_link()]
    return ("ost", name) in explanations(locate(votes))


def slow_link() -> list[Observation]:
    return LAB.observe({"oss3-nic": both(60e6)})


def unsure(item: Observation, share: float) -> Observation:
    return item._replace(
        vote=Vote.NONE, measured=share * item.of.expected, error=0.05, reason="unsure"
    )


@pytest.mark.parametrize(
    ("name", "share", "noted"),
    [
        pytest.param("scratch-OST0004", 0.52, True, id="as slow as the link makes it"),
        pytest.param("scratch-OST0004", 0.1, False, id="slower than that, by another fault"),
        pytest.param("scratch-OST0000", 0.52, False, id="not behind the link"),
    ],
)
def test_a_suspect_explains_uncertain_targets(name: str, share: float, noted: bool) -> None:
    assert explained(name, share) is noted
