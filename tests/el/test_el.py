"""The roles on Enterprise Linux 8, 9 and 10, as far as containers can imitate it.

tests/el/prepare.yml turns the lab's hosts into them: dnf, rpm and /etc/os-release are real, the
packages are stubs, and all other programs are Debian's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

import pytest
import yaml

from tests.lab.conftest import changes, traces
from tests.lab.lab import ROOT, Lab, LabError

INVENTORY, PORT = "tests/el/inventory", 8479
PYTHONS = {"el8": "python3.12", "el9": "python3", "el10": "python3"}
STUBS = yaml.safe_load((ROOT / "tests/el/packages.yml").read_text(encoding="utf-8"))["el_packages"]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Bring up the hosts and deploy on all of them."""
    lab = Lab(INVENTORY, PORT)
    try:
        lab.playbook("lab_up")
        lab.playbook("../tests/el/prepare")
        assert changes(lab.recap("site", "--check")).keys() == PYTHONS.keys()
        lab.playbook("site")
        yield lab
    finally:
        lab.playbook("lab_down")


def names(values: Any) -> Iterator[str]:
    """Yield the names in a string, a list or a mapping of lists."""
    if isinstance(values, str):
        yield values
    else:
        for value in values.values() if isinstance(values, dict) else values:
            yield from names(value)


def packages(path: Path) -> set[str]:
    """Return the packages in a file of variables."""
    variables = yaml.safe_load(path.read_text(encoding="utf-8"))
    lists = ("_packages", "_packages_of", "_ssh_client")
    return {name for key in variables if key.endswith(lists) for name in names(variables[key])}


@pytest.mark.parametrize("release", [8, 9, 10])
def test_every_package_of_a_node_is_in_a_repository_of_the_release(release: int) -> None:
    expected = {
        "fs_probe": {8: {"python3-mpi4py-openmpi"}},
        "prometheus": {10: {"golang-github-prometheus"}},
        "events": {10: {"sec"}},
    }
    console = {"console", "report", "nagios"}
    missing = {}
    for path in sorted(ROOT.glob("roles/*/vars/RedHat.yml")):
        role = path.parent.parent.name
        own = path.with_name(f"RedHat-{release}.yml")
        absent = packages(own if own.exists() else path)
        absent -= {name for name, repositories in STUBS.items() if release in repositories}
        if absent and not (release == 8 and role in console):
            missing[role] = absent
    assert missing == {
        role: repositories[release]
        for role, repositories in expected.items()
        if release in repositories
    }


def test_a_second_deployment_changes_nothing(lab: Lab) -> None:
    assert changes(lab.recap("site")) == {}


FACTS = """
head -1 /usr/bin/plumbline
stat -c '%U:%G %a' /etc/nrpe.d/plumbline.cfg
grep check_users /etc/nagios/nrpe.cfg | cut -d' ' -f1
id -nG nrpe | tr ' ' '\\n' | sort | paste -sd' '
runuser -u nrpe -- test -r /etc/plumbline-tls/key.pem && echo readable
readlink /etc/systemd/system/netserver.service
systemctl is-active nrpe exporter-plumbline plumbline-counters plumbline-raw.timer
"""


@pytest.mark.parametrize("host", PYTHONS)
def test_files_users_and_services_follow_enterprise_linux(lab: Lab, host: str) -> None:
    assert lab.on_host(host, FACTS).splitlines() == [
        f"#!/usr/bin/{PYTHONS[host]} -I",
        "root:nrpe 640",
        "#plumbline",
        "nagios nrpe plumbline-checks",
        "readable",
        "/dev/null",
        *["active"] * 4,
    ]


@pytest.mark.parametrize("host", PYTHONS)
def test_dnf_installs_each_package_from_its_repository(lab: Lab, host: str) -> None:
    installed = lab.on_host(host, "dnf --quiet list --installed | tail -n +2")
    origins = {
        name.rpartition(".")[0]: origin.lstrip("@")
        for name, _, origin in map(str.split, installed.splitlines())
    }
    release = int(host.removeprefix("el"))
    assert {"nrpe", "netperf", "fio" if host == "el9" else "sg3_utils"} <= origins.keys()
    assert origins == {name: STUBS[name][release] for name in origins}


def test_removal_leaves_nothing_but_shared_packages(lab: Lab) -> None:
    lab.playbook("remove", {"agent_remove_packages": "true"})
    for host in PYTHONS:
        assert traces(lab, host) == ""
        packages_left = set(lab.on_host(host, "rpm -qa --qf '%{NAME}\\n'").split())
        assert not packages_left & {"nrpe", "netperf", "fio", "sg3_utils", "node-exporter"}, host


def test_a_node_without_epel_is_refused_before_anything_is_changed(lab: Lab) -> None:
    lab.on_host("el10", "rm /etc/yum.repos.d/epel.repo")
    with pytest.raises(LabError, match=r"nothing was changed:\s+el10 lacks [^;]*nrpe"):
        lab.playbook("site")
    assert traces(lab, "el10") == ""
