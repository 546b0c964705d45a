"""Queries to Prometheus, or a compatible server such as Thanos or VictoriaMetrics."""

from __future__ import annotations

import ssl
import time
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional
from urllib.error import URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPErrorProcessor, HTTPSHandler, OpenerDirector, Request, build_opener

from plumbline.model.command import lines
from plumbline.model.errors import DocumentError, ToolError, UsageError, reason_in
from plumbline.model.units import LARGEST
from plumbline.model.validation import read_json
from plumbline.observe.given import read_given

_TIMEOUT_S = 30.0
_MAX_BYTES = 1 << 28
"""Largest answer; a day of ten thousand devices in windows of 15 minutes takes 30 MB."""
_MAX_COMPLAINT = 200
_MAX_WARNINGS = 20
_CHUNK = 1 << 20
_MAX_TOKEN = 1 << 16
_MAX_AUTHORITY = 8 << 20
"""Twenty times the authorities of a distribution."""
_FORBIDDEN = set(" ?#")
"""Characters not allowed in the address, because the path of a query is appended."""


class Curve(NamedTuple):
    """One series of an answer: its labels, and points of epoch seconds and finite value."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


class Span(NamedTuple):
    """Range of a query, in epoch seconds, with a point every ``step_s`` seconds."""

    start: float
    end: float
    step_s: float


class Prometheus:
    """Client of a Prometheus; follows no redirection, which would leak the token."""

    def __init__(
        self,
        url: str,
        token_file: Optional[Path] = None,
        authority: Optional[Path] = None,
        patience_s: float = 2 * _TIMEOUT_S,
    ) -> None:
        """Take the address, a file with a bearer token, and the certificate of an authority.

        An answer may take ``patience_s`` seconds to arrive.

        Raises:
            UsageError: the address is no server address, or contains a password.
            DocumentError: a file cannot be used.
        """
        _check(url)
        self.url = url.rstrip("/")
        self._token = _token(token_file) if token_file else ""
        self._opener = _opener(authority)
        self._patience_s = patience_s
        self._warnings: dict[str, None] = {}

    @property
    def warnings(self) -> list[str]:
        """Distinct warnings so far, such as an unreachable source of Prometheus."""
        return [f"{self.url} warns: {words}" for words in self._warnings]

    def over(self, expression: str, span: Span) -> list[Curve]:
        """Return the curves of a PromQL expression over a span.

        Raises:
            ToolError: there is no answer, or it is an error or not from a Prometheus.
        """
        query = {
            "query": expression,
            "start": f"{span.start:.3f}",
            "end": f"{span.end:.3f}",
            "step": f"{span.step_s:g}",
            "timeout": f"{_TIMEOUT_S:g}s",
        }
        curves, warnings = parse_answer(self._answer("/api/v1/query_range", query), self.url)
        for words in warnings[: _MAX_WARNINGS - len(self._warnings)]:
            self._warnings[words] = None
        return [Curve(labels, tuple(_within(span, points))) for labels, points in curves]

    def _answer(self, path: str, query: Mapping[str, str]) -> bytes:
        request = Request(self.url + path, urlencode(query).encode(), method="POST")  # noqa: S310
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                body = _read(answer, time.monotonic() + self._patience_s)
                if answer.status != HTTPStatus.OK:
                    words = parse_complaint(body) or _one_line(answer.reason)
                    raise ToolError(f"{self.url} refused: {answer.status} {words}")
        except (OSError, HTTPException) as error:
            reason = reason_in(error.reason if isinstance(error, URLError) else error)
            raise ToolError(
                f"{self.url} does not answer: {reason}; see that Prometheus runs there"
            ) from error
        if len(body) > _MAX_BYTES:
            raise ToolError(f"{self.url} answers with more than 256 MiB; ask about less time")
        return body


def _check(url: str) -> None:
    """Raise UsageError if an address is no server address, or contains a password."""
    if "@" in url:
        raise UsageError(
            "the address of Prometheus has a user or password in it, which others would see; "
            "keep a token in a file and give --token-file"
        )
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").encode("idna"), parts.port
    except ValueError:
        host = b""
    plain = url.isascii() and url.isprintable() and not _FORBIDDEN.intersection(url)
    if not (host and plain and parts.scheme in ("http", "https")):
        raise UsageError(f"{url!r} is no address; write it like http://prometheus.site:9090")


def _within(span: Span, points: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Yield the points within a span; other dates in an answer are wrong."""
    margin_s = span.step_s / 2
    for at, value in points:
        if span.start - margin_s < at < span.end + margin_s:
            yield at, value


def _read(answer: HTTPResponse, deadline: float) -> bytes:
    """Return an answer up to one byte above the limit; it may arrive byte by byte."""
    body = bytearray()
    while len(body) <= _MAX_BYTES and (part := answer.read1(_CHUNK)):
        body += part
        if time.monotonic() > deadline:
            raise TimeoutError("its answer has no end")
    return bytes(body)


class _NoErrorProcessor(HTTPErrorProcessor):
    def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:  # noqa: ARG002
        """Return the response unchanged, also an error or a redirection."""
        return response

    https_response = http_response


def _opener(authority: Optional[Path]) -> OpenerDirector:
    try:
        data = read_given(authority, _MAX_AUTHORITY) if authority else None
        context = ssl.create_default_context(cadata=data and data.decode("ascii", "ignore"))
    except OSError as error:
        raise DocumentError(
            f"{authority} is no certificate of an authority ({reason_in(error)}); name a PEM file"
        ) from error
    return build_opener(_NoErrorProcessor, HTTPSHandler(context=context))


def _token(path: Path) -> str:
    try:
        token = read_given(path, _MAX_TOKEN).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(
            f"the token in {path} cannot be read ({reason_in(error)}); name a file of your own"
        ) from error
    if not token.isprintable() or not token:
        raise DocumentError(f"{path} holds no token; it is one line of printable characters")
    return token


def parse_complaint(body: bytes) -> str:
    """Return the error text of Prometheus; empty if there is none."""
    try:
        words = read_json(body)["error"]
    except (ValueError, KeyError, TypeError, IndexError):
        return ""
    return _one_line(words)


def _one_line(words: object) -> str:
    return " ".join(lines(str(words)))[:_MAX_COMPLAINT]


def parse_answer(body: bytes, url: str) -> tuple[list[Curve], list[str]]:
    """Return the curves and warnings of an answer.

    Raises:
        ToolError: the answer is not from Prometheus.
    """
    try:
        answer = read_json(body)
        # absent or null if there are no warnings
        warnings = list(answer.get("warnings") or ())
        return list(_curves(answer)), [_one_line(words) for words in warnings]
    except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ToolError(
            f"{url} did not answer as Prometheus does ({error!r}); correct its address"
        ) from error


def _curves(answer: Any) -> Iterator[Curve]:
    if answer["status"] != "success" or answer["data"]["resultType"] != "matrix":
        raise ValueError("no curves")
    for series in answer["data"]["result"]:
        labels = {_text(name): _text(value) for name, value in series["metric"].items()}
        points = ((float(at), float(value)) for at, value in series["values"])
        # NaN of a division is no figure, nor is a value larger than any machine's
        yield Curve(labels, tuple((at, value) for at, value in points if abs(value) <= LARGEST))


def _text(value: object) -> str:
    """Return a label without halves of characters, which cannot be queried or printed."""
    return str(value).encode("utf-8", "replace").decode()
