# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan of an inventory: compiled by ``plumbline plan``, and cached until its documents change.

The cache has one file for each inventory: the first line is the key, a digest of documents and
program, followed by the plan.  It is replaced atomically, so parallel runs read a complete file.
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
"""Folder of an inventory with topology, policy and baselines."""


class Plan(NamedTuple):
    """Plan document; ``compiled`` if new; ``unkept`` is the reason if it cannot be cached."""

    document: dict[str, Any]
    compiled: bool
    unkept: Optional[str] = None


class PlanSource(NamedTuple):
    """Source of a plan: the folder of an inventory, and the program that compiles it.

    ``program`` is the version of an installed plumbline, or the checkout with the package.
    """

    folder: Path
    program: str

    def key(self) -> str:
        """Return the digest of everything that the plan depends on.

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
    """Return the identity of the compiling program: a checkout, or the installed version."""
    return str(Path(source).resolve()) if source else plumbline.ask("--version").stdout.strip()


def plan_of(plumbline: Plumbline, source: PlanSource, cache: Optional[Path]) -> Plan:
    """Return the plan, from ``cache`` if nothing has changed since it was compiled.

    A failure ends the module or inventory plug-in with the sentence of ``plumbline plan``.

    Raises:
        OSError: a document cannot be read.
    """
    key = source.key()
    path = cache / _name(source.folder) if cache else None
    document = _read(path, key) if path else None
    if document is not None:
        return Plan(document, compiled=False)
    _, document = plumbline.ask_json("plan", "--inventory", str(source.folder), "--json")
    return Plan(document, compiled=True, unkept=_keep(path, key, document) if path else None)


def _name(folder: Path) -> str:
    return f"plan-{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}.json"


def _read(path: Path, key: str) -> Optional[dict[str, Any]]:
    """Return the plan cached under ``key``, None if there is none."""
    try:
        cached_key, _, text = path.read_text(encoding="utf-8").partition("\n")
        document = json.loads(text) if cached_key == key else None
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _keep(path: Path, key: str, document: dict[str, Any]) -> Optional[str]:
    """Replace the cached plan; return the reason if that fails."""
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
