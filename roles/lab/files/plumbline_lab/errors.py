"""The one kind of error that a person sees: a sentence that names the object and the remedy."""

from __future__ import annotations


class LabError(Exception):
    """Something about the lab is not as it must be; the text is the whole message."""
