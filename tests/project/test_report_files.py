"""The unit of the role report is valid, and Nagios links to sections of the page.

Ansible itself renders the templates for the hosts of the lab, none of which exists.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from plumbline.cli import build_parser
from tests.project.playbook import play_output
from tests.project.test_nagios_objects import make, plan

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    variables = {"agent_plan": plan("lab"), "console_collect": True, "report_enabled": True}
    play_output(folder, "report", variables)
    return folder


def test_the_unit_reports_on_the_history_of_the_console(rendered: Path) -> None:
    text = (rendered / "plumbline-report.service").read_text()
    (line,) = re.findall(r"^ExecStart=(.*)$", text, re.M)
    program, *argv = shlex.split(line)
    assert program == "/usr/bin/plumbline"
    arguments = build_parser().parse_args(argv)
    assert arguments.verb == "report"
    assert arguments.plan == "/etc/plumbline-console/plan.json"
    assert arguments.history == "/var/lib/plumbline-console/history.sqlite"
    assert arguments.output == "/var/lib/plumbline-report"
    assert arguments.library == "/usr/lib/plumbline-report/plotly.min.js"


def test_the_page_of_the_report_asks_for_the_password_of_nagios(rendered: Path) -> None:
    page = (rendered / "page.conf").read_text()
    assert "Alias /plumbline /var/lib/plumbline-report\n" in page
    assert "Require valid-user" in page
    assert "AuthUserFile /etc/nagios4/plumbline.htpasswd" in page


def test_each_service_links_to_its_section(rendered: Path) -> None:
    lab = plan("lab")
    options = json.loads((rendered / "options.json").read_text())
    text = make(lab, **options)["services"]
    links = re.findall(r"^    (action|notes)_url +(\S+)$", text, re.M)
    anchors = [service["anchor"] or "targets" for service in lab["services"]]
    places = [f"/plumbline/index.html#{anchor}" for anchor in anchors]
    places += ["/plumbline/index.html#suspects"] * len(lab["paths"])
    assert [url for kind, url in links if kind == "action"] == places
    assert [url for kind, url in links if kind == "notes"] == places
