"""The rails: each adapter with its rates, each pair of a rail as a cell."""

from __future__ import annotations

import pytest

from plumbline.model.layers.rdma import LATENCY
from plumbline.parts.report.figure import Figure
from plumbline.parts.report.page import Extras, pages
from plumbline.parts.report.rails import find_rails, rails_figures
from plumbline.parts.report.site import Site
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.parts.locate.scenes import CALLS_PER_S, both
from tests.package.parts.report.sites import draw, read
from tests.package.parts.report.test_page import Tags
from tests.package.parts.report.years import Year, document, records, write
from tests.package.rails import POLICY, rails
from tests.package.sites import parts

SICK = Year(12, {"oss1-ib1": both(10e9)}, since=4)


def planned() -> Plan:
    return compile_plan(build(rails()), load(POLICY), {})


@pytest.fixture(scope="module")
def sick(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Return the site of two rails with an adapter that is slow for four days."""
    plan = planned()
    runs = [*records(plan, SICK)]
    runs += [
        run._replace(operation=LATENCY, rate=CALLS_PER_S, id=f"{run.id} latency")
        for run in runs
        if run.layer == "rdma" and run.operation.value == "write"
    ]
    return read(*write(tmp_path_factory.mktemp("site"), document(plan), runs))


@pytest.fixture(scope="module")
def figure(sick: Site) -> Figure:
    (drawn,) = rails_figures(sick)
    return drawn


def test_the_rails_are_drawn_after_the_hosts_and_name_what_is_slow(
    sick: Site, figure: Figure
) -> None:
    names = [drawn.id for drawn in draw(sick, Extras())]
    assert names[names.index("network") + 1] == "rails"
    assert figure.finding == "12 adapters of 2 rails, 30 pairs measured; not OK: oss1-ib1."
    assert figure.absent == ""


def test_each_rail_has_an_image_of_its_writes_and_one_of_its_reads(figure: Figure) -> None:
    assert [plot.title for plot in figure.plots] == [
        "rate of each adapter",
        "every pair of rail 1, write",
        "every pair of rail 1, read",
        "every pair of rail 2, write",
        "every pair of rail 2, read",
    ]
    first, second = figure.plots[1].data[0], figure.plots[3].data[0]
    assert {name[-3:] for name in first["x"]} == {"ib0"}
    assert {name[-3:] for name in second["y"]} == {"ib1"}
    assert all(cell is None or cell > 80 for row in first["z"] for cell in row)


def test_a_slow_adapter_is_a_stripe(figure: Figure) -> None:
    image = figure.plots[3].data[0]
    slow = {
        (row, column)
        for row, cells in zip(image["y"], image["z"])
        for column, cell in zip(image["x"], cells)
        if cell is not None and cell < 50
    }
    others = set(image["y"]) - {"oss1-ib1"}
    assert slow == {pair for name in others for pair in (("oss1-ib1", name), (name, "oss1-ib1"))}


def test_a_row_has_rates_time_and_the_anchor_of_its_service(figure: Figure) -> None:
    rows = {row.anchor: row.cells for row in figure.table.rows}
    assert set(rows) == {
        service.anchor for service in planned().services if service.layer == "rdma"
    }
    state, rail, name, host, *rates, time, partners, sentence = rows["rdma-oss1-ib1"]
    assert (state, rail, name, host, partners) == ("CRITICAL", "rail 2", "oss1-ib1", "oss1", "5")
    assert all(rate.endswith("B/s") for rate in rates)
    assert time == "2.0 us"
    assert "with each" in sentence or "of 5 partners" in sentence


def test_the_numbers_have_each_pair_with_unit_and_ceiling(figure: Figure) -> None:
    header, *rows = figure.numbers
    assert header[:5] == ("rail", "component", "partner", "operation", "figure")
    assert len(rows) == 2 * 6 * 5 * 3
    times = [row for row in rows if row[3] == "latency"]
    assert {row[4:7] for row in times} == {(1 / CALLS_PER_S, "s", None)}


def test_every_service_of_an_adapter_leads_to_a_row(sick: Site) -> None:
    tags = Tags(pages(sick, draw(sick, Extras()))["index.html"])
    assert "rdma-c2-ib0" in tags.ids


def test_adapters_that_were_not_measured_are_listed(sick: Site) -> None:
    (figure,) = rails_figures(sick._replace(rails=()))
    assert figure.absent == "no pair of adapters was measured in this time"
    assert len(figure.table.rows) == 12


def test_a_site_without_adapters_has_no_such_figure(site: Site) -> None:
    assert rails_figures(site) == []


def test_rails_of_two_networks_have_the_part_where_they_meet() -> None:
    two = parts(
        {"name": "leaf[1-2]", "kind": "switch"},
        *(
            entry
            for leaf, first, last in (("leaf1", 1, 2), ("leaf2", 3, 4))
            for entry in (
                {
                    "name": f"c[{first}-{last}]-ib",
                    "kind": "nic",
                    "infiniband": "4X NDR",
                    "rdma": "mlx5_0",
                    "feeds": leaf,
                },
                {
                    "name": f"c[{first}-{last}]",
                    "kind": "client",
                    "address": f"10.0.0.[{first}-{last}]",
                    "feeds": f"c[{first}-{last}]-ib",
                },
            )
        ),
    )
    plan = compile_plan(build(two), load(POLICY), {})
    entries = [
        entry for own in plan.expectations.values() for entry in own if entry.layer == "rdma"
    ]
    names = {
        rail: [own.component for own in members] for rail, members in find_rails(entries).items()
    }
    assert names == {
        "rail 1 at leaf1": ["c1-ib", "c2-ib"],
        "rail 1 at leaf2": ["c3-ib", "c4-ib"],
    }
