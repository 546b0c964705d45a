"""Read the plan of a site back, for a console that judges what all its nodes have measured.

It is the document that ``plumbline plan --json`` prints, so the console needs no inventory here.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping, NamedTuple

from plumbline.model import codec
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.service import PathService, Service, SitePart
from plumbline.model.validation import same_schema, texts
from plumbline.store.files import parse, read

SCHEMA = 1

_MOST_BYTES = 1 << 30
"""Largest plan: that of a site with some hundred thousand measurements."""

_REMEDY = "write it with: plumbline plan -i INVENTORY --json"


class SitePlan(NamedTuple):
    """Expectations of each node, the services that show the verdicts, and the parts.

    ``paths`` are the services that say the suspects; they and ``parts`` may be left out.
    """

    path: str
    nodes: Mapping[str, Expectations]
    services: tuple[Service, ...]
    parts: Mapping[str, SitePart] = {}
    paths: tuple[PathService, ...] = ()
    job_users: bool = False
    """Whether the policy lets it be shown whose job it is."""

    @property
    def site(self) -> str:
        """Return the name of the site."""
        return next((node.site for node in self.nodes.values()), "site without nodes")

    def kinds(self, nodes: Iterable[str]) -> dict[str, str]:
        """Return of each node whether it is a server or a client, empty where it is not known."""
        return {name: self.parts[name].kind if name in self.parts else "" for name in nodes}

    def measured(self) -> dict[str, tuple[Expectation, ...]]:
        """Return what each node measures, layer by layer; raise DocumentError for a damaged one."""
        return {name: node.every() for name, node in self.nodes.items()}


def load_plan(path: str) -> SitePlan:
    """Return the plan in a file.

    Raises:
        DocumentError: naming file and remedy.
    """
    text = read(path, "plan", _REMEDY, _MOST_BYTES)
    raw = parse(text, path, _REMEDY)
    try:
        same_schema(raw, SCHEMA, f"plan {path}", _REMEDY)
        services = codec.read_all(Service, raw["services"])
        parts = {name: codec.read(SitePart, part) for name, part in raw.get("parts", {}).items()}
        paths = codec.read_all(PathService, raw.get("paths", ()))
        users = raw.get("job_users", False) is True
        return SitePlan(path, _nodes(raw["nodes"]), services, parts, paths, users)
    except (KeyError, TypeError, AttributeError) as error:
        raise DocumentError(f"plan {path} is damaged ({error!r}); {_REMEDY}") from error


def _nodes(raw: Mapping[str, Any]) -> dict[str, Expectations]:
    nodes = {name: Expectations.from_json(document) for name, document in raw.items()}
    for node in nodes.values():
        texts("layer", (entry["layer"] for entry in node.entries))
    return nodes
