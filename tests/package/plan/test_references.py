"""References: the ceiling of each operation in its direction, and its baseline."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Baseline, Ceiling
from plumbline.plan.assignments import assignments
from plumbline.plan.baseline import Baselines, Key
from plumbline.plan.policy import load
from plumbline.plan.references import PairLimits, expectation, find_ceilings
from plumbline.topology.graph import build
from tests.package.sites import part, site


def expectations(
    document: dict[str, Any], accepted: Optional[Baselines] = None
) -> dict[str, Expectation]:
    topology = build(document)
    assigned = assignments(topology, load({}))
    ceilings = find_ceilings(topology, assigned)
    pair_limits = PairLimits(topology, assigned)
    return {
        f"{item.layer} {item.component}": expectation(
            item, ceilings, accepted or {}, {}, pair_limits
        )
        for item in assigned
    }


def ceilings(entry: Expectation) -> dict[str, Optional[Ceiling]]:
    return {step: bare(reference.ceiling) for step, reference in entry.references.items()}


def bare(ceiling: Optional[Ceiling]) -> Optional[Ceiling]:
    return ceiling and ceiling._replace(kinds=())


def test_devices_of_different_servers_do_not_run_together() -> None:
    document = site()
    document["parts"].append({"name": "jbod", "kind": "enclosure", "rate": "150 MB/s"})
    document["parts"][-1]["feeds"] = ["oss1", "oss2"]
    disks = part(document, "oss[1-2]-disk[1-2]")
    disks.update(feeds="jbod", through="oss[1-2]")
    assert ceilings(expectations(document)["raw oss1-disk1"])["read/together"] == Ceiling(
        75e6, ("jbod",)
    )


def test_servers_send_at_their_read_rate_and_clients_at_their_write_rate() -> None:
    document = site()
    nic = part(document, "oss[1-2]-nic")
    nic.pop("link"), nic.pop("encoding")
    nic.update(read="90 MB/s", write="70 MB/s")
    client = part(document, "client1")
    client.pop("rate")
    client.update(address="10.0.0.9", read="50 MB/s", write="40 MB/s")
    by_name = expectations(document)
    assert ceilings(by_name["net oss1"]) == {
        "send/single": Ceiling(90e6, ("oss1-nic",)),
        "receive/single": Ceiling(70e6, ("oss1-nic",)),
    }
    assert ceilings(by_name["net client1"]) == {
        "send/single": Ceiling(40e6, ("client1",)),
        "receive/single": Ceiling(50e6, ("client1",)),
    }


def test_a_path_without_rates_has_no_ceiling() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]").pop("rate")
    assert ceilings(expectations(document)["raw oss1-disk1"]) == {
        "read/single": None,
        "read/together": None,
    }


def test_a_network_without_rates_is_refused() -> None:
    document = site()
    nic = part(document, "oss[1-2]-nic")
    nic.pop("link"), nic.pop("encoding")
    with pytest.raises(DocumentError, match="nothing between oss1 and oss2 has a rate; give"):
        expectations(document)


def test_a_baseline_is_given_to_its_operation_at_any_terms() -> None:
    """The judge compares the conditions and names the changes."""
    terms = expectations(site())["ost scratch-OST0"].spec.hash()
    baseline = Baseline(75e6, 0.01, 12, "2026-11-01", "2026-11-20", terms, {}, "ada", "new")
    key = Key("ost", "scratch-OST0", "read", "single")
    references = expectations(site(), {key: baseline})["ost scratch-OST0"].references
    assert references["read/single"].baseline == baseline
    assert references["write/single"].baseline is None
    changed = baseline._replace(spec_hash="other")
    references = expectations(site(), {key: changed})["ost scratch-OST0"].references
    assert references["read/single"].baseline == changed
