"""Read the plan of a site, for a console that judges the measurements of all nodes.

The document is the output of ``plumbline plan --json``, so the console needs no inventory here.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager, suppress
from marshal import dumps
from typing import Any, Iterable, Iterator, Mapping, NamedTuple

from plumbline.model.codec import form, lenient, read
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.limits import Reference
from plumbline.model.service import PathService, Service, SitePart
from plumbline.model.validation import Each
from plumbline.store.files import load_document

_MAX_BYTES = 1 << 30
"""Limit of a plan, for a site with some hundred thousand measurements."""


@contextmanager
def without_collector() -> Iterator[None]:
    """Disable the garbage collector, as there are no cycles here.

    It would visit a million values repeatedly, which takes as long as judging them.  Nor does it
    visit them once it is enabled again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.freeze()
            gc.enable()


@lenient
@form(1, "plan", "write it with: plumbline plan -i INVENTORY --json")
class SitePlan(NamedTuple):
    """Expectations of each node, the services that show verdicts, and the parts.

    ``paths`` are the services that show suspects; they and ``parts`` are optional.  ``path`` is the
    file that it was read from.
    """

    nodes: Mapping[str, Expectations]
    services: tuple[Service, ...]
    parts: Mapping[str, SitePart] = {}
    paths: tuple[PathService, ...] = ()
    job_users: bool = False
    """Whether the policy allows showing the users of jobs."""
    path: str = ""

    @property
    def site(self) -> str:
        """Return the name of the site."""
        return next((node.site for node in self.nodes.values()), "site without nodes")

    def kinds(self, nodes: Iterable[str]) -> dict[str, str]:
        """Return the kind of each node, server or client, empty if unknown."""
        return {name: self.parts[name].kind if name in self.parts else "" for name in nodes}

    def measured(self) -> dict[str, tuple[Expectation, ...]]:
        """Return the measurements of each node by layer; raise DocumentError for a damaged one."""
        return {name: node.every() for name, node in self.nodes.items()}


@without_collector()
def load_plan(path: str) -> SitePlan:
    """Return the plan in a file.

    Raises:
        DocumentError: naming file and remedy.
    """
    return load_document(SitePlan, path, _MAX_BYTES, _shared_parts())._replace(path=path)


_SHARED = frozenset(("spec", "limits", "confirm"))
"""Parts of entries that are equal for most components of a site, and half of the plan."""


def _shared_parts() -> Each:
    """Return what makes equal texts and parts of entries one in memory, while they are parsed.

    References are built, which takes a third of their document's memory.
    """
    parts: dict[bytes, Any] = {}
    texts: dict[str, str] = {}
    same = texts.setdefault

    def with_parts(entry: dict[str, Any]) -> dict[str, Any]:
        for key, value in entry.items():
            if type(value) is str:
                entry[key] = same(value, value)
            elif type(value) is list:
                entry[key] = [same(part, part) if type(part) is str else part for part in value]
        if "references" in entry:
            for key in _SHARED & entry.keys():
                # format 2 distinguishes 1, 1.0 and True
                entry[key] = parts.setdefault(dumps(entry[key], 2), entry[key])
            # a damaged one is the error of who reads the expectation
            with suppress(KeyError, TypeError, ValueError, AttributeError, DocumentError):
                references = entry["references"].items()
                entry["references"] = {key: read(Reference, raw) for key, raw in references}
        return entry

    return with_parts
