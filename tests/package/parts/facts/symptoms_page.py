"""``python -m tests.package.parts.facts.symptoms_page`` writes the rules into docs/symptoms.md."""

from __future__ import annotations

import re
from typing import Iterable, Union

from plumbline.model.symptom import KERNEL
from plumbline.parts.facts import enclosure, fabric, links, lldp, lnet, lustre, md, smart, zfs
from plumbline.parts.facts.kernel_messages import HARMLESS, MESSAGES, Message
from plumbline.parts.facts.rules import Rule
from tests.project.repository import ROOT

PAGE = ROOT / "docs" / "symptoms.md"
_HEAD = "| collector | suspicion | severity | `kind`: finding |\n|---|---|---|---|\n"
_TABLE = re.compile(re.escape(_HEAD) + r"(?:\|.*\n)*")
_OPTIONAL = re.compile(r"(?<=[\w}])\{\w+[^}]*\}")
_VALUE = re.compile(r"\{(\w+)[^}]*\}")


RULES: dict[str, Iterable[Union[Rule, Message]]] = {
    md.NAME: md.RULES.values(),
    zfs.NAME: zfs.RULES.values(),
    smart.NAME: smart.RULES.values(),
    enclosure.NAME: enclosure.RULES.values(),
    links.ETHERNET: links.ETHERNET_RULES.values(),
    lldp.NAME: lldp.RULES.values(),
    **{ports.name: ports.rules.values() for ports in links.PORTS},
    links.PCIE: links.PCIE_RULES.values(),
    lnet.NAME: lnet.RULES.values(),
    fabric.NAME: fabric.RULES.values(),
    lustre.NAME: lustre.RULES.values(),
    KERNEL: MESSAGES,
}


def table() -> str:
    """Return a row for each collector, suspicion and severity, with the symptoms of that kind."""
    rows: dict[tuple[str, str, str], dict[str, None]] = {}
    for collector, rules in RULES.items():
        for rule in rules:
            words = _VALUE.sub(lambda value: value[1].upper(), _OPTIONAL.sub("", rule.words))
            row = (collector, rule.direction.value, rule.severity.name)
            rows.setdefault(row, {})[f"`{rule.kind}`: {words}"] = None
    rows[KERNEL, "nothing", ""] = dict.fromkeys(HARMLESS)
    return _HEAD + "".join(
        f"| `{collector}` | {direction} | {severity} | {'<br>'.join(symptoms)} |\n"
        for (collector, direction, severity), symptoms in rows.items()
    )


def main() -> None:
    """Write the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda _: table(), text), encoding="utf-8")


if __name__ == "__main__":
    main()
