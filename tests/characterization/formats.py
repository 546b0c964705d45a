"""Parsers of output for other programs, into trees of names and values."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

_PERFDATA = re.compile(r"('[^']+'|[^\s=']+)=(\S+)")
_NAGIOS_TEXT = ("notes", "alias")
_ICINGA_TEXT = ("notes", "display_name")
_CSV_TEXT = ("verdict", "sentence", "text", "symptom")


def nagios(text: str) -> dict[str, Any]:
    """Return Nagios objects by type and name, without texts for people."""
    objects: dict[str, Any] = {}
    for kind, body in re.findall(
        r"^define\s+(\w+)\s*\{(.*?)^\s*\}", text, re.DOTALL | re.MULTILINE
    ):
        pairs = [line.split(None, 1) for line in _lines(body, "#")]
        values = {pair[0]: pair[1] if len(pair) > 1 else "" for pair in pairs}
        values = {key: value for key, value in values.items() if key not in _NAGIOS_TEXT}
        add(objects, f"{kind} {_nagios_name(kind, values)}", values)
    return objects


def _nagios_name(kind: str, values: dict[str, str]) -> str:
    keys: tuple[str, ...] = (
        "name",
        f"{kind}_name",
        "host_name",
        "service_description",
        "dependent_host_name",
    )
    keys += ("dependent_service_description", "hostgroup_name", "servicegroup_name")
    return " / ".join(dict.fromkeys(values[key] for key in keys if key in values))


def icinga(text: str) -> dict[str, Any]:
    """Return the objects of Icinga by their first line, each a list of its lines."""
    objects: dict[str, Any] = {}
    for block in re.split(r"(?m)^(?=(?:object|template|apply)\s)", text):
        first, _, rest = block.partition("\n")
        if first.strip() and not first.startswith(("/", "#")):
            lines = [line for line in _lines(rest, "//") if not _is_text(line)]
            add(objects, first.strip(" {"), lines)
    return objects


def _lines(text: str, comment: str) -> list[str]:
    """Return the lines of a text without comments and empty ones."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(comment)]


def _is_text(line: str) -> bool:
    return line.partition("=")[0].strip() in _ICINGA_TEXT


def batch(text: str) -> dict[str, Any]:
    """Return passive results: command, state and performance data by host and service."""
    results: dict[str, Any] = {}
    for line in text.splitlines():
        at, _, rest = line.partition("] ")
        command, *fields = rest.split(";")
        if command == "PROCESS_HOST_CHECK_RESULT":
            service, state, output = fields[0], fields[1], ";".join(fields[2:])
        else:
            service, state, output = f"{fields[0]} / {fields[1]}", fields[2], ";".join(fields[3:])
        values = {"at": at.strip("["), "command": command, "state": state}
        add(results, service, {**values, "perfdata": perfdata(output)})
    return results


def perfdata(output: str) -> dict[str, str]:
    """Return the performance data of a plug-in's output, by label."""
    first, *rest = output.replace("\\n", "\n").split("\n")
    parts = [part for line in (first, *rest) for part in line.split("|")[1:2]]
    return {label.strip("'"): value for part in parts for label, value in _PERFDATA.findall(part)}


def metrics(text: str) -> dict[str, Any]:
    """Return the metrics of Prometheus by name and labels, and the type of each."""
    samples: dict[str, Any] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            add(samples, f"type of {name}", kind)
        elif line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            add(samples, name, float(value))
    return samples


def local_checks(text: str) -> dict[str, Any]:
    """Return the lines of a Checkmk local check: state and metrics by service."""
    services: dict[str, Any] = {}
    for line in text.splitlines():
        state, name, figures = re.findall(r'"[^"]*"|\S+', line)[:3]
        add(services, name.strip('"'), {"state": state, "metrics": figures.split("|")})
    return services


def table(text: str) -> list[dict[str, Any]]:
    """Return the rows of a CSV file with figures as numbers, without sentences."""
    return [
        {key: _figure(cell) for key, cell in row.items() if key not in _CSV_TEXT}
        for row in csv.DictReader(io.StringIO(text))
    ]


def _figure(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def add(tree: dict[str, Any], name: str, values: Any) -> None:
    """Add an entry under a name; a second entry of the name gets a number."""
    number, key = 1, name
    while key in tree:
        number += 1
        key = f"{name} #{number}"
    tree[key] = values
