"""JSON becomes values: the one place that reads it, whoever wrote it."""

from __future__ import annotations

import json

from plumbline.model.named_tuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, NoReturn, Union


def refuse_constant(name: str) -> NoReturn:
    """Raise ValueError: JSON knows neither NaN nor Infinity, and no rate is either."""
    raise ValueError(f"{name} is no number")


def read_json(text: Union[str, bytes]) -> Any:
    """Return what a JSON document says.

    Raises:
        ValueError: it is none, or so deep that nobody has written it.
    """
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except RecursionError as error:
        raise ValueError("its values lie too deep in one another") from error
