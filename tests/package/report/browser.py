"""Chromium without a window, spoken to through its own protocol over a pair of pipes.

Debian's package is all that is needed: no driver, no download, no port.  Messages are JSON that
end with a zero byte (--remote-debugging-pipe); chromedevtools.github.io/devtools-protocol lists
them.
"""

from __future__ import annotations

import base64
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
"""The protocol's code for what it could not do; of an expression: its page went away meanwhile."""


class PageLeftError(RuntimeError):
    """The page was left for another one before it could answer."""


class Browser:
    """One browser with one page; use it in a ``with``."""

    def __init__(self, program: str, profile: Path) -> None:
        """Start it; its files lie in ``profile``."""
        to_browser, self._writer = os.pipe()
        self._reader, from_browser = os.pipe()
        argv = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        argv += ["--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        argv += ["--disable-background-networking", "--disable-component-update", "--mute-audio"]
        # the shell puts the pipes where Chromium looks for them, whatever their numbers are here
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
        """What the page has written to the console as warning or error, and what it has thrown."""
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
        """Load a page and wait until it has drawn everything."""
        self.complaints.clear()
        self.address = address
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.wait("document.documentElement?.dataset.drawn === 'all'")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true; raise TimeoutError when it never is.

        A page that is being left for the next one has no answer yet.
        """
        end = time.monotonic() + _LIMIT_S
        while True:
            with suppress(PageLeftError):
                if self.ask(condition):
                    return
            if time.monotonic() > end:
                raise TimeoutError(f"never true in the page: {condition}; {self.complaints}")
            time.sleep(0.02)

    def ask(self, expression: str) -> Any:
        """Return the value of an expression in the page, as JSON can hold it."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def point_at(self, x: float, y: float) -> None:
        """Move the mouse."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def look(self, path: Path, clip: Optional[dict[str, float]] = None) -> None:
        """Keep a picture of the page, or of a rectangle in it."""
        extra: dict[str, Any] = {"captureBeyondViewport": True, "optimizeForSpeed": True}
        if clip:
            extra["clip"] = {**clip, "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", **extra)["data"]
        path.write_bytes(base64.b64decode(data))

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give a command and return its result."""
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
                    left = method == "Runtime.evaluate" and error["code"] == _SERVER_ERROR
                    raise (PageLeftError if left else RuntimeError)(f"{method}: {error}")
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
        """Give the page a size in pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def _note(self, message: dict[str, Any]) -> None:
        said = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(said["exceptionDetails"]))
        elif said.get("entry", {}).get("level") in ("warning", "error"):
            self.complaints.append(said["entry"]["text"])
        elif said.get("type") in ("warning", "error", "assert") and "args" in said:
            self.complaints.append(json.dumps(said["args"]))

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + _LIMIT_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._reader], [], [], max(0.0, end - time.monotonic()))
            chunk = os.read(self._reader, _CHUNK) if ready else b""
            if not chunk:
                raise TimeoutError("the browser has ended or says nothing")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message
