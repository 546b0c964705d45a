"""A plan gives each target to one client; what gives it to two is refused with both names."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.plan.assignments import assignments
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.sites import site


def two_clients(**file_system: Any) -> dict[str, Any]:
    """Return the site with client2, and with a second file system entry if one is described."""
    document = site()
    document["parts"].append({"name": "client2", "kind": "client", "feeds": "switch1"})
    if file_system:
        document["file_systems"].append({"client": "client2", **file_system})
    return document


def refused(document: dict[str, Any], **fs: Any) -> str:
    with pytest.raises(DocumentError) as error:
        assignments(build(document), load({"layers": {"fs": fs}} if fs else {}))
    return str(error.value)


def test_more_clients_than_targets_are_refused() -> None:
    document = two_clients()
    document["file_systems"][0]["client"] = "client[1-2]"
    target = document["file_systems"][0]["targets"][0]
    target.update(name="scratch-OST0", part="oss1-disk1", subvolume="scratch-client-0")
    text = refused(document)
    assert "target scratch-OST0 would be measured by client1 and client2" in text
    assert text.endswith("name one client, or at most as many as there are targets")


def test_clients_may_share_the_targets() -> None:
    document = two_clients()
    document["file_systems"][0]["client"] = "client[1-2]"
    found = assignments(build(document), load({}))
    assert [one.node for one in found if one.layer == "ost"] == ["client1"] * 2 + ["client2"] * 2


def test_one_brick_under_two_names_is_one_target() -> None:
    again = {"name": "again-OST0", "part": "oss1-disk1", "subvolume": "scratch-client-0"}
    document = two_clients(name="again", kind="glusterfs", mount="/mnt/again", targets=[again])
    text = refused(document)
    assert "scratch-OST0 and again-OST0 are one target, which would be measured by client1" in text
    assert "and by client2 (layer ost)" in text
    document["file_systems"][1]["client"] = "client1"
    assert assignments(build(document), load({}))


@pytest.mark.parametrize(("source", "shared"), [("nas:/export", True), ("/dev/sdb1", False)])
def test_a_directory_is_one_target_where_its_source_names_a_server(
    source: str, shared: bool
) -> None:
    document = two_clients()
    document["file_systems"] = [
        {
            "name": f"nfs{number}",
            "kind": "directory",
            "client": f"client{number}",
            "targets": [
                {
                    "name": f"mount{number}",
                    "part": "oss1-disk1",
                    "directory": f"/mnt/{number}",
                    "source": source,
                }
            ],
        }
        for number in (1, 2)
    ]
    if shared:
        assert "mount1 and mount2 are one target" in refused(document)
    else:
        assert assignments(build(document), load({}))


def test_all_targets_at_once_are_driven_from_the_client_that_measures_each() -> None:
    text = refused(two_clients(), clients=["client2"])
    assert text == (
        "plumbline_policy: scratch-OST0 would be measured by client1 (layer ost) and by client2 "
        "(layer fs): two clients halve each other's rates; name client1 first in "
        "layers.fs.clients, or client2 as client of the file system scratch"
    )
    several = {"clients": ["client1", "client2"], "work": "/mnt/scratch"}
    assert assignments(build(two_clients()), load({"layers": {"fs": several}}))
