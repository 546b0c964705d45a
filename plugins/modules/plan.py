#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compile the plan of an inventory on the control host, for roles and playbooks."""

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Compile the plan of an inventory
description:
  - Runs C(plumbline plan) on an inventory with C(plumbline_topology) and returns which node
    measures what, when, and what is expected of it.
  - A plan that was compiled before is returned as it is, as long as topology, policy, baselines and
    the package are the same.
  - Run it once on the control host, with C(delegate_to) and C(run_once). It changes nothing in the
    inventory.
extends_documentation_fragment:
  - hpcops.plumbline.command
options:
  inventory:
    description:
      - Folder of the inventory, with C(group_vars/all/topology.yml).
      - A file stands for the folder that it lies in.
    type: path
    required: true
  cache_directory:
    description: Folder for the compiled plan; without it the plan is compiled each time.
    type: path
attributes:
  check_mode:
    support: full
    description: Nothing is changed, so check mode is the same.
"""

EXAMPLES = r"""
- name: Compile the plan
  hpcops.plumbline.plan:
    inventory: "{{ inventory_dir }}"
    cache_directory: ~/.cache/plumbline
  delegate_to: localhost
  run_once: true
  register: compiled

- name: Show what each node measures
  ansible.builtin.debug:
    msg: "{{ compiled.plan.nodes[inventory_hostname].entries | map(attribute='component') }}"
  when: inventory_hostname in compiled.groups.plumbline_nodes

- name: Compile with the package of a checkout
  hpcops.plumbline.plan:
    inventory: inventories/lab
    command: [python3, -m, plumbline.cli]
    source: /srv/plumbline
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
plan:
  description: The plan, as docs/architecture.md describes it.
  returned: success
  type: dict
  contains:
    site:
      description: Name of the site.
      type: str
      sample: lab
    nodes:
      description: Expectations of each host that measures, by its name.
      type: dict
    schedule:
      description: When each layer is measured, by layer.
      type: dict
    services:
      description: Services for Nagios.
      type: list
      elements: dict
    hosts:
      description: Hosts of the topology with kind and address.
      type: list
      elements: dict
groups:
  description:
    - Hosts of each group, as the inventory plug-in
      P(hpcops.plumbline.plumbline#inventory) makes them.
  returned: success
  type: dict
  sample:
    plumbline_nodes: [oss1, oss2, client1]
    plumbline_ost: [client1]
    plumbline_raw: [oss1, oss2]
compiled:
  description: Whether the plan was compiled now; V(false) where it was kept from before.
  returned: success
  type: bool
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.hpcops.plumbline.plugins.module_utils.command import ARGUMENTS, Plumbline
from ansible_collections.hpcops.plumbline.plugins.module_utils.groups import groups_of
from ansible_collections.hpcops.plumbline.plugins.module_utils.plan import (
    PlanSource,
    plan_of,
    program_of,
)


def main() -> None:
    """Return the plan, or fail with the sentence of the command."""
    module = AnsibleModule(
        argument_spec={
            **ARGUMENTS,
            "inventory": {"type": "path", "required": True},
            "cache_directory": {"type": "path"},
        },
        supports_check_mode=True,
    )
    source, cache = module.params["source"], module.params["cache_directory"]
    plumbline = Plumbline(module, module.params["command"], source)
    path = Path(module.params["inventory"]).resolve()
    plan_source = PlanSource(path.parent if path.is_file() else path, program_of(plumbline, source))
    try:
        plan = plan_of(plumbline, plan_source, Path(cache) if cache else None)
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}")
    if plan.unkept:
        module.warn(plan.unkept)
    module.exit_json(
        changed=False,
        plan=plan.document,
        groups=groups_of(plan.document),
        compiled=plan.compiled,
    )


if __name__ == "__main__":
    main()
