# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""External commands that make Nagios check services at once."""

from __future__ import annotations

DOCUMENTATION = r"""
name: forced_checks
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: External commands for checks now
description:
  - Returns a line SCHEDULE_FORCED_SVC_CHECK for each service, as the pipe of Nagios takes them.
options:
  _input:
    description: Pairs of host and description, as from P(hpcops.plumbline.services#filter).
    type: list
    elements: list
    required: true
  now:
    description: Seconds since the epoch on the host of Nagios.
    type: int
    required: true
"""

EXAMPLES = r"""
lines: "{{ [['oss2', 'RAW oss2-disk1 read']] | hpcops.plumbline.forced_checks(1700000000) }}"
# ['[1700000000] SCHEDULE_FORCED_SVC_CHECK;oss2;RAW oss2-disk1 read;1700000000']
"""

RETURN = r"""
_value:
  description: Lines.
  type: list
  elements: str
"""

from typing import Any, Callable, Iterable, Union


def forced_checks(services: Iterable[tuple[str, str]], now: Union[int, str]) -> list[str]:
    """Return a command for each service."""
    moment = int(now)
    return [
        f"[{moment}] SCHEDULE_FORCED_SVC_CHECK;{host};{description};{moment}"
        for host, description in services
    ]


class FilterModule:
    """Filters of this file, for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"forced_checks": forced_checks}
