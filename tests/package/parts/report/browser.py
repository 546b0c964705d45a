"""Headless Chromium, driven by the DevTools protocol over a pair of pipes.

Debian's package is enough: no driver, no download, no port.  Messages are JSON with a final zero
byte (--remote-debugging-pipe); see chromedevtools.github.io/devtools-protocol.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

_IN, _OUT = 3, 4
_LIMIT_S = 60.0
_CHUNK = 1 << 16
_SERVER_ERROR = -32000
"""Error code of the protocol; for an expression, its page was left in the meantime."""


class PageLeftError(RuntimeError):
    """The page was left before it could answer."""


class Browser:
    """A browser with one page; use it in a ``with``."""

    def __init__(self, program: str, profile: Path) -> None:
        """Start the browser with its files in ``profile``."""
        to_browser, self._writer = os.pipe()
        self._reader, from_browser = os.pipe()
        argv = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        argv += ["--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        argv += ["--disable-background-networking", "--disable-component-update", "--mute-audio"]
        # the shell connects the pipes to the descriptors that Chromium uses
        shell = f'exec "$@" {_IN}<&{to_browser} {_OUT}>&{from_browser}'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", shell, "bash", *argv],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.address = ""
        self._buffer = b""
        self._number = 0
        self._session: Optional[str] = None
        self.complaints: list[str] = []
        """Warnings and errors on the console of the page, and uncaught exceptions."""
        self._attach()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._writer)
        os.close(self._reader)

    def open(self, address: str) -> None:
        """Load a page and wait until it is drawn."""
        self.complaints.clear()
        self.address = address
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.wait("document.documentElement?.dataset.drawn === 'all'")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true; raise TimeoutError after a minute.

        A page that is being left gives no answer.
        """
        deadline = time.monotonic() + _LIMIT_S
        while True:
            with suppress(PageLeftError):
                if self.ask(condition):
                    return
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true in the page: {condition}; {self.complaints}")
            time.sleep(0.02)

    def ask(self, expression: str) -> Any:
        """Return the value of an expression in the page, as far as JSON can encode it."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def point_at(self, x: float, y: float) -> None:
        """Move the mouse."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key: str) -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            self._note(answer)
            if answer.get("id") == self._number:
                error = answer.get("error")
                if error:
                    page_left = method == "Runtime.evaluate" and error["code"] == _SERVER_ERROR
                    raise (PageLeftError if page_left else RuntimeError)(f"{method}: {error}")
                result: dict[str, Any] = answer["result"]
                return result

    def _attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.resize(1280, 900)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the page in pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"]))
        elif parameters.get("entry", {}).get("level") in ("warning", "error"):
            self.complaints.append(parameters["entry"]["text"])
        elif parameters.get("type") in ("warning", "error", "assert") and "args" in parameters:
            self.complaints.append(json.dumps(parameters["args"]))

    def _read(self) -> dict[str, Any]:
        deadline = time.monotonic() + _LIMIT_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select(
                [self._reader], [], [], max(0.0, deadline - time.monotonic())
            )
            chunk = os.read(self._reader, _CHUNK) if ready else b""
            if not chunk:
                raise TimeoutError("the browser has ended or says nothing")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message
