"""YAML becomes values: the one place that knows what a document of a person may hold.

Nothing of it is believed: what would take the machine (texts without end, names for names for
names, depths that overflow the stack of libyaml) is refused before it is built, and a word that
looks like a date or a number and is none is an error of the document, with its line.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Callable

import yaml

MOST_BYTES = 64 << 20
"""Of one document; a site of 10,000 targets has baselines of some 10 MB."""

_MOST_VALUES = 5_000_000
"""Of one document."""

_MOST_BY_ALIAS = 100_000
"""Values that aliases stand for, each as often as it is used."""

_DEEPEST = 100
_LONGEST_NUMBER = 64
"""Characters of a number or date."""

_WORDS = {"int": "whole number", "float": "number", "timestamp": "date", "bool": "yes or no"}
"""What YAML makes of a text by its looks, or by a tag."""


def read_yaml(text: str) -> Any:
    """Return what a document says.

    Raises:
        yaml.YAMLError: it is no YAML, or no document of a person; marked with the line where known.
    """
    # that of libyaml, where PyYAML was built with it, is ten times as fast
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    _refuse_bombs(text, base)
    return yaml.load(text, Loader=_strict(base))  # noqa: S506 - a safe one


class _Sizes:
    """Counts the values of a document from its events, each alias as often as it is used."""

    def __init__(self) -> None:
        self._open: list[tuple[str, int]] = []
        self._named: dict[str, int] = {}
        self._count = 0
        self._by_alias = 0

    def take(self, event: yaml.Event) -> None:
        """Count one event; raise YAMLError for the one that is too many or too deep."""
        if isinstance(event, yaml.CollectionStartEvent):
            self._open.append((event.anchor or "", self._count))
            self._count += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            name, before = self._open.pop()
            self._named[name] = self._count - before
        elif isinstance(event, yaml.ScalarEvent):
            self._named[event.anchor or ""] = 1
            self._count += 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in {name for name, _ in self._open}:
                raise _refusal(event, f"the alias *{event.anchor} stands for what it is part of")
            more = self._named.get(event.anchor or "", 1)
            self._count += more
            self._by_alias += more
        if self._count > _MOST_VALUES:
            raise _refusal(event, f"the document has more than {_MOST_VALUES} values")
        if self._by_alias > _MOST_BY_ALIAS:
            raise _refusal(event, f"aliases stand for more than {_MOST_BY_ALIAS} values")
        if len(self._open) > _DEEPEST:
            raise _refusal(event, f"it is more than {_DEEPEST} levels deep")


def _refuse_bombs(text: str, base: Any) -> None:
    sizes = _Sizes()
    for event in yaml.parse(text, Loader=base):
        sizes.take(event)


def _refusal(location: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, location.start_mark)


@cache
def _strict(base: Any) -> Any:
    """Return a safe loader that refuses a key given twice, and words that only look like values."""

    class Loader(base):  # type: ignore[misc]
        """Safe, and strict."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
            if not isinstance(node, yaml.MappingNode):
                raise _refusal(node, "it is tagged as a mapping and is none")
            seen = set()
            for key_node in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
                if key_node.value in seen:
                    raise _refusal(key_node, f"the key {key_node.value[:64]!r} is given twice")
                seen.add(key_node.value)
            return super().construct_mapping(node, deep=deep)

    for kind, words in _WORDS.items():
        tag = f"tag:yaml.org,2002:{kind}"
        Loader.add_constructor(tag, _guarded(words, Loader.yaml_constructors[tag]))
    return Loader


def _guarded(words: str, construct: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a constructor of PyYAML's that fails as it should.

    PyYAML turns texts into numbers and dates with whatever error Python raises on the way.
    """

    def constructed(loader: Any, node: yaml.Node) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            raise _refusal(node, f"a list or mapping is no {words}")
        if len(node.value) > _LONGEST_NUMBER:
            raise _refusal(node, f"{len(node.value)} characters are no {words}")
        try:
            return construct(loader, node)
        except (ValueError, LookupError, AttributeError, OverflowError) as error:
            raise _refusal(node, f"{node.value!r} is no {words}; quote it if it is text") from error

    return constructed
