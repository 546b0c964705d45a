"""Symptoms order equally good explanations; they neither add nor remove suspects."""

from __future__ import annotations

from typing import Sequence

import pytest

from plumbline.model.symptom import Direction, Symptom
from plumbline.model.verdict import State
from plumbline.parts.locate.sentences import ordered, quoted
from plumbline.parts.locate.suspects import AmbiguitySet, Located, Suspect


def symptom(component: str, direction: Direction, sentence: str = "medium errors") -> Symptom:
    return Symptom("kernel", component, "io_errors", State.WARNING, direction, sentence)


def suspects(*alternatives: tuple[str, ...]) -> AmbiguitySet:
    names = dict.fromkeys(name for alternative in alternatives for name in alternative)
    return AmbiguitySet(alternatives, tuple(Suspect(name, (), (0,), ()) for name in names), (0,))


RAISED, LOWERED = Direction.RAISES, Direction.LOWERS


@pytest.mark.parametrize(
    ("symptoms", "order"),
    [
        ((), ["a", "b", "c"]),
        ((symptom("c", RAISED),), ["c", "a", "b"]),
        ((symptom("a", LOWERED),), ["b", "c", "a"]),
        ((symptom("a", LOWERED), symptom("b", RAISED)), ["b", "c", "a"]),
        ((symptom("a", LOWERED), symptom("a", RAISED)), ["a", "b", "c"]),
        ((symptom("elsewhere", RAISED),), ["a", "b", "c"]),
    ],
)
def test_incriminated_suspects_come_first(symptoms: Sequence[Symptom], order: list[str]) -> None:
    located = Located((), (suspects(("a",), ("b",), ("c",)),), ())
    [ambiguity] = ordered(located, symptoms).sets
    assert [names for (names,) in ambiguity.alternatives] == order
    assert [suspect.name for suspect in ambiguity.suspects] == order


def test_a_longer_alternative_is_not_favoured_by_its_length() -> None:
    located = Located((), (suspects(("a", "b"), ("a", "c")),), ())
    symptoms = [symptom("c", RAISED)]
    assert ordered(located, symptoms).sets[0].alternatives == (("a", "c"), ("a", "b"))


def test_each_symptom_is_quoted_with_the_part_that_has_it() -> None:
    symptoms = [symptom("b", RAISED), symptom("elsewhere", RAISED, "nothing to do with it")]
    assert quoted(suspects(("a",), ("b",)), {}, symptoms) == " Symptoms of b: medium errors."
    assert quoted(suspects(("a",)), {}, symptoms) == ""
