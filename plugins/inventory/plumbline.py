# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups and variables of a site, from the plan compiled by ``plumbline plan``."""

from __future__ import annotations

DOCUMENTATION = r"""
name: plumbline
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Groups and variables of hosts from the plan of plumbline
description:
  - Puts the hosts of an inventory with C(plumbline_topology) into groups by what they measure, and
    gives them variables.
  - The plan is compiled by the command C(plumbline plan) on the control host and kept until
    topology, policy, baselines or the package change.
  - Hosts come from the other files of the inventory. A host of the topology that no other file
    names is in no group.
  - Files of an inventory are read in the order of their names. This one must come after the file
    with the hosts, as C(plumbline.yml) comes after C(hosts.yml).
notes:
  - "Groups: C(plumbline_nodes), the hosts that measure; in it C(plumbline_ost), C(plumbline_raw),
    C(plumbline_net), C(plumbline_fs), C(plumbline_mdt), C(plumbline_oss),
    C(plumbline_shared) and C(plumbline_rdma), those that measure it;
    C(plumbline_fs_clients), the clients that drive all targets at once; C(plumbline_asked), the
    hosts that Nagios asks; C(plumbline_symptoms), those with services for their symptoms;
    C(plumbline_space), those that read the space of a file system.
    C(group_vars) for them work as for any group."
  - "Variables of a host: C(plumbline_kind), C(plumbline_address), C(plumbline_layers), the layers
    that it measures, and C(plumbline_components), its components by layer. Of all hosts:
    C(plumbline_site)."
options:
  plugin:
    description: Marks the file as one for this plug-in.
    type: str
    required: true
    choices: [hpcops.plumbline.plumbline]
  inventory:
    description:
      - Folder of the inventory, with C(group_vars/all/topology.yml).
      - By default the folder of this file.
    type: path
  server_group:
    description: Group for the servers of the topology; empty for none.
    type: str
    default: storage_servers
  client_group:
    description: Group for the clients of the topology; empty for none.
    type: str
    default: clients
  command:
    description:
      - The command C(plumbline) as the start of an argument list.
      - By default the package of this collection, run by the Python that runs Ansible.
    type: list
    elements: str
  cache_directory:
    description: Folder for the compiled plan; C(--flush-cache) compiles it again.
    type: path
    default: ~/.cache/plumbline
"""

