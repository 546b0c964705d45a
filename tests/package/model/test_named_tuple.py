"""Own named tuples behave like those of typing."""

from __future__ import annotations

import typing
from typing import Any

import pytest

from plumbline.model.named_tuple import NamedTuple


class Ours(NamedTuple):
    """A tuple."""

    name: str
    size: int = 3

    def double(self) -> int:
        """Return twice the size."""
        return 2 * self.size


class Theirs(typing.NamedTuple):
    """A tuple."""

    name: str
    size: int = 3

    def double(self) -> int:
        """Return twice the size."""
        return 2 * self.size


@pytest.mark.parametrize(
    "fact",
    [
        lambda made: made._fields,
        lambda made: made._field_defaults,
        lambda made: made.__doc__,
        lambda made: made.__module__,
        lambda made: made.__mro__[1:],
        lambda made: tuple(made.__annotations__),
        lambda made: made("a").double(),
        lambda made: made("a", 5)._replace(name="b")._asdict(),
        typing.get_type_hints,
    ],
)
def test_named_tuples_are_like_those_of_typing(fact: Any) -> None:
    assert fact(Ours) == fact(Theirs)


def test_a_field_cannot_be_set_and_must_be_given() -> None:
    with pytest.raises(AttributeError):
        Ours("a").name = "b"  # type: ignore[misc]
    with pytest.raises(TypeError, match="name"):
        Ours()  # type: ignore[call-arg]
