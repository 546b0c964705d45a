"""A threshold as the policy has it: a Nagios range in quotes."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainValidator

from plumbline.errors import DocumentError
from plumbline.model.threshold import Range

_REFERENCE = 100.0
"""What a healthy component gives, in percent of its reference."""


def _range(value: object) -> Range:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is no range; write for example '80:'")
    try:
        found = Range.parse(value)
    except DocumentError as error:
        raise ValueError(str(error)) from error
    if found.alerts(_REFERENCE):
        raise ValueError(
            f"{value!r} alarms at 100 % of the reference too; write '80:' for what is below 80 %"
        )
    if 0 < found.start <= 1:
        raise ValueError(f"{value!r} is in percent; write '80:' for what is below 80 %")
    return found


Threshold = Annotated[Range, PlainValidator(_range)]
