"""Advice: the next step for each kind of part, for failures and for lost segments."""

from __future__ import annotations

from typing import get_args

import pytest

from plumbline.model.service import SitePart
from plumbline.parts.locate.sentences import advice
from plumbline.parts.locate.suspects import AmbiguitySet, Loss, Suspect
from plumbline.topology.document import Kind


def suspected(*names: str, lane: str = "read") -> AmbiguitySet:
    suspects = tuple(Suspect(name, (Loss(lane, 1.0, 2.0),), (0,), ()) for name in names)
    return AmbiguitySet(tuple((name,) for name in names), suspects, (0,))


def of(kind: str) -> dict[str, SitePart]:
    return {"a": SitePart(kind, None, None), "b": SitePart(kind, None, None)}


@pytest.mark.parametrize("kind", [*get_args(Kind), "target"])
def test_every_kind_has_a_next_step(kind: str) -> None:
    text = advice(suspected("a"), of(kind))
    assert text.startswith(" Next: ")
    assert text.endswith(".")


def test_cables_and_failures_have_their_own_advice() -> None:
    assert "SMART" in advice(suspected("a"), of("disk"))
    assert "save its data" in advice(suspected("a"), of("disk"), fails=True)
    assert "cable" in advice(suspected("a", lane="segments read"), of("nic"))


def test_several_suspects_have_general_advice() -> None:
    assert advice(suspected("a", "b"), of("disk")) == " Next: look at each of them, in this order."
    assert advice(suspected("a"), {}) == ""
