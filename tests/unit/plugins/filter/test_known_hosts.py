"""Only keys read by Ansible or known before are trusted."""

from __future__ import annotations

from typing import Any

from ansible_collections.hpcops.plumbline.plugins.filter.known_hosts import known_hosts


def facts(**keys: str) -> dict[str, Any]:
    """Return the facts of a host with these keys."""
    values = {}
    for kind, key in keys.items():
        values[f"ssh_host_key_{kind}_public"] = key
        values[f"ssh_host_key_{kind}_public_keytype"] = f"ssh-{kind}"
    return {"ansible_facts": values}


def test_the_best_key_of_a_host_is_used() -> None:
    hostvars = {"oss1": facts(rsa="AAAAB", ed25519="AAAAC"), "oss2": facts(rsa="AAAAD")}
    assert known_hosts(["oss1", "oss2"], hostvars) == [
        "oss1 ssh-ed25519 AAAAC",
        "oss2 ssh-rsa AAAAD",
    ]


def test_a_host_without_facts_keeps_its_earlier_key() -> None:
    earlier = "oss1 ssh-rsa OLD\noss2 ssh-rsa OLD\n"
    hostvars = {"oss1": facts(ed25519="NEW"), "oss2": {}}
    assert known_hosts(["oss1", "oss2", "oss3"], hostvars, earlier) == [
        "oss1 ssh-ed25519 NEW",
        "oss2 ssh-rsa OLD",
    ]


def test_lines_of_other_hosts_are_dropped() -> None:
    earlier = "# a comment\nretired ssh-rsa OLD\n@revoked oss1 ssh-rsa OLD\n\noss1 ssh-rsa OLD"
    assert known_hosts(["oss1"], {}, earlier) == ["oss1 ssh-rsa OLD"]
