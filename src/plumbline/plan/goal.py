"""The rate that was promised for a group, as a person types it: one for both directions, or two."""

from __future__ import annotations

from typing import Optional

from pydantic import model_validator

from plumbline.topology.strict import Rate, Strict


class Goal(Strict):
    """What was promised in each direction, bytes per second; one left out has no goal."""

    write: Optional[Rate] = None
    read: Optional[Rate] = None

    @model_validator(mode="before")
    @classmethod
    def _of_both(cls, said: object) -> object:
        return {"write": said, "read": said} if isinstance(said, str) else said
