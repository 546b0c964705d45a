"""Misspelt variables of a playbook are refused; variables of others are not."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.hpcops.plumbline.plugins.action.variables import refuse_slips

KNOWN = ["layer", "target", "nagios", "fail", "budget", "budget_bytes", "user_path", "json"]


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("layers", "layer"),
        ("targets", "target"),
        ("budgets", "budget"),
        ("bugdet_bytes", "budget_bytes"),
        ("userpath", "user_path"),
        ("Layer", "layer"),
    ],
)
def test_a_misspelt_variable_is_refused_with_the_right_name(slip: str, meant: str) -> None:
    with pytest.raises(AnsibleActionFail) as refused:
        refuse_slips({slip: "x", "target": "y"}, KNOWN)
    message = f"-e {slip}=... is not a variable of this playbook; write -e {meant}=..."
    assert str(refused.value) == message


def test_variables_of_roles_and_connections_are_left_alone() -> None:
    given = ["ansible_user", "metrics_enabled", "nagios_port", "site_target", "layer", "json"]
    refuse_slips(given, KNOWN)
