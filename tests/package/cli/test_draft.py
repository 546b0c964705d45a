"""``plumbline topology draft``: a first topology of a client's mounts, which can be checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from plumbline.model.errors import DocumentError, SkipTarget
from plumbline.observe.mounts import parse_mount
from plumbline.site.drafting import drafted
from tests.package.cli.driver import Run, call, inventory
from tests.package.cli.lustre import Client
from tests.package.fakes import HANGING, Answer, FakeRunner, answer
from tests.package.measure.test_mounted import GLUSTERFS, LUSTRE, of_bricks

SERVERS = {0x0: "10.0.0.1", 0x1: "10.0.0.2", 0x2: "10.0.0.1", 0x9: "10.0.0.2", 0xA: "10.0.0.2"}


def osc(parameter: str, text: str = "{nid}") -> str:
    return "".join(
        f"osc.lustre-OST{index:04x}-osc-ffff8881.{parameter}=" + text.format(nid=f"{address}@tcp")
        for index, address in SERVERS.items()
    )


def lustre(**changes: Answer) -> FakeRunner:
    """Return a client of six OSTs on two servers, one of them inactive."""
    osts = [f"{index}: lustre-OST{index:04x}_UUID ACTIVE" for index in SERVERS]
    pattern = "lctl get_param osc.lustre-OST*-osc-*"
    shape = "\nimport:\n    state: FULL\n    connection:\n       failover_nids: [ {nid} ]\n"
    answers: dict[str, Answer] = {
        "lfs osts": "OBDS:\n" + "\n".join([*osts, "26: lustre-OST001a_UUID INACTIVE"]) + "\n",
        f"{pattern}.import": osc("import", shape + "       current_connection: {nid}\n"),
        f"{pattern}.ost_conn_uuid": osc("ost_conn_uuid", "{nid}\n"),
        "lctl list_nids": "10.9.0.21@o2ib\n10.0.0.21@tcp\n",
        "getent hosts 10.0.0.1": "10.0.0.1        stor-a.site.example stor-a\n",
        "getent hosts 10.0.0.2": answer("", "", 2),
        "stat": answer("", "", 1),
    }
    return FakeRunner({**answers, **changes})


def topology(text: str) -> Any:
    return yaml.safe_load(text)["plumbline_topology"]


def test_each_target_lies_behind_its_server() -> None:
    site = drafted(lustre(), [LUSTRE], "login1")
    document = topology(site.text)
    assert document["parts"] == [
        {"name": "network", "kind": "switch"},
        {"name": "stor-a", "kind": "server", "address": "10.0.0.1", "feeds": "network"},
        # a name that nobody knows is made up
        {"name": "oss1", "kind": "server", "address": "10.0.0.2", "feeds": "network"},
        {"name": "stor-a-array[1-2]", "kind": "array", "feeds": "stor-a"},
        {"name": "oss1-array[1-3]", "kind": "array", "feeds": "oss1"},
        {"name": "login1", "kind": "client", "address": "10.0.0.21", "feeds": "network"},
    ]
    (system,) = document["file_systems"]
    assert system == {
        "name": "lustre",
        "kind": "lustre",
        "mount": "/mnt/lustre",
        "client": "login1",
        "targets": [
            {"name": "lustre-OST[0000,0002]", "part": "stor-a-array[1-2]"},
            {"name": "lustre-OST[0001,0009-000a]", "part": "oss1-array[1-3]"},
        ],
    }
    assert site.troubles == ("lustre-OST001a: it is INACTIVE on this client",)
    assert f"# Left out: {site.troubles[0]}\n" in site.text


def test_a_user_who_may_not_read_imports_gets_the_present_servers() -> None:
    pattern = "lctl get_param osc.lustre-OST*-osc-*.import"
    site = drafted(lustre(**{pattern: answer("", "", 2)}), [LUSTRE], "login1")
    assert topology(site.text) == topology(drafted(lustre(), [LUSTRE], "login1").text)


def test_a_name_service_without_an_answer_is_asked_once() -> None:
    run = lustre(**{"getent": HANGING, "getent hosts 10.0.0.1": HANGING})
    servers = [part["name"] for part in topology(drafted(run, [LUSTRE], "oss1").text)["parts"][1:3]]
    # the client itself has the first made-up name
    assert servers == ["oss2", "oss3"]
    assert len(run.called("getent")) == 1


@pytest.mark.parametrize(
    ("first", "second", "servers"),
    [
        # a made-up name is none of another server's
        ("", "oss1.site.example", {"oss2": "10.0.0.1", "oss1": "10.0.0.2"}),
        # one server with two addresses
        ("oss1.site.example", "oss1.site.example", {"oss1": "10.0.0.1"}),
        ("oss1.site.example", "oss1.else.example", {"oss1": "10.0.0.1", "oss2": "10.0.0.2"}),
    ],
)
def test_a_server_has_the_name_of_all_its_addresses(
    first: str, second: str, servers: dict[str, str]
) -> None:
    names: dict[str, Answer] = {
        f"getent hosts {address}": f"{address} {name}\n" if name else answer("", "", 2)
        for address, name in (("10.0.0.1", first), ("10.0.0.2", second))
    }
    parts = topology(drafted(lustre(**names), [LUSTRE], "login1").text)["parts"]
    drawn = {part["name"]: part["address"] for part in parts if part["kind"] == "server"}
    assert drawn == servers


def test_a_server_that_has_but_a_number_gets_a_name() -> None:
    run = lustre()
    pattern = "lctl get_param osc.lustre-OST*-osc-*"
    answers: dict[str, Answer] = {
        name: run([*name.split()], 1.0).stdout.replace("10.0.0.", "2").replace("@tcp", "@kfi")
        for name in (f"{pattern}.import", f"{pattern}.ost_conn_uuid")
    }
    parts = topology(drafted(lustre(**answers), [LUSTRE], "login1").text)["parts"]
    servers = [part for part in parts if part["kind"] == "server"]
    assert servers == [
        {"name": f"oss{number}", "kind": "server", "feeds": "network"} for number in (1, 2)
    ]


def test_bricks_have_the_hosts_of_their_volume() -> None:
    site = drafted(FakeRunner({**of_bricks(), "lctl": answer("", "", 2)}), [GLUSTERFS], "client1")
    document = topology(site.text)
    assert document["file_systems"][0]["targets"][1] == {
        "name": "scratch-client-[2-3]",
        "part": "oss2-array[1-2]",
        "subvolume": "scratch-client-[2-3]",
    }
    assert {"name": "oss2", "kind": "server", "feeds": "network"} in document["parts"]
    assert site.troubles == ()


def test_two_file_systems_share_a_server() -> None:
    home = parse_mount("92 24 0:62 / /mnt/home rw - lustre 10.0.2.15@tcp:/home rw")
    server = "osc.home-OST0000-osc-ffff8882.ost_conn_uuid=10.0.0.1@tcp\n"
    answers: dict[str, Answer] = {
        "lfs osts /mnt/home": "OBDS:\n0: home-OST0000_UUID ACTIVE\n",
        "lctl get_param osc.home-OST*-osc-*.import": answer("", "", 2),
        "lctl get_param osc.home-OST*-osc-*.ost_conn_uuid": server,
    }
    document = topology(drafted(lustre(**answers), [LUSTRE, home], "login1").text)
    parts = [system["targets"][0]["part"] for system in document["file_systems"]]
    assert parts == ["stor-a-array[1-2]", "stor-a-array3"]
    assert {"name": "stor-a-array[1-3]", "kind": "array", "feeds": "stor-a"} in document["parts"]


def test_a_file_system_that_is_mounted_twice_is_drawn_once() -> None:
    other = parse_mount("92 24 0:62 / /mnt/also rw - lustre 10.0.2.15@tcp:/lustre/folder rw")
    site = drafted(lustre(), [LUSTRE, other], "login1")
    once = drafted(lustre(), [LUSTRE], "login1")
    assert topology(site.text) == topology(once.text)
    second = "/mnt/also: its targets are those of /mnt/lustre"
    assert site.troubles == (*once.troubles, second)


def test_mounts_without_an_answer_are_named() -> None:
    silent = lustre(**{"lfs osts": answer("", "error: osts", 1)})
    with pytest.raises(SkipTarget, match="lfs osts /mnt/lustre failed with exit code 1"):
        drafted(silent, [LUSTRE], "login1")
    both = FakeRunner({**of_bricks(), "lfs osts": answer("", "error: osts", 1), "lctl": ""})
    site = drafted(both, [LUSTRE, GLUSTERFS], "login1")
    assert [system["name"] for system in topology(site.text)["file_systems"]] == ["scratch"]
    assert site.troubles[0].startswith("/mnt/lustre: lfs osts /mnt/lustre failed")


def test_a_draft_with_rates_passes_the_check(tmp_path: Path, run: Run) -> None:
    (tmp_path / "client").mkdir()
    client = Client.at(tmp_path / "client")
    client.become(inactive=[3])
    ended = client.call("topology", "draft", "--mount", str(client.mount))
    assert client.call("topology", "draft").stdout == ended.stdout
    assert ended.returncode == 1
    assert ended.stderr == "plumbline: left out: lustre-OST0003: it is INACTIVE on this client\n"
    document = topology(ended.stdout)
    with pytest.raises(DocumentError, match="nothing between oss1 and oss2 has a rate"):
        call("topology", "check", "-i", inventory(tmp_path / "as-it-is", document))
    for part in document["parts"]:
        if part["kind"] == "server":
            part["rate"] = "12.5 GB/s"
    folder = inventory(tmp_path / "site", document)
    assert "lustre is sound: 7 measurements" in run("topology", "check", "-i", folder).out