EXAMPLES = r"""
# inventories/mysite/plumbline.yml, beside hosts.yml and group_vars/all/topology.yml
plugin: hpcops.plumbline.plumbline

# Where clients are the compute nodes, another name for those that measure:
#   plugin: hpcops.plumbline.plumbline
#   client_group: probe_clients
#
# What it gives:
#   ansible-inventory -i inventories/mysite --graph plumbline_nodes
#   ansible plumbline_ost -i inventories/mysite -m ansible.builtin.ping
#   ansible-playbook -i inventories/mysite playbooks/site.yml --limit plumbline_raw
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Mapping, NoReturn, Optional, Sequence

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible_collections.hpcops.plumbline.plugins.module_utils.command import Plumbline
from ansible_collections.hpcops.plumbline.plugins.module_utils.groups import (
    LAYER_GROUPS,
    NODES,
    groups_of,
    hosts_of,
    variables_of,
)
from ansible_collections.hpcops.plumbline.plugins.module_utils.plan import (
    PlanSource,
    plan_of,
    program_of,
)

try:
    from ansible.template import trust_as_template
except ImportError:
    # before ansible-core 2.19 all text from inventories was trusted
    trust_as_template = str

COLLECTION = Path(__file__).resolve().parents[2]
THIS_PACKAGE = (sys.executable, "-m", "plumbline.cli")


class Process:
    """Replacement for a module: run a command, fail with a sentence."""

    def run_command(
        self, argv: Sequence[str], environ_update: Mapping[str, str], **_options: Any
    ) -> tuple[int, str, str]:
        """Return exit code, output and errors of a command; raise OSError if it cannot be run."""
        environment = {**os.environ, **environ_update}
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def fail_json(self, msg: str, **_result: Any) -> NoReturn:
        """Raise the error that Ansible shows for an unreadable inventory."""
        raise AnsibleParserError(msg)


class InventoryModule(BaseInventoryPlugin):  # type: ignore[misc]
    """Inventory plug-in for files with ``plugin: hpcops.plumbline.plumbline``."""

    NAME = "hpcops.plumbline.plumbline"

    def verify_file(self, path: str) -> bool:
        """Return True if the file may be for this plug-in, by its name."""
        return bool(super().verify_file(path)) and path.endswith((".yml", ".yaml"))

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Add groups and variables to the hosts of files read earlier."""
        super().parse(inventory, loader, path, cache)
        self._refuse_unknown(path, self._read_config_data(path))
        folder = Path(self.get_option("inventory") or Path(path).parent).resolve()
        cache_folder = Path(self.get_option("cache_directory")) if cache else None
        plan = self._plan(folder, cache_folder)
        if not any(host["name"] in inventory.hosts for host in plan["hosts"]):
            raise AnsibleParserError(
                f"{path} is read before any host of {plan['site']}; give the file a name that comes"
                " after that of the file with the hosts, or add the hosts there"
            )
        self._add_groups(plan)
        self._add_variables(plan)

    def _refuse_unknown(self, path: str, options: Mapping[str, Any]) -> None:
        """Refuse a key that Ansible would ignore, such as a misspelt option."""
        names = sorted(self.get_options())
        for key in options:
            if key not in names:
                raise AnsibleParserError(
                    f"{path}: there is no option {key}; known are {', '.join(names)}"
                )

    def _plan(self, folder: Path, cache: Optional[Path]) -> dict[str, Any]:
        """Return the plan of an inventory, compiled or from the cache."""
        command = self.get_option("command")
        source = None if command else str(COLLECTION)
        plumbline = Plumbline(Process(), command or THIS_PACKAGE, source)
        try:
            plan_source = PlanSource(folder, program_of(plumbline, source))
            plan = plan_of(plumbline, plan_source, cache)
        except OSError as error:
            raise AnsibleParserError(f"{error.filename}: {error.strerror}") from error
        if plan.unkept:
            self.display.warning(plan.unkept)
        document: dict[str, Any] = plan.document
        return document

    def _add_groups(self, plan: Mapping[str, Any]) -> None:
        groups = groups_of(plan)
        for kind in ("server", "client"):
            name = self.get_option(f"{kind}_group")
            if name:
                groups[name] = hosts_of(plan, kind)
        # a host in the group of a layer is in the group of nodes through it
        layers = {name: hosts for name, hosts in groups.items() if name in LAYER_GROUPS}
        measuring = {host for hosts in layers.values() for host in hosts}
        groups[NODES] = [node for node in groups[NODES] if node not in measuring]
        for name, hosts in groups.items():
            group = self.inventory.add_group(name)
            for host in hosts:
                if host in self.inventory.hosts:
                    self.inventory.add_host(host, group=group)
        for name in layers:
            self.inventory.add_child(NODES, name)

    def _add_variables(self, plan: Mapping[str, Any]) -> None:
        self.inventory.set_variable("all", "plumbline_site", _trusted(plan["site"]))
        for host, variables in variables_of(plan).items():
            if host in self.inventory.hosts:
                for name, value in variables.items():
                    self.inventory.set_variable(host, name, _trusted(value))


def _trusted(value: Any) -> Any:
    """Return a value that Ansible trusts, like those of the documents behind the plan.

    ansible-inventory marks all other text as unsafe.
    """
    if isinstance(value, dict):
        return {key: _trusted(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_trusted(part) for part in value]
    return trust_as_template(value) if isinstance(value, str) else value
