"""The network: rates and retransmits of each host, and every pair."""

from __future__ import annotations

from plumbline.model.verdict import State
from plumbline.parts.report.network import find_nodes, network_figure
from plumbline.parts.report.site import Site


def test_a_host_has_the_median_over_its_partners(site: Site) -> None:
    nodes = find_nodes(site)
    assert [node.name for node in nodes] == ["oss1", "oss2", "oss3", "client1"]
    assert [node.partners for node in nodes] == [3] * 4
    # a pair is tested from both ends and in both directions
    assert [node.retransmits for node in nodes] == [100_000, 100_000, 300_000, 100_000]
    assert nodes[2].state is State.WARNING
    assert all(node.send_Bps and node.receive_Bps for node in nodes)


def test_the_image_has_a_cell_for_each_pair_of_different_hosts(site: Site) -> None:
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


def test_each_host_has_an_anchor(site: Site) -> None:
    rows = network_figure(site).table.rows
    assert [row.anchor for row in rows] == ["net-oss1", "net-oss2", "net-oss3", "net-client1"]


def test_uncounted_retransmits_are_shown_as_not_recorded(site: Site) -> None:
    uncounted = [pair._replace(retransmits=None) for pair in site.pairs]
    figure = network_figure(site._replace(pairs=uncounted))
    assert "segments retransmitted by each host" not in [plot.title for plot in figure.plots]
    assert figure.table.rows[0].cells[5] == "not recorded"
    assert "retransmitted" not in figure.finding


def test_a_chart_without_retransmits_is_a_sentence(site: Site) -> None:
    clean = [pair._replace(retransmits=0) for pair in site.pairs]
    figure = network_figure(site._replace(pairs=clean))
    assert "segments retransmitted by each host" not in [plot.title for plot in figure.plots]
    assert figure.finding.endswith(" No segment was retransmitted.")


def test_an_unplanned_partner_has_no_percentage(site: Site) -> None:
    unplanned = site.pairs[0]._replace(partner="gone")
    cells = network_figure(site._replace(pairs=[unplanned])).plots[-1].data[0]
    assert cells["x"][-1] == "gone"
    assert all(cell is None for row in cells["z"] for cell in row)


def test_untested_hosts_are_listed(site: Site) -> None:
    figure = network_figure(site._replace(pairs=()))
    assert figure.absent == "no pair of hosts was tested in this time"
    assert len(figure.table.rows) == 4
    assert network_figure(site._replace(expectations=())).absent


def test_with_many_hosts_only_some_names_are_on_the_axis(site: Site) -> None:
    expected = next(entry for entry in site.expectations if entry.layer == "net")
    many = [expected._replace(component=f"nid{number:05}") for number in range(1024)]
    figure = network_figure(site._replace(expectations=many))
    assert figure.finding.endswith("nid00008, nid00009 and 1014 more.")
    axis = figure.plots[0].layout["xaxis"]
    assert axis["ticktext"][:2] == ["nid00000", "nid00026"]
    assert axis["tickvals"][:2] == [0, 26]
