"""Requests and answers between console and node are checked when they are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plumbline.model.codec import read_document, write
from plumbline.model.errors import DocumentError
from plumbline.model.exchange import MAX_RECORDS, Begun, Cursor, Head, Request

HEAD = Head(
    "0.1.0", 1795241041.0, False, (Begun("ost", "OST0", 1.0),), {"schema": 1}, {"schema": 1}
)


def test_requests_and_answers_survive_writing_and_reading() -> None:
    for request in (
        Request(Cursor(7, "abc"), 20),
        Request(Cursor(7, "abc"), 20, 1795241041.5),
        Request(Cursor(7, "abc"), 20, conditions_at=0.0),
    ):
        assert read_document(Request, json.loads(json.dumps(write(request)))) == request
    assert read_document(Head, json.loads(json.dumps(write(HEAD)))) == HEAD


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
        {"schema": 1, "after": [1, ""], "limit": 0},
        {"schema": 1, "after": [1, ""], "limit": MAX_RECORDS + 1},
        {"schema": 1, "after": [1, ""], "limit": 1, "since": "yesterday"},
        {"schema": 1, "after": [1, ""], "limit": 1, "since": float("nan")},
        {"schema": 1, "after": [1, ""], "limit": 1, "conditions_at": "yesterday"},
    ],
)
def test_a_damaged_request_is_refused_in_a_sentence(raw: Any) -> None:
    with pytest.raises(DocumentError, match="the request is damaged"):
        read_document(Request, raw)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"schema": 2}, "the answer has schema 2, this version reads 1; deploy the roles"),
        ({"now": float("inf")}, "the answer is damaged"),
        ({"now": "noon"}, "the answer is damaged"),
        ({"running": [["ost"]]}, "the answer is damaged"),
        ({"running": [["ost", 5, 1.0]]}, "the answer is damaged"),
        ({"symptoms": []}, "the answer is damaged"),
        ({"version": None}, "the answer is damaged"),
    ],
)
def test_an_invalid_answer_is_refused_in_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DocumentError, match=sentence):
        read_document(Head, {**write(HEAD), **changes})
