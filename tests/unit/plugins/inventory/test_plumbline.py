"""Groups and variables of an inventory with the plug-in, read by Ansible itself."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.manager import VariableManager

COLLECTION = Path(__file__).resolve().parents[4]
PLUGIN = "plugin: hpcops.plumbline.plumbline\n"


class Site:
    """A copy of the lab's inventory with a plan cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "mysite"
        self.cache = folder / "cache"
        shutil.copytree(COLLECTION / "inventories" / "lab", self.folder)
        self.configure()

    def configure(self, more: str = "") -> None:
        text = f"---\n{PLUGIN}cache_directory: {self.cache}\n{more}"
        (self.folder / "plumbline.yml").write_text(text)

    def read(self) -> InventoryManager:
        return InventoryManager(loader=DataLoader(), sources=[str(self.folder)])


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def names(inventory: Any, pattern: str) -> list[str]:
    """Return the hosts that a pattern, such as one after --limit, selects."""
    return sorted(host.name for host in inventory.get_hosts(pattern))


def test_hosts_are_in_the_groups_of_what_they_measure(site: Site) -> None:
    inventory = site.read()
    assert names(inventory, "plumbline_ost") == ["client1"]
    assert names(inventory, "plumbline_raw") == ["oss1", "oss2", "oss3"]
    assert names(inventory, "plumbline_net") == ["client1", "oss1", "oss2", "oss3"]
    assert names(inventory, "plumbline_nodes") == ["client1", "oss1", "oss2", "oss3"]
    assert names(inventory, "plumbline_fs_clients") == ["client1", "oss1"]
    assert names(inventory, "plumbline_asked") == ["client1", "oss1", "oss2", "oss3"]
    assert names(inventory, "plumbline_symptoms") == []
    assert names(inventory, "plumbline_nodes:!plumbline_raw") == ["client1"]


def test_servers_and_clients_of_the_topology_have_a_group(site: Site) -> None:
    (site.folder / "hosts.yml").write_text("all: {hosts: {oss1: , oss2: , oss3: , client1: }}")
    inventory = site.read()
    assert names(inventory, "storage_servers") == ["oss1", "oss2", "oss3"]
    assert names(inventory, "clients") == ["client1"]


def test_a_site_can_rename_these_groups(site: Site) -> None:
    (site.folder / "hosts.yml").write_text("all: {hosts: {oss1: , oss2: , oss3: , client1: }}")
    site.configure('server_group: oss\nclient_group: ""\n')
    inventory = site.read()
    assert names(inventory, "oss") == ["oss1", "oss2", "oss3"]
    assert not {"storage_servers", "clients", ""} & set(inventory.groups)


def test_a_host_only_in_the_topology_is_not_added(site: Site) -> None:
    (site.folder / "hosts.yml").write_text("all: {hosts: {oss1: , client1: }}")
    inventory = site.read()
    assert names(inventory, "all") == ["client1", "oss1"]
    assert names(inventory, "plumbline_raw") == ["oss1"]


def test_variables_of_the_plan_and_of_groups_reach_the_hosts(site: Site) -> None:
    (site.folder / "group_vars" / "plumbline_raw.yml").write_text("of_raw: 7")
    inventory = site.read()
    variables = VariableManager(loader=DataLoader(), inventory=inventory)
    oss1 = variables.get_vars(host=inventory.hosts["oss1"])
    assert oss1["plumbline_components"]["raw"] == ["oss1-disk1", "oss1-disk2"]
    assert oss1["plumbline_layers"] == ["raw", "net"]
    assert oss1["plumbline_site"] == "lab"
    assert oss1["of_raw"] == 7
    assert oss1["inventory_dir"] == str(site.folder)
    assert "of_raw" not in variables.get_vars(host=inventory.hosts["client1"])


def test_the_plan_is_kept_until_the_site_changes(site: Site) -> None:
    site.read()
    (kept,) = site.cache.iterdir()
    first = kept.stat().st_mtime_ns, kept.stat().st_ino
    site.read()
    assert (kept.stat().st_mtime_ns, kept.stat().st_ino) == first
    policy = site.folder / "group_vars" / "all" / "policy.yml"
    policy.write_text(policy.read_text().replace("[client1, oss1]", "[client1, oss2]"))
    assert names(site.read(), "plumbline_fs_clients") == ["client1", "oss2"]


def test_a_misspelt_option_is_refused_with_the_known_ones(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    site.configure("server_grp: oss\n")
    assert "plumbline_raw" not in site.read().groups
    errors = " ".join(capfd.readouterr().err.split())
    assert (
        "there is no option server_grp; known are cache_directory, client_group, command" in errors
    )


def test_a_refused_topology_gives_its_sentence(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    topology = site.folder / "group_vars" / "all" / "topology.yml"
    topology.write_text(topology.read_text().replace("kind: disk", "kind: dsk"))
    inventory = site.read()
    assert "plumbline_raw" not in inventory.groups
    assert names(inventory, "storage_servers") == ["oss1", "oss2", "oss3"]
    errors = " ".join(capfd.readouterr().err.split())
    assert "plumbline_topology: parts 'oss[1-3]-disk[1-2]' kind: input should be" in errors


def test_a_file_read_before_the_hosts_is_refused(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    (site.folder / "hosts.yml").rename(site.folder / "the-hosts.yml")
    assert "plumbline_raw" not in site.read().groups
    assert "is read before any host of lab" in " ".join(capfd.readouterr().err.split())


def test_another_command_can_compile(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    site.configure("command: [no-such-plumbline]\n")
    site.read()
    errors = " ".join(capfd.readouterr().err.split())
    assert "no-such-plumbline cannot be run: No such file or directory" in errors
