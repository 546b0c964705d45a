"""Typed named tuples without :mod:`typing`, which takes a third of the time that a check may take.

To a type checker :class:`NamedTuple` is that of :mod:`typing`, and so it is for whoever uses the
classes made with it.  Modules that a check loads import it from here, and what they need from
:mod:`typing` for annotations under :data:`TYPE_CHECKING` alone; all others import from typing.
"""

from __future__ import annotations

from collections import namedtuple

__all__ = ["TYPE_CHECKING", "NamedTuple"]

# Type checkers take the name for true; to import it from typing would defeat its purpose.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    _TAKEN = {"__module__", "__qualname__", "__annotations__", "__annotate_func__"}

    class _Maker(type):
        """Turn the body of a class into a named tuple, as :class:`typing.NamedTuple` does."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body["__annotations__"]
            defaults = [body[field] for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            made.__annotations__ = fields
            made.__qualname__ = body["__qualname__"]
            for key, value in body.items():
                if key not in _TAKEN and key not in fields:
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """Base of a class whose annotated names are the fields of a tuple."""
