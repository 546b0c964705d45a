# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of an inventory: compiled by ``plumbline plan``, kept until its documents change.

One file for each inventory: the first line is the key, a digest of documents and program, the rest
the plan.  It is replaced atomically, so that runs side by side read a complete one.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional

if TYPE_CHECKING:
    from ansible_collections.hpcops.plumbline.plugins.module_utils.command import Plumbline

DOCUMENTS = Path("group_vars") / "all"
"""Where an inventory keeps topology, policy and baselines."""


class Plan(NamedTuple):
    """The document, whether it was compiled now, and why it could not be kept."""

    document: dict[str, Any]
    compiled: bool
    unkept: Optional[str] = None


class PlanSource(NamedTuple):
    """What a plan is made from: the folder of an inventory, and the program that compiles it.

    ``program`` is the version of an installed plumbline, or the checkout whose package is used.
    """

    folder: Path
    program: str

    def key(self) -> str:
        """Return the digest of all that the plan follows from.

        Raises:
            OSError: a document cannot be read.
        """
        digest = hashlib.sha256(self.program.encode())
        for path in self._files():
            content = path.read_bytes()
            digest.update(f"\n{path} {len(content)}\n".encode())
            digest.update(content)
        return digest.hexdigest()

    def _files(self) -> Iterator[Path]:
        documents = (self.folder / DOCUMENTS).glob("[!.]*")
        yield from sorted(path for path in documents if path.is_file())
        package = Path(self.program) / "src" / "plumbline"
        yield from sorted(package.rglob("*.py"))


def program_of(plumbline: Plumbline, source: Optional[str]) -> str:
    """Return what says which program compiles: a checkout, or the version that is installed."""
    return str(Path(source).resolve()) if source else plumbline.ask("--version").stdout.strip()


def plan_of(plumbline: Plumbline, source: PlanSource, cache: Optional[Path]) -> Plan:
    """Return the plan, from ``cache`` if nothing has changed since it was compiled.

    Trouble ends the module or the inventory plug-in with the sentence of ``plumbline plan``.

    Raises:
        OSError: a document cannot be read.
    """
    key = source.key()
    kept = cache / _name(source.folder) if cache else None
    document = _read(kept, key) if kept else None
    if document is not None:
        return Plan(document, compiled=False)
    _, document = plumbline.ask_json("plan", "--inventory", str(source.folder), "--json")
    return Plan(document, compiled=True, unkept=_keep(kept, key, document) if kept else None)


def _name(folder: Path) -> str:
    return f"plan-{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}.json"


def _read(path: Path, key: str) -> Optional[dict[str, Any]]:
    """Return the plan that was kept under ``key``; none where there is no such plan."""
    try:
        found, _, text = path.read_text(encoding="utf-8").partition("\n")
        document = json.loads(text) if found == key else None
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _keep(path: Path, key: str, document: dict[str, Any]) -> Optional[str]:
    """Replace what was kept before; return the reason where that cannot be done."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(f"{key}\n{json.dumps(document)}")
            os.replace(name, path)
        except OSError:
            os.unlink(name)
            raise
    except OSError as error:
        return f"the plan is compiled again each time: {path} cannot be written: {error.strerror}"
    return None
