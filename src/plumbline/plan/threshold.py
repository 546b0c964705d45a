"""A threshold as the policy has it: a Nagios range in quotes."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainValidator

from plumbline.errors import DocumentError
from plumbline.model.threshold import Range


def _range(value: object) -> Range:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is no range; write for example '80:'")
    try:
        return Range.parse(value)
    except DocumentError as error:
        raise ValueError(str(error)) from error


Threshold = Annotated[Range, PlainValidator(_range)]
