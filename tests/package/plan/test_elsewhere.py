"""A node knows the targets of its file systems that it does not measure, and who does."""

from __future__ import annotations

from typing import Any

from plumbline.plan.expectations import elsewhere
from plumbline.topology.graph import build
from tests.package.sites import site


def of(**changes: Any) -> dict[str, dict[str, str]]:
    document = site()
    document["parts"].append({"name": "client2", "kind": "client", "feeds": "switch1"})
    document["file_systems"][0].update(changes)
    return elsewhere(build(document))


def test_one_client_that_measures_all_of_them_has_nothing_elsewhere() -> None:
    assert of() == {"client1": {}}


def test_retired_targets_and_those_of_other_clients_are_named() -> None:
    assert of(client="client[1-2]", retired="scratch-OST3") == {
        "client1": {"scratch-OST2": "client2", "scratch-OST3": ""},
        "client2": {"scratch-OST0": "client1", "scratch-OST1": "client1", "scratch-OST3": ""},
    }


def test_two_entries_of_one_lustre_are_one_file_system() -> None:
    document = site()
    document["parts"].append({"name": "client2", "kind": "client", "feeds": "switch1"})
    document["file_systems"] = [
        {
            "name": f"half{number}",
            "kind": "lustre",
            "mount": "/lustre",
            "client": f"client{number + 1}",
            "targets": [{"name": f"a-OST000{number}", "part": "oss1-disk1"}],
        }
        for number in (0, 1)
    ]
    assert elsewhere(build(document)) == {
        "client1": {"a-OST0001": "client2"},
        "client2": {"a-OST0000": "client1"},
    }
