"""The console of a scene: its plan, the history of its nodes, and calls of commands."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple

from tests.characterization.door import bring
from tests.characterization.evidence import with_evidence
from tests.characterization.histories import baselines, moment, nodes_of
from tests.characterization.product import Answer, inventories, run
from tests.characterization.scenes import SCENES, Scene


class Console(NamedTuple):
    """A folder with ``plan.json`` and ``history.sqlite``, and the time of its commands."""

    folder: Path
    at: float

    @property
    def source(self) -> tuple[str, ...]:
        """Return the options for plan and history."""
        return (
            "--plan",
            str(self.folder / "plan.json"),
            "--history",
            str(self.folder / "history.sqlite"),
        )

    def ask(self, verb: str, *options: str) -> Answer:
        """Return the answer of a verb that reads plan and history."""
        return run(verb, *self.source, *options, at=self.at)


def console_of(scene: Scene, folder: Path) -> Console:
    """Create the console of a scene in an empty folder."""
    inventory, at = folder / "inventory", moment(scene)
    shutil.copytree(inventories() / scene.site, inventory)
    if scene.site == "bgl":
        _remove_host_pairs(inventory / "group_vars" / "all")
    if scene.baselines:
        path = inventory / "group_vars" / "all" / "baselines.yml"
        path.write_text(baselines(scene.site), encoding="utf-8")
    (folder / "plan.json").write_text(_planned(inventory, at), encoding="utf-8")
    bring(folder, with_evidence(scene.name, nodes_of(scene), at), at)
    return Console(folder, at)


_PLANS: dict[str, str] = {}
"""Plans by the names and contents of an inventory's files: several scenes have the same."""


def _planned(inventory: Path, at: float) -> str:
    """Return the plan of an inventory, which is the same at any time."""
    paths = sorted(path for path in inventory.rglob("*") if path.is_file())
    key = repr([(str(path.relative_to(inventory)), path.read_bytes()) for path in paths])
    if key not in _PLANS:
        answer = run("plan", "-i", str(inventory), "--json", at=at)
        assert answer.code == 0, answer.err
        _PLANS[key] = json.dumps(answer.document())
    return _PLANS[key]


def _remove_host_pairs(documents: Path) -> None:
    """Remove the network tests of 78,624 host pairs and the parallel runs."""
    topology = documents / "topology.yml"
    text = re.sub(r'address: "[^"]*", ', "", topology.read_text(encoding="utf-8"))
    topology.write_text(text, encoding="utf-8")
    (documents / "policy.yml").unlink()


class Consoles:
    """Consoles of scenes below one folder, each created on first use."""

    def __init__(self, folder: Path) -> None:
        """Start without consoles; the caller removes the folder."""
        self.folder = folder
        self._consoles: dict[str, Console] = {}

    def of(self, name: str) -> Console:
        """Return the console of a scene."""
        if name not in self._consoles:
            (scene,) = (scene for scene in SCENES if scene.name == name)
            folder = self.folder / name
            folder.mkdir()
            self._consoles[name] = console_of(scene, folder)
        return self._consoles[name]

    @staticmethod
    def inventory(site: str) -> Path:
        """Return the committed inventory of a site."""
        return inventories() / site
