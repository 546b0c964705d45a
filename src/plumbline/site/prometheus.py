"""Ask a Prometheus, or what answers as one: Thanos, VictoriaMetrics."""

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
from plumbline.model.errors import DocumentError, ToolError, UsageError
from plumbline.model.units import LARGEST
from plumbline.model.validation import read_json

_TIMEOUT_S = 30.0
_MOST_BYTES = 1 << 28
"""Of an answer: a day of ten thousand devices in windows of a quarter of an hour is 30 MB."""
_LONGEST_COMPLAINT = 200
_MOST_WARNINGS = 20
_CHUNK = 1 << 20
_MOST_TOKEN = 1 << 16
_NO_PART_OF_IT = set(" ?#")
"""In an address, to which the path of a question is added."""


class Curve(NamedTuple):
    """One series of an answer: its labels, and moments in epoch seconds with finite values."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


class Span(NamedTuple):
    """Moments that are asked about, in epoch seconds, each ``step_s`` after the one before."""

    start: float
    end: float
    step_s: float


class Prometheus:
    """Address of a Prometheus; no redirection is followed, for it would be given the token."""

    def __init__(
        self,
        url: str,
        token_file: Optional[Path] = None,
        authority: Optional[Path] = None,
        patience_s: float = 2 * _TIMEOUT_S,
    ) -> None:
        """Take the address, a file with a bearer token, and the certificate of an authority.

        An answer that takes more than ``patience_s`` seconds to arrive is given up.

        Raises:
            UsageError: the address is none of a server, or has a password in it.
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
        """Warnings so far, each once: a source that Prometheus itself asks was away."""
        return [f"{self.url} warns: {words}" for words in self._warnings]

    def over(self, expression: str, span: Span) -> list[Curve]:
        """Return what an expression of PromQL gives at each moment of a span.

        Raises:
            ToolError: nobody answers, or what answers is no Prometheus or complains.
        """
        query = {
            "query": expression,
            "start": f"{span.start:.3f}",
            "end": f"{span.end:.3f}",
            "step": f"{span.step_s:g}",
            "timeout": f"{_TIMEOUT_S:g}s",
        }
        curves, warned = parse_answer(self._answer("/api/v1/query_range", query), self.url)
        for words in warned[: _MOST_WARNINGS - len(self._warnings)]:
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
        except URLError as error:
            raise ToolError(f"{self.url} does not answer: {error.reason}") from error
        except (OSError, HTTPException) as error:
            raise ToolError(f"{self.url} does not answer: {error!r}") from error
        if len(body) > _MOST_BYTES:
            raise ToolError(f"{self.url} answers with more than 256 MiB; ask about less time")
        return body


def _check(url: str) -> None:
    """Raise UsageError where an address is none of a server, or has a password in it."""
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
    plain = url.isascii() and url.isprintable() and not _NO_PART_OF_IT.intersection(url)
    if not (host and plain and parts.scheme in ("http", "https")):
        raise UsageError(f"{url!r} is no address; write it like http://prometheus.site:9090")


def _within(span: Span, points: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Yield the points of moments that were asked about; what else is dated, nobody measured."""
    margin_s = span.step_s / 2
    for at, value in points:
        if span.start - margin_s < at < span.end + margin_s:
            yield at, value


def _read(answer: HTTPResponse, end: float) -> bytes:
    """Return an answer up to one byte more than is allowed; it may come a byte at a time."""
    body = bytearray()
    while len(body) <= _MOST_BYTES and (part := answer.read1(_CHUNK)):
        body += part
        if time.monotonic() > end:
            raise TimeoutError("its answer has no end")
    return bytes(body)


class _AsItIs(HTTPErrorProcessor):
    def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:  # noqa: ARG002
        """Return what has come, a refusal or a redirection too, which nothing follows then."""
        return response

    https_response = http_response


def _opener(authority: Optional[Path]) -> OpenerDirector:
    try:
        context = ssl.create_default_context(cafile=authority)
    except OSError as error:
        raise DocumentError(f"{authority} is no certificate of an authority ({error})") from error
    return build_opener(_AsItIs, HTTPSHandler(context=context))


def _token(path: Path) -> str:
    try:
        with path.open("rb") as file:
            # a device or pipe may have no end
            token = file.read(_MOST_TOKEN).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"the token in {path} cannot be read ({error})") from error
    if not token.isprintable() or not token:
        raise DocumentError(f"{path} holds no token; it is one line of printable characters")
    return token


def parse_complaint(body: bytes) -> str:
    """Return why Prometheus refuses, in its own words; empty where nothing of the kind is said."""
    try:
        words = read_json(body)["error"]
    except (ValueError, KeyError, TypeError, IndexError):
        return ""
    return _one_line(words)


def _one_line(words: object) -> str:
    return " ".join(lines(str(words)))[:_LONGEST_COMPLAINT]


def parse_answer(body: bytes, url: str) -> tuple[list[Curve], list[str]]:
    """Return the curves of an answer from an address, and of what it warns.

    Raises:
        ToolError: it is no answer of Prometheus.
    """
    try:
        answer = read_json(body)
        # none, or null, where all is there
        warned = list(answer.get("warnings") or ())
        return list(_curves(answer)), [_one_line(words) for words in warned]
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
        # what cannot be divided is NaN, and no figure; nor is what no machine has
        yield Curve(labels, tuple((at, value) for at, value in points if abs(value) <= LARGEST))


def _text(value: object) -> str:
    """Return a label without halves of characters, which could not be asked about or printed."""
    return str(value).encode("utf-8", "replace").decode()
