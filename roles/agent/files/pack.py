"""Pack the package and the checks into two archives, named by a hash of their content.

Run on the control host: ``pack.py SOURCE CACHE`` prints two paths, one per line: of the archive for
nodes, and of the archive with everything, for the console.  A node needs the checks, the verbs
listed as NODE_MODULES by the command line and its NODE_PARTS, with all modules that these import.
Equal sources give equal names on any machine, so the name shows whether a host has the current
archive.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import io
import os
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Iterable, Iterator, Mapping

COMMAND = "plumbline.cli"
PARTS = "plumbline.parts"
STARTED = "plumbline.cli.__main__"
"""Module that units, launchers and roles start."""
MEASURE = "plumbline.measure."
"""Room whose modules layers, tools and units name."""


def everything(root: Path) -> dict[str, Path]:
    """Return all files for the console, by name in the archive."""
    files = {}
    for folder, prefix in ((root / "src" / "plumbline", "plumbline"), (root / "checks", "checks")):
        if not folder.is_dir():
            sys.exit(f"{folder} does not exist; set agent_source_directory to a whole checkout.")
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                files[f"{prefix}/{path.relative_to(folder).as_posix()}"] = path
    return files


def node_files(files: Mapping[str, Path]) -> dict[str, Path]:
    """Return the files that a node needs."""
    checks = {name: path for name, path in files.items() if name.startswith("checks/")}
    by_name = {_module(name): name for name in files if name.endswith(".py")}
    # modules that import one of these libraries when loaded cannot be loaded on a node
    modules = _loadable(by_name, files, _named(files[by_name[COMMAND]], "CONSOLE_LIBRARIES"))
    verbs = _named(files[by_name[COMMAND]], "NODE_MODULES")
    parts = tuple(f"{PARTS}.{name}." for name in _named(files[by_name[COMMAND]], "NODE_PARTS"))
    pending = [COMMAND, STARTED, *(f"{COMMAND}.{name}" for name in verbs)]
    # these are found by name
    pending += [module for module in modules if module.startswith((MEASURE, *parts))]
    for path in checks.values():
        pending += _imports(path)
    needed: set[str] = set()
    while pending:
        module = _nearest(pending.pop(), modules)
        if module and module not in needed:
            needed.add(module)
            pending += [module.rpartition(".")[0], *_imports(files[modules[module]])]
    names = {modules[module] for module in needed} | checks.keys()
    return {name: path for name, path in files.items() if name in names}


def _loadable(
    modules: Mapping[str, str], files: Mapping[str, Path], libraries: Iterable[str]
) -> dict[str, str]:
    """Return the modules that can be loaded without the libraries of the console."""
    load_imports = {module: set(_load_imports(files[name])) for module, name in modules.items()}
    refused = set(libraries)
    while True:
        added = {module for module, imports in load_imports.items() if imports & refused} - refused
        if not added:
            return {module: name for module, name in modules.items() if module not in refused}
        refused |= added


def _module(name: str) -> str:
    return name[: -len(".py")].replace("/", ".").replace(".__init__", "")


def _nearest(name: str, modules: Iterable[str]) -> str:
    """Return the module of an imported name, which may be a function in it."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imports(path: Path) -> Iterator[str]:
    """Yield all imports of a file, except those only for types."""
    stack: list[ast.AST] = [_tree(path)]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            stack += node.orelse
            continue
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        # expressions contain no imports
        stack += (item for item in ast.iter_child_nodes(node) if not isinstance(item, ast.expr))


def _load_imports(path: Path) -> Iterator[str]:
    """Yield the imports of a module that run when it is loaded."""
    for node in _tree(path).body:
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _named(path: Path, name: str) -> tuple[str, ...]:
    """Return a constant of a module without importing the module."""
    for node in _tree(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return tuple(map(str, ast.literal_eval(node.value)))
    sys.exit(f"{path} has no {name}; set agent_source_directory to a whole checkout.")


def archive(files: Mapping[str, Path]) -> bytes:
    """Return a tar archive with constant owners and times: only names, modes and content vary."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, path in files.items():
            content = path.read_bytes()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o755 if name.startswith("checks/") else 0o644
            # 1980, the oldest time that every archive format supports, on all machines
            member.mtime = 315532800
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def keep(content: bytes, cache: Path) -> Path:
    """Write a compressed archive to the cache unless it exists; return its path."""
    target = cache / f"plumbline-{_digest(content)}.tar.gz"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as partial:
            partial.write(gzip.compress(content, mtime=0))
        os.replace(partial.name, target)
    return target


def for_nodes(files: Mapping[str, Path], whole: Path) -> Path:
    """Return the archive for nodes; a link beside the whole one saves choosing its files again."""
    link = whole.with_name(f"{whole.name}.node-{_digest(Path(__file__).read_bytes())}")
    if not link.exists():
        node = keep(archive(node_files(files)), whole.parent)
        partial = link.with_name(f"{link.name}.{os.getpid()}")
        partial.symlink_to(node.name)
        os.replace(partial, link)
    return link.resolve()


def main(source: str, cache: str) -> None:
    """Print the paths of the archives for nodes and for the console."""
    files = everything(Path(source).resolve())
    whole = keep(archive(files), Path(cache).resolve())
    print(for_nodes(files, whole))
    print(whole)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
