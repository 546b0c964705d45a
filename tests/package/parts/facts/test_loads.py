"""Latency under load, and its queries to Prometheus."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence, cast

import pytest

from plumbline.model.errors import DocumentError, PlumblineError, ToolError, UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.limits import Ceiling, Reference
from plumbline.model.record import Operation
from plumbline.parts.facts.latency import Load, Loads
from plumbline.parts.facts.loads import latencies, site_loads
from plumbline.site.prometheus import Curve, Prometheus, Span
from plumbline.store.plan import SitePlan
from tests.package.judgements import NOW, REFERENCE, expectation
from tests.package.serving import serving

# --- Peers of a site in the comparison of latency under load.


WINDOW_S = 900.0
WINDOWS = 60
SMALLER = Reference(Ceiling(100e6, ("oss3-disk1",), ("disk",)), None)


def ost(name: str, group: str = "scratch", reference: Reference = REFERENCE) -> Expectation:
    """Return a component whose name differs from its OST."""
    target = {"kind": "lustre", "mount": f"/{group}", "ost": f"{group}-OST{name}"}
    references = {"write/single": reference}
    return expectation(component=name, group=group, target=target, references=references)


def plan(clients: Mapping[str, Sequence[Expectation]]) -> SitePlan:
    nodes = {
        name: Expectations(name, "lab", tuple(entry.to_json() for entry in entries))
        for name, entries in clients.items()
    }
    return SitePlan(nodes, (), path="plan.json")


def loads(entries: Sequence[Expectation], slow: Mapping[str, float]) -> list[Load]:
    return [
        Load(
            NOW + window * WINDOW_S,
            entry.target["ost"],
            1e8 * (1 + number / 100),
            0.02 * slow.get(entry.component, 1.0),
        )
        for window in range(WINDOWS)
        for number, entry in enumerate(entries)
    ]


def suspects(
    clients: Mapping[str, Sequence[Expectation]], slow: Mapping[str, float]
) -> dict[str, list[tuple[str, str]]]:
    entries = [entry for expected in clients.values() for entry in expected]
    of_osts = loads(entries, slow)
    by_layer: Loads = {
        "ost": {Operation.WRITE: of_osts, Operation.READ: of_osts},
        "raw": {Operation.READ: []},
    }
    suspected = latencies(plan(clients), by_layer, WINDOW_S).suspected()
    return {node: [entry[:2] for entry in entries] for node, entries in suspected.items()}


def test_osts_of_a_file_system_are_peers_across_clients() -> None:
    clients = {"client1": list(map(ost, "abc")), "client2": list(map(ost, "def"))}
    assert suspects(clients, {}) == {}
    # two slow operations are one suspicion
    assert suspects(clients, {"e": 2.0}) == {"client2": [("ost", "e")]}


def test_osts_with_another_ceiling_or_file_system_are_no_peers() -> None:
    other = [ost(name, reference=SMALLER) for name in "uvwxyz"]
    home = [ost(name, "home") for name in "ghijkl"]
    clients = {"client1": [*map(ost, "abcdef"), *other, *home]}
    slow = {**dict.fromkeys("uvwxyz", 3.0), **dict.fromkeys("ghijkl", 2.0)}
    assert suspects(clients, slow) == {}
    assert suspects(clients, {**slow, "v": 9.0}) == {"client1": [("ost", "v")]}


def test_too_few_components_are_unknown() -> None:
    clients = {"client1": [*map(ost, "abcd")]}
    entries = clients["client1"]
    by_layer: Loads = {
        "ost": {Operation.WRITE: loads(entries, {"a": 9.0})},
        "raw": {Operation.READ: []},
    }
    result = latencies(plan(clients), by_layer, WINDOW_S)
    assert (result.latencies, result.unknown) == ((), ("a", "b", "c", "d"))


# --- Writes of OSTs go by their disk I/O: obdfilter counts them before the commit.


class OstServers:
    """Answers of a Prometheus about six OSTs, of which the disk of one writes more slowly."""

    warnings: Sequence[str] = ()
    url = "http://console:9090"
    seconds: Mapping[str, float] = {"e": 0.1}

    def over(self, query: str, span: Span) -> list[Curve]:
        """Return the growth in each window by OST, or by OST and bucket."""
        if "node_disk" in query:
            return []
        if "disk_io_seconds_bucket" in query:
            assert 'source="osd-ldiskfs",operation="write"' in query
            return [
                curve
                for name in "abcdef"
                for curve in self._buckets(name, self.seconds.get(name, 0.006), span)
            ]
        value = {"bytes": 1e8 * span.step_s, "seconds": 5.0}
        kind = next((name for name in value if f"_{name}_total" in query), "operations")
        return [
            Curve({"target": f"scratch-OST{name}"}, self._points(value.get(kind, 1000.0), span))
            for name in "abcdef"
        ]

    def _buckets(self, name: str, seconds: float, span: Span) -> Iterator[Curve]:
        limits = [0.001 * 2**power for power in range(15)]
        for text, limit in [*((f"{limit:g}", limit) for limit in limits), ("+Inf", 1e9)]:
            count = 1000.0 if seconds <= limit else 0.0
            labels = {"target": f"scratch-OST{name}", "le": text}
            yield Curve(labels, self._points(count, span))

    def _points(self, value: float, span: Span) -> tuple[tuple[float, float], ...]:
        count = int((span.end - span.start) / span.step_s)
        return tuple((span.start + step * span.step_s, value) for step in range(1, count + 1))


def test_a_slow_disk_under_writes_is_seen_though_obdfilter_counts_no_commit() -> None:
    clients = {"client1": list(map(ost, "abcdef"))}
    span = Span(NOW, NOW + WINDOWS * WINDOW_S, WINDOW_S)
    measured = site_loads(cast(Prometheus, OstServers()), span)
    write = {load.device: load.latency_s for load in measured["ost"][Operation.WRITE]}
    # the middle of the buckets from 4 to 8 ms and from 64 to 128 ms
    assert write["scratch-OSTa"] == pytest.approx(0.006)
    assert write["scratch-OSTe"] == pytest.approx(0.096)
    assert {load.latency_s for load in measured["ost"][Operation.READ]} == {0.005}
    found = latencies(plan(clients), measured, WINDOW_S)
    assert [(latency.measured.name, latency.operation) for latency in found.slow] == [
        ("scratch-OSTe", Operation.WRITE)
    ]


# --- Errors of Prometheus are one sentence, and the token goes only to the given server.


SPAN = Span(1000.0, 1900.0, 900.0)
CURVE = {"metric": {"component": "disk1"}, "values": [[1000, "5"], [1900, "NaN"]]}


def matrix(
    *curves: object, status: str = "success", kind: str = "matrix", **fields: object
) -> bytes:
    data = {"resultType": kind, "result": list(curves)}
    return json.dumps({"status": status, "data": data, **fields}).encode()


class Query(NamedTuple):
    """A request to the server: path, body and authorization header."""

    path: str
    body: str
    authority: Optional[str]


class Server(NamedTuple):
    url: str
    queries: list[Query]


@contextmanager
def answering(
    body: bytes, code: int = 200, location: str = "", endless: bool = False
) -> Iterator[Server]:
    """Serve the same answer to every request on loopback, or an endless one."""
    queries: list[Query] = []

    def answer(request: BaseHTTPRequestHandler, body_of_request: str) -> None:
        queries.append(Query(request.path, body_of_request, request.headers["Authorization"]))
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
        yield Server(url, queries)


def test_an_answer_gives_curves_of_finite_values() -> None:
    with answering(matrix(CURVE)) as server:
        curves = Prometheus(server.url + "/").over("up", SPAN)
    assert curves == [Curve({"component": "disk1"}, ((1000.0, 5.0),))]
    (query,) = server.queries
    assert query.path == "/api/v1/query_range"
    assert "query=up&start=1000.000&end=1900.000&step=900" in query.body
    assert query.authority is None


def test_values_outside_the_requested_time_are_excluded() -> None:
    dated = [[-1000, "1"], [1000, "2"], [1900, "3"], [1e300, "4"]]
    with answering(matrix({"metric": {}, "values": dated})) as server:
        (curve,) = Prometheus(server.url).over("up", SPAN)
    assert curve.points == ((1000.0, 2.0), (1900.0, 3.0))


def test_impossible_values_are_excluded_and_invalid_characters_replaced() -> None:
    values = [[1000, "1e308"], [1300, "-Inf"], [1600, "NaN"], [1900, "7"]]
    with answering(matrix({"metric": {"target": "a\udc80"}, "values": values})) as server:
        (curve,) = Prometheus(server.url).over("up", SPAN)
    assert curve == Curve({"target": "a?"}, ((1900.0, 7.0),))


def test_warnings_are_saved_once_as_lines_up_to_a_limit() -> None:
    warnings = [f"store {number} is\n away" for number in range(1000)]
    with answering(matrix(CURVE, warnings=["no", *warnings])) as server:
        prometheus = Prometheus(server.url)
        assert prometheus.warnings == []
        assert prometheus.over("up", SPAN) == prometheus.over("up", SPAN)
        assert len(prometheus.warnings) == 20
        assert prometheus.warnings[:2] == [
            f"{server.url} warns: no",
            f"{server.url} warns: store 0 is away",
        ]


def test_an_answer_without_warnings_gives_none() -> None:
    with answering(matrix(CURVE, warnings=None)) as server:
        prometheus = Prometheus(server.url)
        assert prometheus.over("up", SPAN)
    assert prometheus.warnings == []


def test_a_token_is_sent_only_to_its_server(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret-word\n")
    with (
        answering(matrix()) as other,
        answering(b"", 307, other.url) as server,
        pytest.raises(ToolError, match="refused: 307"),
    ):
        Prometheus(server.url, token).over("up", SPAN)
    assert [query.authority for query in server.queries] == ["Bearer secret-word"]
    assert other.queries == []


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        (b'{"status": "error", "error": "query timed out"}', 503, "refused: 503 query timed out"),
        (b'{"error": "a\\u001b[31m\\nb"}', 503, "refused: 503 a\N{REPLACEMENT CHARACTER}[31m b"),
        (b"<html>log in</html>", 401, "refused: 401 Unauthorized"),
        (b"<html>log in</html>", 200, "did not answer as Prometheus does"),
        (matrix(status="error"), 200, "did not answer as Prometheus does"),
        (matrix(kind="vector"), 200, "did not answer as Prometheus does"),
        (matrix({"metric": 5, "values": []}), 200, "did not answer as Prometheus does"),
        (matrix({"metric": {}, "values": [[1]]}), 200, "did not answer as Prometheus does"),
        (matrix({"metric": {}, "values": [[1, "x"]]}), 200, "did not answer as Prometheus does"),
        (
            matrix({"metric": {}, "values": [[10**400, 1]]}),
            200,
            "did not answer as Prometheus does",
        ),
        (matrix(CURVE)[:-9], 200, "did not answer as Prometheus does"),
        (b"[" * 100_000, 200, "did not answer as Prometheus does"),
        (b"", 200, "did not answer as Prometheus does"),
        (b"\xff\xfe", 200, "did not answer as Prometheus does"),
    ],
)
def test_a_wrong_answer_is_one_error_message(body: bytes, code: int, words: str) -> None:
    with answering(body, code) as server, pytest.raises(ToolError) as error:
        Prometheus(server.url).over("up", SPAN)
    text = str(error.value)
    assert text.startswith(server.url)
    assert words in text
    assert "\n" not in text


@pytest.mark.parametrize("code", [200, 503])
def test_an_endless_answer_is_aborted(code: int) -> None:
    expected_error = pytest.raises(ToolError, match="its answer has no end")
    with answering(b"", code, endless=True) as server, expected_error:
        Prometheus(server.url, patience_s=0.3).over("up", SPAN)


def test_a_server_that_does_not_answer_is_reported() -> None:
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
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is no address"):
        Prometheus(url)


@pytest.mark.parametrize("port", ["9090", "port"])
def test_a_password_in_the_address_is_refused_and_not_repeated(port: str) -> None:
    with pytest.raises(UsageError, match="password") as error:
        Prometheus(f"http://me:hunter2@console:{port}")
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("content", [None, b"", b"two\nlines", b"\xff\xff"])
def test_an_invalid_token_file_is_refused(tmp_path: Path, content: Optional[bytes]) -> None:
    token = tmp_path / "token"
    if content is not None:
        token.write_bytes(content)
    with pytest.raises(DocumentError, match=str(token)):
        Prometheus("http://console:9090", token)


def test_an_endless_token_file_is_refused() -> None:
    with pytest.raises(DocumentError, match="/dev/zero cannot be read"):
        Prometheus("http://console:9090", Path("/dev/zero"))


def test_an_invalid_certificate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(PlumblineError, match="is no certificate"):
        Prometheus("https://console:9090", authority=tmp_path / "ca.pem")
