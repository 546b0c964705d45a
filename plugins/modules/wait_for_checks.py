#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait until Nagios has checked services; Ansible would show each retry of a task as a failure."""

from __future__ import annotations

DOCUMENTATION = r"""
module: wait_for_checks
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Wait until Nagios has checked services
description:
  - Asks the page of Nagios every two seconds, until the last check of each service is no older than
    a moment.
  - A service that Nagios does not have is not waited for.
options:
  services:
    description: Pairs of host and description, as from P(hpcops.plumbline.services#filter).
    type: list
    elements: list
    required: true
  program:
    description: Path of C(statusjson.cgi).
    type: path
    required: true
  user:
    description: User of the page, who sees these services.
    type: str
    required: true
  since:
    description: Seconds since the epoch on the host of Nagios.
    type: int
    required: true
  timeout:
    description: Seconds to wait at most.
    type: int
    default: 80
attributes:
  check_mode:
    support: none
    description: Nothing was forced then, so nothing is waited for.
"""

EXAMPLES = r"""
- name: Wait until Nagios has checked
  hpcops.plumbline.wait_for_checks:
    services: [[oss2, RAW oss2-disk1 read]]
    program: /usr/lib/cgi-bin/nagios4/statusjson.cgi
    user: nagiosadmin
    since: 1700000000
"""

RETURN = r""" # """

import json
import re
import time
from typing import Any, Sequence

from ansible.module_utils.basic import AnsibleModule

HEADER = re.compile(r"\A.*?\r?\n\r?\n", re.DOTALL)
"""Header of a CGI's output, up to the first empty line."""
PAUSE_S = 2


def unchecked(module: AnsibleModule) -> list[str]:
    """Return the services that are still unchecked; fail if Nagios gives no list."""
    request = {
        "REQUEST_METHOD": "GET",
        "REMOTE_USER": module.params["user"],
        "QUERY_STRING": "query=servicelist&details=true",
    }
    code, answer, errors = module.run_command([module.params["program"]], environ_update=request)
    try:
        status: dict[str, Any] = json.loads(HEADER.sub("", answer, count=1))["data"]["servicelist"]
    except (ValueError, KeyError, TypeError):
        module.fail_json(
            msg=f"statusjson.cgi of Nagios gave no list of services, but {answer[:200]!r} with "
            f"exit code {code}: {errors.strip()}"
        )
    pairs: Sequence[tuple[str, str]] = module.params["services"]
    rows = [(status.get(host, {}).get(name), name) for host, name in pairs]
    # Nagios gives milliseconds
    limit_ms = module.params["since"] * 1000
    return [name for service, name in rows if service and service["last_check"] < limit_ms]


def main() -> None:
    """Wait; fail with the names of the services that Nagios did not check in time."""
    module = AnsibleModule(
        argument_spec={
            "services": {"type": "list", "elements": "list", "required": True},
            "program": {"type": "path", "required": True},
            "user": {"type": "str", "required": True},
            "since": {"type": "int", "required": True},
            "timeout": {"type": "int", "default": 80},
        }
    )
    end = time.monotonic() + module.params["timeout"]
    while late := unchecked(module):
        if time.monotonic() > end:
            module.fail_json(
                msg=f"Nagios has not checked {', '.join(late[:5])}"
                f"{' and others' if late[5:] else ''} within {module.params['timeout']} s; "
                "see its log."
            )
        time.sleep(PAUSE_S)
    module.exit_json(changed=False)


if __name__ == "__main__":
    main()
