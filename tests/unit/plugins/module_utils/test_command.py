"""The end of a command becomes the module's result: a document or one sentence."""

from __future__ import annotations

import pytest
from ansible_collections.hpcops.plumbline.plugins.module_utils.command import (
    VERDICTS,
    Plumbline,
)
from ansible_collections.hpcops.plumbline.tests.unit.plugins.fakes import Ended, Module


def test_a_document_is_returned_with_its_code() -> None:
    module = Module((2, '{"verdicts": []}', ""))
    assert Plumbline(module).ask_json("judge", "--json", codes=VERDICTS) == (2, {"verdicts": []})


def test_user_and_checkout_are_part_of_the_call() -> None:
    module = Module((0, "", ""))
    Plumbline(module, ["python3", "-m", "plumbline.cli"], "/src", "plumbline").ask("plan")
    argv, options = module.calls[0]
    assert argv == ["runuser", "-u", "plumbline", "--", "python3", "-m", "plumbline.cli", "plan"]
    assert options["environ_update"] == {"PYTHONPATH": "/src/src"}


@pytest.mark.parametrize(
    ("code", "stderr", "msg"),
    [
        (65, "plumbline: topology.yml has no parts\n", "plumbline: topology.yml has no parts"),
        (74, "a line before\nplumbline: no space\n\n", "plumbline: no space"),
        (1, "", "plumbline ended with 1 and printed no reason"),
        (-9, "", "plumbline ended with -9 and printed no reason"),
    ],
)
def test_another_code_fails_with_the_sentence_of_the_command(
    code: int, stderr: str, msg: str
) -> None:
    with pytest.raises(Ended) as failed:
        Plumbline(Module((code, "", stderr))).ask("plan")
    assert failed.value.result["msg"] == msg
    assert failed.value.result["rc"] == code
    assert failed.value.result["cmd"] == ["plumbline", "plan"]


def test_a_traceback_is_no_verdict() -> None:
    module = Module((1, "", "Traceback (most recent call last):\nZeroDivisionError: division\n"))
    with pytest.raises(Ended, match="no JSON: ZeroDivisionError: division"):
        Plumbline(module).ask_json("judge", codes=VERDICTS)


def test_a_missing_command_names_the_remedy() -> None:
    with pytest.raises(Ended, match=r"plumbline cannot be run: No such file .* site\.yml"):
        Plumbline(Module()).ask("plan")
