"""Serve the packages to the hosts, only on the bridge."""

from __future__ import annotations

import http.server
from functools import partial
from pathlib import Path


class Handler(http.server.SimpleHTTPRequestHandler):
    """Handler with connections that stay open: apt requests many files in a row."""

    protocol_version = "HTTP/1.1"


def serve(address: str, folder: Path) -> None:
    """Serve a folder until ended."""
    handler = partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer((address, 80), handler) as server:
        server.serve_forever()
