"""A server on loopback that answers POST requests."""

from __future__ import annotations

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Callable, Iterator


@contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler, str], None]) -> Iterator[str]:
    """Answer requests with their text until the block ends; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer(self, self.rfile.read(int(self.headers["Content-Length"])).decode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
