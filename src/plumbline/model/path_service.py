"""One Nagios service of check_path: a file system, or a component that several paths share."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from plumbline.model.validation import numbers, texts


class PathService(NamedTuple):
    """One service that says the suspects.

    ``host`` has the component, or is the site's own where no host has it alone; ``name`` is kind
    and name, what the check is asked for; one of ``component`` and ``file_system`` is empty.
    ``members`` are the services, by their places in the plan, whose bytes cross the component, or
    go to the file system.
    """

    host: str
    name: str
    description: str
    component: str
    file_system: str
    members: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {**self._asdict(), "members": list(self.members)}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> PathService:
        """Build from the document form; raise KeyError, TypeError or AttributeError."""
        service = cls(**{**raw, "members": tuple(raw["members"])})
        texts("path service", service[:5])
        for place in service.members:
            numbers(member=place)
        return service
