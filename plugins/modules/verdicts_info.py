#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts of a node, without measuring."""

from __future__ import annotations

DOCUMENTATION = r"""
module: verdicts_info
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Verdicts on what a node has measured
description:
  - Returns the verdict on each component and group that this node measures, with its reason and its
    evidence. Nothing is measured.
extends_documentation_fragment:
  - hpcops.plumbline.on_node
options:
  layers:
    description: Verdicts of these layers; without any, of all.
    type: list
    elements: str
    choices: [ost, raw, fs, net, mdt, oss, shared, rdma]
    default: []
  components:
    description: Verdicts on these components or groups; without any, on all.
    type: list
    elements: str
    default: []
  last_run:
    description:
      - Judge the last run of each component alone, as for a run by hand.
      - Without it the verdicts are those of services, which follow the evidence of several runs.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Nothing is changed, so check mode is the same.
seealso:
  - module: hpcops.plumbline.probe
"""

EXAMPLES = r"""
- name: Read the verdicts on all devices
  hpcops.plumbline.verdicts_info:
    layers: [raw]
  become: true
  register: judged

- name: Refuse to go on with a slow disk
  ansible.builtin.assert:
    that: judged.state == 'OK'
    fail_msg: "{{ judged.verdicts | rejectattr('state', 'eq', 'OK') | map(attribute='sentence') }}"
"""

RETURN = r"""
node:
  description: The node by its name in the plan.
  returned: success
  type: str
  sample: oss2
state:
  description: The worst of the verdicts; V(UNKNOWN) where there is none.
  returned: success
  type: str
  sample: WARNING
verdicts:
  description: Verdicts, as docs/verdicts.md describes them.
  returned: success
  type: list
  elements: dict
  contains:
    state:
      description: V(OK), V(WARNING), V(CRITICAL) or V(UNKNOWN).
      type: str
    layer:
      description: Where it was measured.
      type: str
    component:
      description: The component, or the group.
      type: str
    group:
      description: Whether it is the verdict on a group.
      type: bool
    reason:
      description: The rule that decided.
      type: str
    sentence:
      description: State, figures, reference and remedy as text.
      type: str
    evidence:
      description: What it rests on, as lines.
      type: list
      elements: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.hpcops.plumbline.plugins.module_utils.expectations import (
    Unmeasured,
    read_measures,
)
from ansible_collections.hpcops.plumbline.plugins.module_utils.on_node import (
    OPTIONS,
    as_prober,
    verdicts_of,
    worst,
)
from ansible_collections.hpcops.plumbline.plugins.module_utils.unit import LAYERS


def main() -> None:
    """Return the requested verdicts."""
    module = AnsibleModule(
        argument_spec={
            **OPTIONS,
            "layers": {"type": "list", "elements": "str", "choices": list(LAYERS), "default": []},
            "components": {"type": "list", "elements": "str", "default": []},
            "last_run": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    layers, components = module.params["layers"], module.params["components"]
    try:
        measures = read_measures(module.params["expectations"])
    except (OSError, Unmeasured, ValueError) as error:
        module.fail_json(msg=str(error))
    judges = measures.judges(layers, components)
    judged = verdicts_of(as_prober(module), last_run=module.params["last_run"]) if judges else []
    verdicts = [
        verdict
        for verdict in judged
        if verdict["layer"] in (layers or LAYERS)
        and verdict["component"] in (components or [verdict["component"]])
    ]
    module.exit_json(changed=False, node=measures.node, state=worst(verdicts), verdicts=verdicts)


if __name__ == "__main__":
    main()
