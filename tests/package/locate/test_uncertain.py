"""Explanation of an alarm whose measurement does not vote."""

from __future__ import annotations

import pytest

from plumbline.locate.document import explanations
from plumbline.locate.observation import Observation, Vote
from plumbline.locate.suspects import locate
from tests.package.locate.scenes import Scene, both, lab

LAB = Scene(lab())


def explained(name: str, share: float) -> bool:
    """Return whether a slow link explains a target behind it that is too uncertain to vote."""
    seen = [unsure(one, share) if one.of.component == name else one for one in slow_link()]
    return ("ost", name) in explanations(locate(seen))


def slow_link() -> list[Observation]:
    return LAB.observe({"oss3-nic": both(60e6)})


def unsure(one: Observation, share: float) -> Observation:
    return one._replace(
        vote=Vote.NONE, measured=share * one.of.expected, error=0.05, reason="unsure"
    )


@pytest.mark.parametrize(
    ("name", "share", "noted"),
    [
        pytest.param("scratch-OST0004", 0.52, True, id="as slow as the link makes it"),
        pytest.param("scratch-OST0004", 0.1, False, id="slower than that, by another fault"),
        pytest.param("scratch-OST0000", 0.52, False, id="not behind the link"),
    ],
)
def test_what_is_behind_a_suspect_carries_a_note(name: str, share: float, noted: bool) -> None:
    assert explained(name, share) is noted
