"""Base of all documents that people write; errors are single sentences with a remedy."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any, Callable, Mapping, TypeVar, Union

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    model_validator,
)

from plumbline.model.errors import DocumentError
from plumbline.model.units import DAY_S, parse_bytes, parse_duration, parse_line_rate, parse_rate
from plumbline.model.validation import real


class Strict(BaseModel):
    """Mapping in a document: no value is guessed or converted, no key ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, raw: Any) -> Any:
        keys = [field.alias or name for name, field in cls.model_fields.items()]
        unknown = [key for key in raw if key not in keys] if _is_mapping(raw) else []
        empty = [key for key in raw if raw[key] is None] if _is_mapping(raw) else []
        if unknown:
            if isinstance(unknown[0], bool):
                raise ValueError(
                    "YAML reads the words on, off, yes and no as true and false; quote them"
                )
            near = get_close_matches(f"{unknown[0]!s:.64}", keys, n=1)
            hint = f"did you mean {near[0]!r}" if near else f"known keys are {', '.join(keys)}"
            raise ValueError(f"the key {unknown[0]!r:.80} is unknown; {hint}")
        if empty:
            raise ValueError(f"the key {empty[0]!r} is left empty; write a value, or remove it")
        return raw


Model = TypeVar("Model", bound=Strict)


def parse(model: type[Model], raw: object, document: str) -> Model:
    """Return ``raw`` as ``model``.

    Raises:
        DocumentError: it does not fit; the message names document, part and key.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        raise DocumentError(_sentence(document, raw, detail)) from None


_FORMS = {
    "model_type": "a mapping of keys",
    "dict_type": "a mapping of keys",
    "list_type": "a list",
}


def _sentence(document: str, raw: object, trouble: Mapping[str, Any]) -> str:
    kind, place = trouble["type"], _place(raw, trouble["loc"])
    message = str(trouble["msg"]).replace("Value error, ", "", 1)
    if kind == "missing":
        return f"{document}: {place} is missing"
    if kind == "union_tag_not_found":
        return f"{document}: {place}: the key {trouble['ctx']['discriminator']} is missing"
    if kind == "union_tag_invalid":
        tag, expected = trouble["ctx"]["tag"], trouble["ctx"]["expected_tags"]
        return f"{document}: {place}: the kind {tag!r} is unknown; write one of {expected}"
    if kind == "value_error":
        return f"{document}: {place}: {message}" if place else f"{document}: {message}"
    message = f"must be {_FORMS[kind]}" if kind in _FORMS else message[:1].lower() + message[1:]
    value_text = "" if _is_mapping(trouble["input"]) else f", not {trouble['input']!r:.80}"
    return f"{document}: {place or 'the document'}: {message}{value_text}"


def _place(raw: Any, location: tuple[Union[int, str], ...]) -> str:
    """Return the keys that lead to ``location`` in ``raw``, with list entries by their names."""
    words: list[str] = []
    for step in location:
        if isinstance(step, int) and isinstance(raw, list) and step < len(raw):
            raw = raw[step]
            words.append(f"{raw['name']!r}" if _is_named(raw) else f"number {step + 1}")
        elif _is_mapping(raw) and step in raw:
            raw = raw[step]
            words.append(f"{step}")
        elif step == location[-1]:
            words.append(f"key {step!r}")
    return " ".join(words)


def _is_mapping(raw: object) -> bool:
    return isinstance(raw, Mapping)


def _is_named(raw: object) -> bool:
    return isinstance(raw, Mapping) and isinstance(raw.get("name"), str)


def with_unit(read: Callable[[str], Any], example: str) -> BeforeValidator:
    """Return a validator that parses text with ``read``, and turns its errors into pydantic's."""

    def validate(value: object) -> Any:
        if not isinstance(value, str):
            raise ValueError(f"{value!r:.80} is no text with a unit; write for example {example}")
        try:
            return read(value)
        except DocumentError as error:
            raise ValueError(str(error)) from error

    return BeforeValidator(validate)


_SLOWEST_Bps = 1e5
"""Below any part of a storage system, even Ethernet of 10 Mbit/s and a disk of 1990."""

_KEPT = "the 400 d for which records are kept"
_OCCUPIED = "1 h, for which no probe may keep a target from its users"


def _fast(read: Callable[[str], float]) -> Callable[[str], float]:
    """Refuse a rate that no part has: its unit lacks a prefix."""

    def checked(text: str) -> float:
        rate = read(text)
        if rate < _SLOWEST_Bps:
            raise DocumentError(
                f"{text!r} is slower than any part of a storage system; write at least 100 kB/s, "
                "and see whether the unit lacks its prefix, as in MB/s"
            )
        return rate

    return checked


def _duration(most_s: float, reason: str) -> Callable[[str], float]:
    read = _positive(parse_duration)

    def checked(text: str) -> float:
        seconds: float = read(text)
        if seconds > most_s:
            raise DocumentError(f"{text!r} is longer than {reason}; write less")
        return seconds

    return checked


def _positive(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def checked(text: str) -> Any:
        value = 0 if text.strip().startswith("-") else read(text)
        if not value > 0:
            raise DocumentError(f"{text!r} is not above zero")
        return value

    return checked


def _percent(most: float, least: float = 0.0) -> Callable[[str], float]:
    def read(text: str) -> float:
        number, sign, remainder = text.partition("%")
        if not sign or remainder.strip():
            raise DocumentError(f"{text[:80]!r} is no percentage; write for example 10 %")
        try:
            share = real(number, "the percentage", DocumentError) / 100
        except DocumentError:
            raise DocumentError(f"{text[:80]!r} is no percentage; write for example 10 %") from None
        if not least <= share <= most:
            raise DocumentError(f"{text!r} is not between {100 * least:g} % and {100 * most:g} %")
        return share

    return read


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Rate = Annotated[float, with_unit(_fast(_positive(parse_rate)), "200 MB/s")]
"""Bytes per second, written ``200 MB/s`` or ``10 Gbit/s``."""

LineRate = Annotated[float, with_unit(_fast(_positive(parse_line_rate)), "10 Gbit/s")]
"""Bytes per second, written in bits as links are sold: ``10 Gbit/s``."""

Size = Annotated[int, with_unit(_positive(parse_bytes), "1 GiB")]
"""Bytes, written ``1 GiB``."""

Duration = Annotated[float, with_unit(_duration(400 * DAY_S, _KEPT), "30 s")]
"""Seconds, written ``30 s``, ``10 min``, ``36 h``."""

OperationTime = Annotated[float, with_unit(_duration(3600.0, _OCCUPIED), "30 s")]
"""Seconds of one operation of a probe."""

Percent = Annotated[float, with_unit(_percent(1.0), "10 %")]
"""A fraction of 1, written ``10 %``."""

Loss = Annotated[float, with_unit(_percent(0.99, 0.01), "10 %")]
"""A loss, written ``10 %``: no total one, which has no logarithm, and none that is only noise."""

Fill = Annotated[float, with_unit(_percent(0.98, 0.01), "90 %")]
"""A fill of a file system, written ``90 %``; a probe must leave room for those who write there."""

Spread = Annotated[float, with_unit(_percent(100.0), "10 %")]
"""A spread of logarithms, written ``10 %``; above 100 % if rates differ by a factor of four."""

Names = Annotated[list[str], BeforeValidator(_as_list)]
"""One name or range, or a list of them."""
