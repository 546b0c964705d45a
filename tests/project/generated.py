"""``python -m tests.project.generated`` writes the generated tables of docs/ and CONTRIBUTING.md.

``<!-- generated: NAME -->`` and ``<!-- end -->`` mark such a table in a page.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from typing import Any, Callable, Iterable, Iterator

from plumbline.cli import build_parser
from plumbline.cli.machines import MACHINES
from plumbline.cli.people import PEOPLE
from plumbline.doors import prometheus
from plumbline.model import metric
from tests.project.repository import ROOT, document, tracked
from tests.project.test_papers import CASES

_MARKED = re.compile(r"(?<=<!-- generated: )(\w+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)
_MARKUP = re.compile(r"\b[A-Z]\(([^)]*)\)")


def _table(heading: str, rows: Iterable[Iterable[str]]) -> str:
    rule = "|" + "---|" * (heading.count("|") - 1)
    lines = [heading, rule, *(_row(cells) for cells in rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _list(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f"- {name}: {meaning}\n" for name, meaning in rows)


def _text(description: Any) -> str:
    """Return a description of Ansible as one line."""
    sentences = [description] if isinstance(description, str) else description
    plain = _MARKUP.sub(r"`\1`", " ".join(str(sentence) for sentence in sentences))
    return " ".join(plain.split())


def _default(option: dict[str, Any]) -> str:
    if "default" not in option:
        return " (required)" if option.get("required") else ""
    value = option["default"]
    return f" (`{value if isinstance(value, str) and value else json.dumps(value)}`)"


def _options(options: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for name, option in options.items():
        yield f"`{name}`{_default(option)}", _text(option["description"])
        for key, part in option.get("options", {}).items():
            yield f"`{name}`: `{key}`{_default(part)}", _text(part["description"])


def _roles() -> str:
    """Return a section with all options for each deployed role."""
    sections = []
    for path in tracked("roles/*/meta/argument_specs.yml"):
        # an internal role has no entry of this name
        entry = document(path)["argument_specs"].get("main", {})
        if entry.get("options"):
            head = f"\n## {path.parts[-3]}\n\n{_text(entry['short_description'])}.\n\n"
            sections.append(head + _list(_options(entry["options"])))
    return "".join(sections) + "\n"


def _calls(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parser of each command without subcommands."""
    parts = [part for part in parser._actions if isinstance(part, argparse._SubParsersAction)]
    for part in parts:
        for choice in part.choices.values():
            yield from _calls(choice)
    if not parts:
        yield parser


def _arguments(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    formatter = parser._get_formatter()
    for action in parser._actions:
        if not isinstance(action, argparse._HelpAction) and action.help != argparse.SUPPRESS:
            value = "" if action.nargs == 0 else formatter._format_args(action, action.dest.upper())
            names = ", ".join(action.option_strings)
            meaning = formatter._expand_help(action) if action.help else ""
            yield f"`{f'{names} {value}'.strip()}`", meaning


VERBS = {**PEOPLE, **MACHINES}


OFTEN = 3
"""An option that so many commands share is described once."""


def _commands() -> str:
    """Return the options that commands share, and a section for each command with its own."""
    calls = {parser: dict(_arguments(parser)) for parser in _calls(build_parser())}
    number = Counter(row for rows in calls.values() for row in rows.items())
    meanings = Counter(name for (name, _), times in number.items() if times >= OFTEN)
    shared = {row for row in number if number[row] >= OFTEN and meanings[row[0]] == 1}
    sections = [_list(sorted(shared))]
    for parser, rows in calls.items():
        brief = VERBS[parser.prog.partition(" ")[2]].help.capitalize()
        sections.append(f"\n## {parser.prog}\n\n{_text(parser.description or f'{brief}.')}\n\n")
        also = [name for name, meaning in rows.items() if (name, meaning) in shared]
        own = [row for row in rows.items() if row not in shared]
        sections.append(_list(own))
        if also:
            sections.append(f"- also {', '.join(also)}\n")
    # the running interpreter is the default of some option
    return "".join(sections).replace(sys.executable, "this one") + "\n"


def _verdicts() -> str:
    metrics = ((f"`{family.name}`", family.help) for family in prometheus.families([], [], 0.0))
    return _table("| metric | meaning |", metrics)


def _counters() -> str:
    metrics = [value for value in vars(metric).values() if isinstance(value, metric.Metric)]
    rows = ((f"`{value.name}`", value.kind, value.help) for value in metrics)
    return _table("| metric | kind | meaning |", rows)


def _figures(machine: str) -> str:
    rows = ((case.place, case.figure, case.shown) for case in CASES[machine])
    return _table("| place | the paper | in plumbline |", dict.fromkeys(rows))


def _steps() -> str:
    """Return a row for each step of the tests, from the comments of the Makefile."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    steps = re.findall(r"^([a-z0-9-]+):.*  # ([0-9.]+) min: (.*)$", text, flags=re.M)
    steps.sort(key=lambda step: _part(text, step[0]))
    rows = ((f"`make {name}`", _part(text, name), minutes, why) for name, minutes, why in steps)
    return _table("| step | in | minutes | protects |", rows)


def _part(makefile: str, step: str) -> str:
    """Return the first of the lengths that runs a step."""
    lists = dict(re.findall(r"^((?:ROOT_)?[A-Z]+) +:= (.*)$", makefile, flags=re.M))
    if step in lists["LINT"].split() or step in ("pytest-quick", "ansible-lint"):
        return "`check`"
    long = f"{lists['LONG']} {lists['ROOT_LONG']}".split()
    return "`test-all`" if step in long else "`test`"


TABLES: dict[str, Callable[[], str]] = {
    "commands": _commands,
    "options": _roles,
    "verdict_metrics": _verdicts,
    "counters": _counters,
    "steps": _steps,
    "red_storm": lambda: _figures("redstorm"),
    "edison": lambda: _figures("edison"),
    "blue_gene": lambda: _figures("bgl"),
    "jaguar": lambda: _figures("jaguar"),
}


PAGES = tracked("docs/*.md", "CONTRIBUTING.md")


def generated(page: str) -> str:
    """Return the text of a page with its tables generated anew."""
    return _MARKED.sub(lambda mark: f"{mark[1]}{mark[2]}{TABLES[mark[1]]()}", page)


def main() -> None:
    """Write the tables into the pages."""
    for path in PAGES:
        path.write_text(generated(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
