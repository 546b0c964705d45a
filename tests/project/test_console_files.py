"""Files of the roles console and export are valid for ssh and grant nothing else.

Ansible itself renders the templates for the hosts of the lab, none of which exists.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from plumbline.cli import build_parser
from plumbline.store.plan import load_plan
from tests.processes import run_to_end
from tests.project.playbook import play_output
from tests.project.test_nagios_objects import plan

pytestmark = pytest.mark.long

NODE_KEY = "AAAAC3NzaC1lZDI1NTE5AAAAINODE"
CONSOLE_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICONSOLE plumbline-console@mon1"
EXPORTER = {"console_metrics_directory": "/var/lib/prometheus/node-exporter"}
PROMETHEUS = {
    "plumbline_prometheus_url": "https://prometheus.site:9090/a%20b",
    "plumbline_prometheus_token_file": "/etc/plumbline-console/token",
}
KNOWN = (
    "client1 ssh-rsa AAAAB3NzaC1yc2EOLD\noss1 ssh-rsa AAAAB3NzaC1yc2EOLD\nretired ssh-rsa AAAA\n"
)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("console")
    keys = {"node_key": NODE_KEY, "console_key": CONSOLE_KEY, "known_hosts": KNOWN}
    options = {"console_submit": True, **EXPORTER, **PROMETHEUS}
    play_output(folder, "console", {"agent_plan": plan("lab"), **keys, **options})
    return folder


def test_the_key_of_the_console_can_do_one_thing_from_one_place(rendered: Path) -> None:
    assert (rendered / "authorized_keys").read_text() == (
        f'restrict,from="10.77.0.10",command="/usr/bin/plumbline export" {CONSOLE_KEY}\n'
    )


@pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed")
@pytest.mark.parametrize(
    ("node", "address", "port"), [("oss1", "10.77.0.11", "2022"), ("oss2", "10.77.0.12", "22")]
)
def test_ssh_reaches_a_node_like_ansible(
    rendered: Path, node: str, address: str, port: str
) -> None:
    output = run_to_end("ssh", "-G", "-F", rendered / "ssh_config", node).stdout
    settings = dict(line.split(maxsplit=1) for line in output.splitlines() if " " in line)
    assert (settings["hostname"], settings["port"], settings["user"]) == (
        address,
        port,
        "plumbline-export",
    )
    assert settings["hostkeyalias"] == node
    assert (settings["batchmode"], settings["stricthostkeychecking"]) == ("yes", "true")
    assert settings["identityfile"] == "/etc/plumbline-console/id_ed25519"
    assert settings["forwardagent"] == "no"


def test_host_keys_come_from_the_nodes(rendered: Path) -> None:
    assert sorted((rendered / "known_hosts").read_text().splitlines()) == [
        "client1 ssh-rsa AAAAB3NzaC1yc2EOLD",
        f"oss1 ssh-ed25519 {NODE_KEY}",
    ]


def test_the_plan_on_the_console_is_that_of_the_site(rendered: Path) -> None:
    written = load_plan(str(rendered / "plan.json"))
    assert list(written.nodes) == ["oss1", "oss2", "oss3", "client1"]
    assert written.paths


def test_the_unit_collects_submits_publishes_and_exports(rendered: Path) -> None:
    lines = (rendered / "plumbline-console.service").read_text().splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("ExecStart=")]
    names = ["collect", "submit", "publish", "metrics", "latency"]
    assert [words[0] for words in commands] == names
    latency = vars(build_parser().parse_args(commands[-1]))
    # systemd reads %% as one %
    assert latency["prometheus"] == "https://prometheus.site:9090/a%%20b"
    assert str(latency["save"]) == "/var/lib/plumbline-console/history.sqlite"
    assert str(latency["token_file"]) == "/etc/plumbline-console/token"
    metrics = vars(build_parser().parse_args(commands[-2]))
    assert f"ReadWritePaths={Path(metrics['output']).parent}" in lines
    assert metrics["plan"] == "/etc/plumbline-console/plan.json"
    assert metrics["history"] == "/var/lib/plumbline-console/history.sqlite"
    assert "SupplementaryGroups=www-data" in lines
    assert "User=plumbline-console" in lines
    assert "CapabilityBoundingSet=" in lines
    assert "ReadWritePaths=/var/lib/plumbline-console" in lines
