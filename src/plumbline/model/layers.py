"""The layers that are measured one by one, in the order in which people ask for them."""

from __future__ import annotations

LAYERS = ("ost", "raw", "net", "fs")
