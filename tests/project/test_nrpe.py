"""The role nrpe: the real daemon with the configuration and certificates of the role.

Ansible itself renders the templates from the plan of an inventory.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import pytest

from tests.package.strangers import folder_for_all
from tests.package.waiting import eventually
from tests.processes import may_act_for_others, run_to_end
from tests.project import certificates
from tests.project.playbook import play_output
from tests.project.repository import ROOT, document
from tests.project.test_nagios_objects import plan

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/usr/sbin/nrpe").exists(), reason="NRPE is not installed"),
    pytest.mark.skipif(
        not may_act_for_others(), reason="only root can give keys to the daemon's group"
    ),
]

ASK = "/usr/lib/nagios/plugins/check_nrpe"
AT_ONCE = 200


class Site(NamedTuple):
    """The files of the role for one node, and the port of its daemon."""

    folder: Path
    port: int

    def query(self, host: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Query the daemon with the certificate of ``oss1``, the node, or of ``mon1``."""
        own = self.folder / host
        tls = [f"-A{own}/ca.pem", f"-C{own}/cert.pem", f"-K{own}/key.pem"]
        call = (ASK, "-H", "127.0.0.1", "-p", self.port, "-u", "-t", "600:3")
        return run_to_end(*call, *tls, *words)


def task(path: str, name: str) -> dict[str, Any]:
    """Return a task of the role."""
    tasks: list[dict[str, Any]] = document(ROOT / "roles/nrpe/tasks" / path)
    return next(task for task in tasks if task["name"] == name)


def free_port() -> int:
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


def patient(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan whose checks have ten minutes: hundreds at once are slow on a busy machine."""
    for service in plan["services"]:
        service["arguments"] = [*service["arguments"], "--timeout", "600"]
    return plan


def deploy(folder: Path, port: int) -> None:
    """Write the files of the role for oss1 of the lab."""
    samples = task("configure.yml", "Remove the sample commands")["ansible.builtin.replace"]
    pattern = {key: samples[key] for key in ("regexp", "replace")}
    values = {
        "agent_plan": patient(plan("lab")),
        "sample": pattern,
        "nrpe_address": "127.0.0.1",
        "nrpe_port": port,
        "nrpe_tls_directory": str(folder / "oss1"),
        "agent_library": str(folder / "library"),
        # for a busy machine
        "nrpe_command_timeout_s": 600,
        "__nrpe_certificate": {"stat": {}},
    }
    play_output(folder, "nrpe", values, inventory=ROOT / "inventories/lab")


@contextmanager
def daemon(folder: Path) -> Iterator[None]:
    """Run the real daemon with the package's configuration and the role's additions."""
    package = (folder / "nrpe.cfg").read_text()
    own = re.sub(r"^(pid_file|include|include_dir)=.*$", "", package, flags=re.M)
    main = folder / "main.cfg"
    main.write_text(f"{own}\npid_file={folder}/nrpe.pid\ninclude={folder}/plumbline.cfg\n")
    user = pwd.getpwnam("nagios")
    for path in (folder, main, folder / "plumbline.cfg"):
        os.chown(path, user.pw_uid, user.pw_gid)
    with subprocess.Popen(["/usr/sbin/nrpe", "-c", str(main), "-f"]) as process:
        try:
            yield
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with folder_for_all() as folder:
        shutil.copy("/etc/nagios/nrpe.cfg", folder / "nrpe.cfg")
        shutil.copytree(ROOT / "src/plumbline", folder / "library/plumbline")
        shutil.copytree(ROOT / "checks", folder / "library/checks")
        site = Site(folder, free_port())
        deploy(folder, site.port)
        signed = certificates.play(folder, given={"nrpe_certificate_group": "nagios"})
        assert signed.returncode == 0, signed.stdout + signed.stderr
        with daemon(folder):
            eventually(lambda: site.query("mon1").returncode == 0)
            yield site


def test_nrpe_serves_only_the_commands_of_the_plan(site: Site) -> None:
    served = re.findall(r"^command\[(\w+)\]", (site.folder / "nrpe.cfg").read_text(), re.M)
    assert served == []
    answer = site.query("mon1", "-c", "check_users")
    assert "Command 'check_users' not defined" in answer.stdout


def test_the_certificate_of_a_node_is_valid_for_serving_only(site: Site) -> None:
    assert json.loads((site.folder / "node.json").read_text()) == ["serverAuth"]
    assert json.loads((site.folder / "console.json").read_text()) == ["clientAuth"]
    assert "NRPE v" in site.query("mon1").stdout
    refused = site.query("oss1")
    assert refused.returncode == 3
    assert "NRPE v" not in refused.stdout


def test_no_check_of_many_at_once_is_lost(site: Site) -> None:
    """A starting Nagios checks all services of a node within a second."""
    text = (site.folder / "plumbline.cfg").read_text()
    commands = re.findall(r"^command\[(\w+)\]", text, re.M)
    names = [commands[number % len(commands)] for number in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = list(threads.map(lambda name: site.query("mon1", "-c", name), names))
    # each check ran and reports that this machine has no expectations
    outputs = [answer.stdout for answer in answers]
    unexpected = {output for output in outputs if "expectations" not in output}
    assert unexpected == set()
