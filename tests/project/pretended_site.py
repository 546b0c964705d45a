"""A site of fake nodes on this machine, for playbooks that measure; see pretended_node.sh."""

from __future__ import annotations

import atexit
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, Iterable, Mapping, NamedTuple

import pytest
import yaml

from plumbline.model.record import Record
from tests.forks import Forks
from tests.package.cli.driver import CLIENT
from tests.package.parts.locate.scenes import lab_document
from tests.package.parts.locate.test_verb_locate import plan
from tests.package.recorded import data
from tests.processes import can_mount, is_powerless_root
from tests.project import pretended_node
from tests.project.playbook import run_playbook
from tests.project.repository import ROOT

NODES = ("client1", "oss1", "oss2", "oss3")
SHELL = Path(__file__).with_name("pretended_node.sh")
COMMANDS = ("enter", "ssh", "runuser", "setpriv", "systemctl", "journalctl", "plumbline")
# its mounts are those of a fork
PYTHON = "#!/bin/sh\nCALLER=$$ exec '{python}' -IS '{client}' '{path}' \"$@\"\n"


@cache
def _python() -> str:
    """Return the Python of all nodes: each call is a fork of one process."""
    modules = (str(ROOT / "src"), str(ROOT), *pretended_node.IMPORTED)
    forks = Forks(sys.executable, "-P", command=pretended_node.__name__, modules=modules)
    atexit.register(forks.close)
    program = Path(forks.path).with_name("python")
    program.write_text(PYTHON.format(python=sys.executable, client=CLIENT, path=forks.path))
    program.chmod(0o755)
    return str(program)


class PlaybookRun(NamedTuple):
    """Exit code and output of a playbook."""

    code: int
    output: str

    def shows(self, *texts: str) -> None:
        """Assert that all texts were printed, in this order."""
        at = 0
        for text in texts:
            place = self.output.find(text, at)
            assert place >= 0, f"{text!r} is missing after place {at} of:\n{self.output}"
            at = place + len(text)


class FakeSite:
    """The lab of tests/package/parts/locate/scenes.py as fake hosts for playbooks."""

    def __init__(self, folder: Path, records: Iterable[Record]) -> None:
        if is_powerless_root():
            pytest.skip("hosts of a playbook need namespaces, which this root may not make")
        self.folder = folder
        document = plan()
        (folder / "plan.json").write_text(json.dumps(document), encoding="utf-8")
        all_records = list(records)
        # a user namespace has the group of root alone
        group = 64999 if can_mount() else 0
        for name in NODES:
            node_folder = folder / name
            (node_folder / "etc/plumbline").mkdir(parents=True)
            groups = Path("/etc/group").read_text(encoding="utf-8")
            (node_folder / "etc/group").write_text(f"{groups}plumbline-checks:x:{group}:\n")
            expectations = json.dumps(document["nodes"][name])
            (node_folder / "etc/plumbline/expectations.json").write_text(
                expectations, encoding="utf-8"
            )
            own = [r._replace(host=name) for r in all_records if _node(document, r) == name]
            lines = "".join(json.dumps(record.to_json()) + "\n" for record in own)
            (node_folder / "measures.jsonl").write_text(lines, encoding="utf-8")
        self._write_commands()

    def _write_commands(self) -> None:
        folder = self.folder
        (folder / "bin").mkdir()
        # a connection does not pass the environment on
        variables = {
            "PRETENDED": str(folder),
            "PYTHON": _python(),
            "ALONE": f"unshare --mount {'' if can_mount() else '--map-root-user'}",
        }
        given = "\n".join(f"export {name}='{value}'" for name, value in variables.items())
        for name in COMMANDS:
            path = folder / "bin" / name
            path.write_text(f"#!/bin/sh\n{given}\n. '{SHELL}'\n", encoding="utf-8")
            path.chmod(0o755)
        (folder / "inventory").mkdir()
        hosts = data("plays/pretended-hosts.yml").format(folder=folder, python=_python())
        (folder / "inventory" / "hosts.yml").write_text(hosts, encoding="utf-8")
        documents = folder / "inventory" / "group_vars" / "all"
        documents.mkdir(parents=True)
        topology = yaml.safe_dump({"plumbline_topology": lab_document()})
        (documents / "topology.yml").write_text(topology, encoding="utf-8")

    def play(self, name: str, extra: Mapping[str, Any], *words: str) -> PlaybookRun:
        """Run a playbook of the repository on this site."""
        done = run_playbook(
            *(ROOT / f"playbooks/{name}.yml", "-e", json.dumps(dict(extra)), *words),
            inventory=self.folder / "inventory",
            cwd=ROOT,
            env={
                "ANSIBLE_FORCE_COLOR": "0",
                # even root must use become to enter a node
                "ANSIBLE_BECOME_ALLOW_SAME_USER": "true",
                "ANSIBLE_PYTHON_INTERPRETER": _python(),
                "PRETENDED": str(self.folder),
            },
        )
        return PlaybookRun(done.returncode, re.sub(r" \*{3,}", "", done.stdout) + done.stderr)

    def unreachable(self, name: str) -> None:
        """Make a node unreachable: its ssh port is closed."""
        self.set_host_variables(
            name, ansible_connection="ssh", ansible_host="127.0.0.1", ansible_port=1
        )

    def by_ssh(self, name: str, **variables: Any) -> None:
        """Make a node reachable by ssh, through a program that notes its arguments."""
        program = str(self.folder / "bin/ssh")
        self.set_host_variables(
            name, ansible_connection="ssh", ansible_ssh_executable=program, **variables
        )

    def set_host_variables(self, name: str, **variables: Any) -> None:
        """Write variables of a host into the inventory."""
        path = self.folder / "inventory/host_vars" / f"{name}.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(variables), encoding="utf-8")

    def ssh_calls(self) -> list[str]:
        """Return the arguments of each call of ssh: options, host and command."""
        return (self.folder / "ssh").read_text(encoding="utf-8").splitlines()

    def units(self) -> list[str]:
        """Return the calls of systemctl so far: node, action and unit."""
        path = self.folder / "units"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _node(document: Mapping[str, Any], record: Record) -> str:
    for name, node in document["nodes"].items():
        for entry in node["entries"]:
            if (entry["layer"], entry["component"]) == (record.layer, record.component):
                return str(name)
    raise AssertionError(f"no node measures {record.component}")
