"""The network: each host's rates, what was retransmitted, and every pair."""

from __future__ import annotations

from plumbline.model.verdict import State
from plumbline.report.network import find_nodes, network_figure
from plumbline.report.site import Site


def test_a_host_has_the_median_over_its_partners(site: Site) -> None:
    nodes = find_nodes(site)
    assert [one.name for one in nodes] == ["oss1", "oss2", "oss3", "client1"]
    assert [one.partners for one in nodes] == [3] * 4
    # a pair is tested from both ends and in both directions
    assert [one.retransmits for one in nodes] == [100_000, 100_000, 300_000, 100_000]
    assert nodes[2].state is State.WARNING
    assert all(one.send_Bps and one.receive_Bps for one in nodes)


def test_the_image_has_a_cell_for_each_pair_and_none_with_itself(site: Site) -> None:
    figure = network_figure(site)
    assert [plot.title for plot in figure.plots] == [
        "rate of each host",
        "segments retransmitted by each host",
        "every pair, send",
        "every pair, receive",
    ]
    cells = figure.plots[2].data[0]["z"]
    assert [[cell is None for cell in row] for row in cells] == [
        [row == column for column in range(4)] for row in range(4)
    ]
    assert all(85 < cell < 95 for row in cells for cell in row if cell is not None)


def test_each_host_has_a_place(site: Site) -> None:
    rows = network_figure(site).table.rows
    assert [row.anchor for row in rows] == ["net-oss1", "net-oss2", "net-oss3", "net-client1"]


def test_what_no_tool_counted_is_not_recorded(site: Site) -> None:
    uncounted = [one._replace(retransmits=None) for one in site.pairs]
    figure = network_figure(site._replace(pairs=uncounted))
    assert "segments retransmitted by each host" not in [plot.title for plot in figure.plots]
    assert figure.table.rows[0].cells[5] == "not recorded"


def test_a_partner_that_the_plan_does_not_know_has_no_percent(site: Site) -> None:
    gone = site.pairs[0]._replace(partner="gone")
    cells = network_figure(site._replace(pairs=[gone])).plots[2].data[0]
    assert cells["x"][-1] == "gone"
    assert all(cell is None for row in cells["z"] for cell in row)


def test_hosts_that_were_not_tested_are_still_found(site: Site) -> None:
    figure = network_figure(site._replace(pairs=()))
    assert figure.absent == "no pair of hosts was tested in this time"
    assert len(figure.table.rows) == 4
    assert network_figure(site._replace(expectations=())).absent


def test_many_hosts_have_some_names_on_the_axis_and_the_rest_is_counted(site: Site) -> None:
    expected = next(one for one in site.expectations if one.layer == "net")
    many = [expected._replace(component=f"nid{number:05}") for number in range(1024)]
    figure = network_figure(site._replace(expectations=many))
    assert figure.finding.endswith("nid00008, nid00009 and 1014 more.")
    axis = figure.plots[0].layout["xaxis"]
    assert axis["ticktext"][:2] == ["nid00000", "nid00026"]
    assert axis["tickvals"][:2] == [0, 26]
