# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that Nagios has not checked since a given time."""

from __future__ import annotations

DOCUMENTATION = r"""
name: unchecked
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Services that Nagios has not checked yet
description:
  - Returns the descriptions of the services whose last check is older than a moment.
  - A service that Nagios does not have is not waited for.
options:
  _input:
    description: Pairs of host and description, as from P(hpcops.plumbline.services#filter).
    type: list
    elements: list
    required: true
  answer:
    description:
      - What C(statusjson.cgi) printed for C(query=servicelist&details=true), with its header.
    type: str
    required: true
  since:
    description: Seconds since the epoch on the host of Nagios.
    type: int
    required: true
"""

EXAMPLES = r"""
waiting: "{{ services | hpcops.plumbline.unchecked(status.stdout, 1700000000) }}"
# ['OST scratch-OST0003 write read']
"""

RETURN = r"""
_value:
  description: Descriptions of services.
  type: list
  elements: str
"""

import json
import re
from typing import Any, Callable, Iterable, Union

from ansible.errors import AnsibleFilterError

HEADER = re.compile(r"\A.*?\r?\n\r?\n", re.DOTALL)
"""Header of a CGI's output, up to the first empty line."""


def unchecked(
    services: Iterable[tuple[str, str]], answer: str, since: Union[int, str]
) -> list[str]:
    """Return the services that are still unchecked."""
    try:
        status = json.loads(HEADER.sub("", answer, count=1))["data"]["servicelist"]
    except (ValueError, KeyError, TypeError) as error:
        raise AnsibleFilterError(
            f"statusjson.cgi of Nagios gave no list of services: {answer[:200]!r}"
        ) from error
    rows = [(status.get(host, {}).get(name), name) for host, name in services]
    # Nagios gives milliseconds
    return [name for service, name in rows if service and service["last_check"] < int(since) * 1000]


class FilterModule:
    """Filters of this file, for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"unchecked": unchecked}
