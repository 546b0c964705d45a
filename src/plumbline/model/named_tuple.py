"""Typed named tuples without :mod:`typing`, whose import takes a third of a check's time budget.

Type checkers see :class:`typing.NamedTuple`, and classes behave as if made with it.  Modules that a
check loads import it from here, and names from :mod:`typing` only under :data:`TYPE_CHECKING`; all
other modules import from typing.
"""

from __future__ import annotations

from collections import namedtuple

__all__ = ["TYPE_CHECKING", "NamedTuple"]

# Type checkers treat this name as true; importing it from typing would defeat its purpose.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    _RESERVED = {"__module__", "__qualname__", "__annotations__", "__annotate_func__"}

    class _Maker(type):
        """Turn a class body into a named tuple, as :class:`typing.NamedTuple` does."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body["__annotations__"]
            defaults = [body[field] for field in fields if field in body]
            kind = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            kind.__annotations__ = fields
            kind.__qualname__ = body["__qualname__"]
            for key, value in body.items():
                if key not in _RESERVED and key not in fields:
                    setattr(kind, key, value)
            return kind

    class NamedTuple(metaclass=_Maker):
        """Base of a class whose annotated names are the fields of a tuple."""
