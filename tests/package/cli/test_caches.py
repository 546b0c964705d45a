"""``plumbline probe`` on caches, and on the targets of another client."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from plumbline.cli.options import own_expectations, refuse_elsewhere
from plumbline.model.codec import read_document
from plumbline.model.errors import DocumentError, PrivilegeError, UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.store.files import STATE
from tests.package.cli.driver import Run
from tests.package.cli.test_probe import Node, node
from tests.package.judgements import expectation

__all__ = ["node"]

# --- ``plumbline probe ost --caches`` as a process, on directories and with a stand-in for fio.


def words(node: Node) -> list[str]:
    return ["--caches", "--directory", f"a={node.home}/a", "--bytes", "1MiB"]


@pytest.mark.slow
def test_a_directory_is_read_with_and_without_the_page_cache_and_no_files_remain(
    node: Node,
) -> None:
    ended = node.probe(*words(node), "--quiet", a="200")
    assert ended.returncode == 0, ended.stderr
    table = [line.split() for line in ended.stdout.splitlines()[1:3]]
    assert table == [
        ["read", "at", "once", "200.0", "MB/s"],
        ["read", "without", "page", "cache", "200.0", "MB/s"],
    ]
    assert "No cache that was dropped had served 1 MiB just written." in ended.stdout
    assert "Traceback" not in ended.stderr
    assert (node.home / "fio.log").read_text().count(" read ") == 4
    for folder in ("a", "tmp"):
        assert list((node.home / folder).iterdir()) == []


@pytest.mark.slow
def test_json_has_the_reads_and_the_caches(node: Node) -> None:
    ended = node.probe(*words(node), "--json", a="200")
    raw = json.loads(ended.stdout)
    assert (raw["schema"], raw["component"], raw["bytes"]) == (1, "a", 1 << 20)
    assert [read["without"] for read in raw["reads"]] == ["", "page cache"]
    assert [(cache["cache"], cache["served"]) for cache in raw["caches"]] == [("page cache", False)]


def test_a_failed_read_gives_no_result_about_caches(node: Node) -> None:
    ended = node.probe(*words(node), "--quiet", a="fail")
    assert ended.returncode == 3
    assert ended.stdout.startswith("a: nothing is known of its caches, ")
    assert list((node.home / "a").iterdir()) == []


@pytest.mark.slow
def test_the_next_run_removes_the_files_of_a_killed_run(node: Node) -> None:
    killed = node.start(*words(node), a="hang")
    orphan = node.wait_for_fio()
    killed.kill()
    killed.communicate()
    assert (node.home / "a/.plumbline-caches").exists()
    os.killpg(orphan, signal.SIGKILL)
    ended = node.probe(*words(node), "--quiet", a="200")
    assert ended.returncode == 0, ended.stderr
    assert list((node.home / "a").iterdir()) == []


def test_a_client_that_the_policy_does_not_name_drops_no_cache(node: Node) -> None:
    node.expect()
    ended = node.probe("--caches", "--component", "a", *node.arguments())
    assert ended.returncode == PrivilegeError.exit_code
    assert "client1 is not named in drop_caches of plumbline_policy" in ended.stderr
    assert not (node.home / "fio.log").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="root alone drops caches")
def test_a_target_of_a_client_that_the_policy_names_is_read(node: Node) -> None:
    node.expect()
    path = node.home / "expectations.json"
    document = read_document(Expectations, json.loads(path.read_text()))
    path.write_text(json.dumps(document._replace(drops_caches=True).to_json()))
    ended = node.probe("--caches", "--component", "a", *node.arguments(), "--quiet", a="200")
    assert ended.returncode == 0, ended.stderr
    assert "read without page cache" in ended.stdout
    # no records and no files: these rates are not comparable with others
    assert list(node.state.iterdir()) == []
    assert list((node.home / "a").iterdir()) == []


def test_a_dry_run_prints_the_commands_that_drop_the_cache_and_creates_no_files(
    node: Node, run: Run
) -> None:
    lines = run("probe", "ost", *words(node), "--dry-run").out.splitlines()
    assert [line.split()[0] for line in lines] == ["fio", "fio", "dd", "fio"]
    assert list((node.home / "a").iterdir()) == []


# --- A target is measured by its planned client, unless --another-client is given.


def own(node: str, entry: Expectation, **options: Any) -> Expectations:
    values = {"expectations": "e.json", "another_client": False, "state": STATE, **options}
    document = Expectations(node, "lab", (entry.to_json(),))
    return own_expectations(argparse.Namespace(**values), document, [entry])


def test_a_target_of_another_client_is_refused_and_its_client_named() -> None:
    with pytest.raises(UsageError) as error:
        own("client77", expectation())
    text = str(error.value)
    assert text.startswith("scratch-OST0003 is measured by client77, and this is ")
    assert text.endswith("plumbline probe ost --another-client --state DIR")


def test_another_client_records_under_its_own_hostname_in_its_own_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name one with --state"):
        own("client77", expectation(), another_client=True)
    document = own("client77", expectation(), another_client=True, state=str(tmp_path))
    assert document.node == socket.gethostname()


def test_the_planned_client_and_local_directories_need_no_flag() -> None:
    here = socket.gethostname()
    assert own(f"{here}.example.org", expectation()).node == f"{here}.example.org"
    local = expectation(target={"kind": "directory", "directory": "/mnt/a"})
    assert own("client77", local).node == "client77"
    # deployed expectations belong to this node, whatever its name in the inventory
    assert own("client77", expectation(), expectations=None).node == "client77"


def test_a_component_measured_elsewhere_is_named_with_its_client() -> None:
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
    measured_here = document._replace(entries=(expectation().to_json(),))
    refuse_elsewhere(measured_here, "ost", "scratch-OST0003")
