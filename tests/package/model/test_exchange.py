"""Requests and answers between console and node are checked when they are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.exchange import MOST_RECORDS, Begun, Cursor, Head, Request

HEAD = Head(
    "0.1.0", 1795241041.0, False, (Begun("ost", "OST0", 1.0),), {"schema": 1}, {"schema": 1}
)


def test_requests_and_answers_survive_writing_and_reading() -> None:
    for request in (
        Request(Cursor(7, "abc"), 20),
        Request(Cursor(7, "abc"), 20, 1795241041.5),
        Request(Cursor(7, "abc"), 20, conditions_at=0.0),
    ):
        assert Request.from_json(json.loads(json.dumps(request.to_json()))) == request
    assert Head.from_json(json.loads(json.dumps(HEAD.to_json()))) == HEAD


@pytest.mark.parametrize(("requested", "granted"), [(0, 1), (-5, 1), (10**9, MOST_RECORDS)])
def test_the_limit_of_a_request_is_at_most_one_answer(requested: int, granted: int) -> None:
    assert Request.from_json({**Request(Cursor()).to_json(), "limit": requested}).limit == granted


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {},
        {"schema": 1, "after": [1], "limit": 1},
        {"schema": 1, "after": ["1", ""], "limit": 1},
        {"schema": 1, "after": [1, None], "limit": 1},
        {"schema": 1, "after": [1, ""], "limit": "all"},
        {"schema": 1, "after": [1, ""], "limit": 1, "since": "yesterday"},
        {"schema": 1, "after": [1, ""], "limit": 1, "since": float("nan")},
        {"schema": 1, "after": [1, ""], "limit": 1, "conditions_at": "yesterday"},
    ],
)
def test_a_damaged_request_is_refused_in_a_sentence(raw: Any) -> None:
    with pytest.raises(DocumentError, match="the request is damaged"):
        Request.from_json(raw)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"schema": 2}, "its answer has schema 2, this version reads 1; deploy the roles"),
        ({"now": float("inf")}, "its answer is damaged"),
        ({"now": "noon"}, "its answer is damaged"),
        ({"running": [["ost"]]}, "its answer is damaged"),
        ({"running": [["ost", 5, 1.0]]}, "its answer is damaged"),
        ({"symptoms": []}, "its answer is damaged"),
        ({"version": None}, "its answer is damaged"),
        ({"error": "history x cannot be read"}, "it says: history x cannot be read"),
        ({"error": 5}, "."),
    ],
)
def test_an_invalid_answer_is_refused_in_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DocumentError, match=sentence):
        Head.from_json({**HEAD.to_json(), **changes})
