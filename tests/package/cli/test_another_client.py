"""A target is measured by the client that the plan names, unless somebody asks for another one."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path
from typing import Any

import pytest

from plumbline.cli.options import own_expectations, refuse_elsewhere
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.store.files import STATE
from tests.package.cli.driver import call
from tests.package.judgements import expectation


def owned(node: str, entry: Expectation, **given: Any) -> Expectations:
    values = {"expectations": "e.json", "another_client": False, "state": STATE, **given}
    document = Expectations(node, "lab", (entry.to_json(),))
    return own_expectations(argparse.Namespace(**values), document, [entry])


def test_another_client_s_target_is_refused_with_the_planned_one() -> None:
    with pytest.raises(UsageError) as error:
        owned("client77", expectation())
    text = str(error.value)
    assert text.startswith("scratch-OST0003 is measured by client77, and this is ")
    assert text.endswith("plumbline probe ost --another-client --state DIR")


def test_the_flag_measures_it_under_the_own_name_into_a_folder_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name one with --state"):
        owned("client77", expectation(), another_client=True)
    found = owned("client77", expectation(), another_client=True, state=str(tmp_path))
    assert found.node == socket.gethostname()


def test_the_planned_client_and_local_folders_are_nobody_else_s() -> None:
    here = socket.gethostname()
    assert owned(f"{here}.example.org", expectation()).node == f"{here}.example.org"
    local = expectation(target={"kind": "directory", "directory": "/mnt/a"})
    assert owned("client77", local).node == "client77"
    # what is deployed on a node is its own, by whatever name the inventory has for it
    assert owned("client77", expectation(), expectations=None).node == "client77"


@pytest.mark.parametrize("words", [["raw", "--expectations", "e"], ["ost"], ["fs"]])
def test_the_flag_goes_with_the_targets_of_another_client_alone(words: list[str]) -> None:
    with pytest.raises(UsageError, match="--another-client measures the targets of another client"):
        call("probe", *words, "--another-client")


def test_a_target_that_another_client_measures_is_named_with_it() -> None:
    document = Expectations(
        "client2", "lab", (), elsewhere={"a-OST0000": "client1", "a-OST0001": ""}
    )
    with pytest.raises(UsageError, match="a-OST0000 is measured by client1, and this is client2"):
        refuse_elsewhere(document, "ost", "a-OST0000")
    with pytest.raises(UsageError, match="a-OST0001 is retired"):
        refuse_elsewhere(document, "ost", "a-OST0001")
    refuse_elsewhere(document, "raw", "a-OST0000")
    with pytest.raises(DocumentError, match="another client may measure it"):
        refuse_elsewhere(document, "ost", "a-OST0002")
    own = document._replace(entries=(expectation().to_json(),))
    refuse_elsewhere(own, "ost", "scratch-OST0003")
