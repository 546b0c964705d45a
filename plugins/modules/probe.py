#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure now on this node, with the units of the timers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: probe
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Measure now and judge
description:
  - Measures what this node measures in a layer, and returns records and verdicts.
  - It starts the units of the timers, so that a run by hand is the same as the one at night, with
    the same privileges and limits. It needs root for that.
  - A verdict that is not OK is a result, no failure. The module fails where a unit does.
extends_documentation_fragment:
  - hpcops.plumbline.on_node
options:
  layer:
    description: Where to measure.
    type: str
    choices: [ost, raw, fs, net, mdt, oss, shared, rdma]
    required: true
  components:
    description:
      - These targets, devices or file systems, one after the other.
      - Without any, all that the node measures in the layer.
    type: list
    elements: str
    default: []
  slot:
    description:
      - Pair hosts as in this slot of the network's rounds; only in the layers V(net) and V(rdma),
        where each node, or each of its adapters, has one partner in a slot.
      - The partner needs C(plumbline-netserver.service), for V(rdma) C(plumbline-receiver.service);
        the probe waits 20 seconds for it.
      - The default is the slot of the current time.
    type: int
  limit_s:
    description:
      - Seconds after which a unit is stopped; its records so far are kept.
      - Without it the limit of the unit holds.
    type: int
  unmeasured:
    description: What to do on a node that does not measure what is asked for.
    type: str
    choices: [refuse, skip]
    default: refuse
attributes:
  check_mode:
    support: full
    description: Nothing is measured; RV(components) and RV(units) say what would be.
seealso:
  - module: hpcops.plumbline.verdicts_info
  - module: hpcops.plumbline.investigate
"""

EXAMPLES = r"""
- name: Measure one target
  hpcops.plumbline.probe:
    layer: ost
    components: [scratch-OST0003]
  become: true
  register: measured

- name: Show what came of it
  ansible.builtin.debug:
    msg: "{{ measured.verdicts | map(attribute='sentence') }}"

- name: Measure all devices of servers that have some, half an hour at most
  hpcops.plumbline.probe:
    layer: raw
    limit_s: 1800
    unmeasured: skip
  become: true
"""

RETURN = r"""
components:
  description: What was measured, or would be.
  returned: success
  type: list
  elements: str
units:
  description: Units of systemd that were started, or would be.
  returned: always, unless nothing is measured here
  type: list
  elements: str
  sample: [plumbline-ost@scratch-OST0003.service]
state:
  description: The worst of the verdicts.
  returned: when something was measured
  type: str
  sample: OK
verdicts:
  description: Verdicts on the components, as docs/verdicts.md describes them.
  returned: when something was measured
  type: list
  elements: dict
records:
  description: Records of the measurements, with the keys of plumbline.model.record.
  returned: when something was measured
  type: list
  elements: dict
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.hpcops.plumbline.plugins.module_utils.expectations import (
    Unmeasured,
    read_measures,
)
from ansible_collections.hpcops.plumbline.plugins.module_utils.on_node import (
    OPTIONS,
    as_prober,
    records_of,
    verdicts_of,
    worst,
)
from ansible_collections.hpcops.plumbline.plugins.module_utils.unit import (
    LAYERS,
    PAIRED,
    measure,
    unit_name,
)


def main() -> None:
    """Measure, or fail with the reason in one sentence."""
    module = AnsibleModule(
        argument_spec={
            **OPTIONS,
            "layer": {"type": "str", "choices": list(LAYERS), "required": True},
            "components": {"type": "list", "elements": "str", "default": []},
            "slot": {"type": "int"},
            "limit_s": {"type": "int"},
            "unmeasured": {"type": "str", "choices": ["refuse", "skip"], "default": "refuse"},
        },
        supports_check_mode=True,
    )
    layer, requested, slot = (module.params[name] for name in ("layer", "components", "slot"))
    if slot is not None and (layer not in PAIRED or requested):
        module.fail_json(
            msg="slot pairs all hosts of the layers net and rdma; leave out slot, or components"
        )
    try:
        components = read_measures(module.params["expectations"]).components(layer, requested)
    except Unmeasured as error:
        if module.params["unmeasured"] == "skip":
            module.exit_json(skipped=True, msg=str(error))
        module.fail_json(msg=str(error))
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    # plumbline-fs.service also runs additional tests; a person at work wants the targets
    named = components if layer == "fs" else requested
    units = [unit_name(layer, name) for name in named] or [unit_name(layer, slot=slot)]
    if module.check_mode:
        module.exit_json(changed=True, components=components, units=units)
    result = _measure(module, layer, components, units)
    module.exit_json(changed=True, components=components, units=units, **result)


def _measure(
    module: AnsibleModule, layer: str, components: list[str], units: list[str]
) -> dict[str, object]:
    """Start one unit after another, and return records and verdicts."""
    start = time.time()
    for unit in units:
        outcome = measure(module.run_command, unit, module.params["limit_s"])
        if outcome.trouble:
            module.fail_json(msg=f"{outcome.unit} {outcome.trouble}", changed=True, units=units)
    plumbline = as_prober(module)
    recent = records_of(plumbline, layer, int(time.time() - start) + 60)
    judged = verdicts_of(plumbline, last_run=True)
    verdicts = [verdict for verdict in judged if verdict["layer"] == layer]
    records = [record for record in recent if record["started_at"] >= start]
    # layer fs measures a file system with all its targets
    if layer != "fs":
        records = [record for record in records if record["component"] in components]
        verdicts = [verdict for verdict in verdicts if verdict["component"] in components]
    return {"records": records, "verdicts": verdicts, "state": worst(verdicts)}


if __name__ == "__main__":
    main()
