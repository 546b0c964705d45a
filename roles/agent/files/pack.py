"""Pack the package and the checks into one archive whose name follows from its content.

Run on the control host: ``pack.py SOURCE CACHE`` prints the archive's path.  Equal sources give the
same bytes on any machine, so a node can tell from the name alone whether it has them.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Iterator


def sources(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name in the archive and the file, of all that a node needs, in a fixed order."""
    for folder, prefix in ((root / "src" / "plumbline", "plumbline"), (root / "checks", "checks")):
        if not folder.is_dir():
            sys.exit(f"{folder} does not exist; set agent_source_directory to a whole checkout.")
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield f"{prefix}/{path.relative_to(folder).as_posix()}", path


def archive(root: Path) -> bytes:
    """Return a tar archive without owners and times of its own: only names, modes and content."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, path in sources(root):
            content = path.read_bytes()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o755 if name.startswith("checks/") else 0o644
            # 1980, the oldest time that every archive format can hold; the same on all machines.
            member.mtime = 315532800
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def main(source: str, cache: str) -> None:
    """Write the archive into the cache unless it is there, and print its path."""
    content = archive(Path(source).resolve())
    target = Path(cache) / f"plumbline-{hashlib.sha256(content).hexdigest()[:16]}.tar"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as partial:
            partial.write(content)
        os.replace(partial.name, target)
    print(target)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
