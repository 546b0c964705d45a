"""Layers: their registry, properties, and refusal of unknown names."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.model import layers
from plumbline.model.codec import refuse_impossible
from plumbline.model.errors import DocumentError
from plumbline.model.layers import BY_DEPTH, LAYERS, layer_of
from plumbline.model.layers.layer import Layer

EACH = pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)


def test_each_layer_has_a_module_of_its_name_and_is_registered() -> None:
    files = {path.stem for path in Path(layers.__file__).parent.glob("*.py")}
    assert files == {"__init__", "layer", *LAYERS}
    assert [layer.name for layer in LAYERS.values()] == list(LAYERS)


def test_an_unknown_layer_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        DocumentError,
        match="no layer 'metadata'; known are ost, raw, net, fs, mdt, oss, shared, rdma",
    ):
        layer_of("metadata")


@EACH
def test_the_default_terms_are_valid(layer: Layer) -> None:
    refuse_impossible(layer.spec)


@EACH
def test_a_layer_is_measured_in_groups_in_pairs_or_as_a_whole(layer: Layer) -> None:
    assert [layer.grouped, layer.paired, layer.whole, layer.joint].count(True) == 1
    kinds = [layer.on_targets, layer.on_devices, layer.paired, layer.joint]
    assert kinds.count(True) == 1


def test_reports_name_the_layers_from_the_disk_up() -> None:
    names = [layer.name for layer in BY_DEPTH]
    assert [name for name in names if name in PURPOSES] == [
        "raw",
        "shared",
        "oss",
        "rdma",
        "net",
        "ost",
        "fs",
        "mdt",
    ]
    assert len({layer.depth for layer in BY_DEPTH}) == len(LAYERS)


@pytest.mark.parametrize("name", ["server", "sweep", "node", "symptoms", ""])
def test_a_layer_that_is_not_judged_has_no_properties_and_is_not_registered(name: str) -> None:
    properties = [key for key in dir(Layer) if isinstance(getattr(LAYERS[name], key), bool)]
    assert {"paired", "by_ranks", "has_peers", "of_storage"} <= {*properties}
    assert not any(getattr(LAYERS[name], key) for key in properties)
    assert LAYERS[name].peer_group("oss1") == "oss1"
    assert name not in LAYERS


# A layer that is not named here measures targets of data one by one.
PURPOSES = {
    "ost": {
        *("one_target", "per_target", "of_storage", "confirmable"),
        *("has_peers", "has_provisional"),
    },
    "raw": {"of_storage", "confirmable", "has_peers", "has_provisional", "local"},
    "net": {"site_wide", "has_peers", "more_than_rates", "of_hosts"},
    "rdma": {"site_wide", "has_peers"},
    "fs": {"of_storage", "by_ranks", "more_than_rates"},
    "mdt": {"one_target", "of_storage", "has_peers", "has_provisional"},
    "oss": {
        *("one_target", "of_storage", "confirmable"),
        *("has_peers", "has_provisional", "local"),
    },
    "shared": {"site_wide", "has_peers", "has_provisional"},
}


@EACH
def test_the_properties_of_a_layer_follow_from_how_it_measures(layer: Layer) -> None:
    properties = {key for key in dir(Layer) if isinstance(getattr(Layer, key), property)}
    true_properties = {key for key in properties if getattr(layer, key) is True}
    assert true_properties == PURPOSES.get(layer.name, PURPOSES["ost"])
    assert layer.peer_group("oss1") == ("" if layer.paired else "oss1")
