"""Latency under load, and the Prometheus that it is asked of."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

import pytest

from plumbline.judge.latency import Load, Loads
from plumbline.model.errors import DocumentError, PlumblineError, ToolError, UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.limits import Ceiling, Reference
from plumbline.model.record import Operation
from plumbline.site.latency import latencies
from plumbline.site.prometheus import Curve, Prometheus, Span
from plumbline.store.plan import SitePlan
from tests.package.judgements import NOW, REFERENCE, expectation
from tests.package.serving import serving

# --- Which components of a site are compared with one another by their latency under load.


WINDOW_S = 900.0
WINDOWS = 60
SMALLER = Reference(Ceiling(100e6, ("oss3-disk1",), ("disk",)), None)


def ost(name: str, group: str = "scratch", reference: Reference = REFERENCE) -> Expectation:
    """Return a component that has another name than its OST."""
    target = {"kind": "lustre", "mount": f"/{group}", "ost": f"{group}-OST{name}"}
    references = {"write/single": reference}
    return expectation(component=name, group=group, target=target, references=references)


def plan(clients: Mapping[str, Sequence[Expectation]]) -> SitePlan:
    nodes = {
        name: Expectations(name, "lab", tuple(one.to_json() for one in entries))
        for name, entries in clients.items()
    }
    return SitePlan("plan.json", nodes, ())


def loads(entries: Sequence[Expectation], slow: Mapping[str, float]) -> list[Load]:
    return [
        Load(
            NOW + window * WINDOW_S,
            one.target["ost"],
            1e8 * (1 + number / 100),
            0.02 * slow.get(one.component, 1.0),
        )
        for window in range(WINDOWS)
        for number, one in enumerate(entries)
    ]


def suspects(
    clients: Mapping[str, Sequence[Expectation]], slow: Mapping[str, float]
) -> dict[str, list[tuple[str, str]]]:
    entries = [one for found in clients.values() for one in found]
    made = loads(entries, slow)
    done: Loads = {
        "ost": {Operation.WRITE: made, Operation.READ: made},
        "raw": {Operation.READ: []},
    }
    found = latencies(plan(clients), done, WINDOW_S).suspected()
    return {node: [one[:2] for one in suspected] for node, suspected in found.items()}


def test_osts_of_a_file_system_are_peers_whatever_client_measures_them() -> None:
    clients = {"client1": list(map(ost, "abc")), "client2": list(map(ost, "def"))}
    assert suspects(clients, {}) == {}
    # both operations are slow: one suspicion
    assert suspects(clients, {"e": 2.0}) == {"client2": [("ost", "e")]}


def test_osts_of_another_ceiling_or_file_system_are_no_peers() -> None:
    other = [ost(name, reference=SMALLER) for name in "uvwxyz"]
    home = [ost(name, "home") for name in "ghijkl"]
    clients = {"client1": [*map(ost, "abcdef"), *other, *home]}
    slow = {**dict.fromkeys("uvwxyz", 3.0), **dict.fromkeys("ghijkl", 2.0)}
    assert suspects(clients, slow) == {}
    assert suspects(clients, {**slow, "v": 9.0}) == {"client1": [("ost", "v")]}


def test_of_too_few_nothing_is_known() -> None:
    clients = {"client1": [*map(ost, "abcd")]}
    entries = clients["client1"]
    done: Loads = {
        "ost": {Operation.WRITE: loads(entries, {"a": 9.0})},
        "raw": {Operation.READ: []},
    }
    found = latencies(plan(clients), done, WINDOW_S)
    assert (found.latencies, found.unknown) == ((), ("a", "b", "c", "d"))


# --- A Prometheus that is away, lies or sends elsewhere is one sentence, and none has its token.


SPAN = Span(1000.0, 1900.0, 900.0)
CURVE = {"metric": {"component": "disk1"}, "values": [[1000, "5"], [1900, "NaN"]]}


def said(*curves: object, status: str = "success", kind: str = "matrix", **more: object) -> bytes:
    data = {"resultType": kind, "result": list(curves)}
    return json.dumps({"status": status, "data": data, **more}).encode()


class Told(NamedTuple):
    """What a server was asked, in turn: path, body and its header of authority."""

    path: str
    body: str
    authority: Optional[str]


class Server(NamedTuple):
    url: str
    told: list[Told]


@contextmanager
def answering(
    body: bytes, code: int = 200, location: str = "", endless: bool = False
) -> Iterator[Server]:
    """Answer every question alike, on loopback; or begin and go on until nobody listens."""
    told: list[Told] = []

    def answer(request: BaseHTTPRequestHandler, asked: str) -> None:
        told.append(Told(request.path, asked, request.headers["Authorization"]))
        request.send_response(code)
        if location:
            request.send_header("Location", location)
        request.end_headers()
        request.wfile.write(body)
        with suppress(OSError):
            while endless:
                request.wfile.write(b" ")
                time.sleep(0.01)

    with serving(answer) as url:
        yield Server(url, told)


def test_an_answer_is_curves_of_finite_values() -> None:
    with answering(said(CURVE)) as server:
        found = Prometheus(server.url + "/").over("up", SPAN)
    assert found == [Curve({"component": "disk1"}, ((1000.0, 5.0),))]
    (told,) = server.told
    assert told.path == "/api/v1/query_range"
    assert "query=up&start=1000.000&end=1900.000&step=900" in told.body
    assert told.authority is None


def test_what_is_dated_beyond_the_question_is_left_out() -> None:
    dated = [[-1000, "1"], [1000, "2"], [1900, "3"], [1e300, "4"]]
    with answering(said({"metric": {}, "values": dated})) as server:
        (found,) = Prometheus(server.url).over("up", SPAN)
    assert found.points == ((1000.0, 2.0), (1900.0, 3.0))


def test_what_no_machine_moves_is_no_figure_and_half_a_character_no_name() -> None:
    values = [[1000, "1e308"], [1300, "-Inf"], [1600, "NaN"], [1900, "7"]]
    with answering(said({"metric": {"target": "a\udc80"}, "values": values})) as server:
        (found,) = Prometheus(server.url).over("up", SPAN)
    assert found == Curve({"target": "a?"}, ((1900.0, 7.0),))


def test_what_it_warns_of_is_kept_once_in_a_line_each_and_not_without_end() -> None:
    warned = [f"store {number} is\n away" for number in range(1000)]
    with answering(said(CURVE, warnings=["no", *warned])) as server:
        prometheus = Prometheus(server.url)
        assert prometheus.warnings == []
        assert prometheus.over("up", SPAN) == prometheus.over("up", SPAN)
        assert len(prometheus.warnings) == 20
        assert prometheus.warnings[:2] == [
            f"{server.url} warns: no",
            f"{server.url} warns: store 0 is away",
        ]


def test_nothing_is_warned_of_where_all_is_there() -> None:
    with answering(said(CURVE, warnings=None)) as server:
        prometheus = Prometheus(server.url)
        assert prometheus.over("up", SPAN)
    assert prometheus.warnings == []


def test_a_token_is_given_to_the_server_alone(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret-word\n")
    with (
        answering(said()) as other,
        answering(b"", 307, other.url) as server,
        pytest.raises(ToolError, match="refused: 307"),
    ):
        Prometheus(server.url, token).over("up", SPAN)
    assert [one.authority for one in server.told] == ["Bearer secret-word"]
    assert other.told == []


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        (b'{"status": "error", "error": "query timed out"}', 503, "refused: 503 query timed out"),
        (b'{"error": "a\\u001b[31m\\nb"}', 503, "refused: 503 a\N{REPLACEMENT CHARACTER}[31m b"),
        (b"<html>log in</html>", 401, "refused: 401 Unauthorized"),
        (b"<html>log in</html>", 200, "did not answer as Prometheus does"),
        (said(status="error"), 200, "did not answer as Prometheus does"),
        (said(kind="vector"), 200, "did not answer as Prometheus does"),
        (said({"metric": 5, "values": []}), 200, "did not answer as Prometheus does"),
        (said({"metric": {}, "values": [[1]]}), 200, "did not answer as Prometheus does"),
        (said({"metric": {}, "values": [[1, "x"]]}), 200, "did not answer as Prometheus does"),
        (said({"metric": {}, "values": [[10**400, 1]]}), 200, "did not answer as Prometheus does"),
        (said(CURVE)[:-9], 200, "did not answer as Prometheus does"),
        (b"[" * 100_000, 200, "did not answer as Prometheus does"),
        (b"", 200, "did not answer as Prometheus does"),
        (b"\xff\xfe", 200, "did not answer as Prometheus does"),
    ],
)
def test_what_answers_otherwise_is_one_sentence(body: bytes, code: int, words: str) -> None:
    with answering(body, code) as server, pytest.raises(ToolError) as raised:
        Prometheus(server.url).over("up", SPAN)
    text = str(raised.value)
    assert text.startswith(server.url)
    assert words in text
    assert "\n" not in text


@pytest.mark.parametrize("code", [200, 503])
def test_an_answer_without_end_is_given_up(code: int) -> None:
    given_up = pytest.raises(ToolError, match="its answer has no end")
    with answering(b"", code, endless=True) as server, given_up:
        Prometheus(server.url, patience_s=0.3).over("up", SPAN)


def test_nobody_answers() -> None:
    with answering(b"") as server:
        pass
    with pytest.raises(ToolError, match=r"does not answer: .*refused"):
        Prometheus(server.url).over("up", SPAN)


@pytest.mark.parametrize(
    "url",
    [
        *("prometheus:9090", "ftp://console", "http://", "", "/etc/passwd"),
        *("http://[::1", "http://console:port", "http://console:99999", "http://a..b", "http://ü/"),
        *(f"http://{'a' * 64}.site", "http://console/a b", "http://console\nx", "http://console/ü"),
        *("http://console/?query=up", "http://console/#up"),
    ],
)
def test_an_address_is_that_of_a_server(url: str) -> None:
    with pytest.raises(UsageError, match="is no address"):
        Prometheus(url)


@pytest.mark.parametrize("port", ["9090", "port"])
def test_a_password_in_the_address_is_refused_and_not_repeated(port: str) -> None:
    with pytest.raises(UsageError, match="password") as raised:
        Prometheus(f"http://me:hunter2@console:{port}")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("content", [None, b"", b"two\nlines", b"\xff\xff"])
def test_a_token_is_one_line(tmp_path: Path, content: Optional[bytes]) -> None:
    token = tmp_path / "token"
    if content is not None:
        token.write_bytes(content)
    with pytest.raises(DocumentError, match=str(token)):
        Prometheus("http://console:9090", token)


def test_a_token_file_without_end_is_none() -> None:
    with pytest.raises(DocumentError, match="/dev/zero holds no token"):
        Prometheus("http://console:9090", Path("/dev/zero"))


def test_an_authority_is_a_certificate(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(PlumblineError, match="is no certificate"):
        Prometheus("https://console:9090", authority=tmp_path / "ca.pem")
