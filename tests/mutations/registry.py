"""All readers by name, and the function that tries an input."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, Optional

from plumbline.model.errors import PlumblineError
from tests.mutations.documents import DOCUMENTED
from tests.mutations.outputs import PRINTED
from tests.mutations.reader import Reader

READERS: Mapping[str, Reader] = {reader.name: reader for reader in (*DOCUMENTED, *PRINTED)}


def trouble(reader: Reader, data: bytes, folder: Path) -> Optional[Exception]:
    """Return an exception that is not plumbline's own, else None."""
    try:
        reader.feed(data, folder)
    except PlumblineError as error:
        # the message must be printable
        str(error).encode("utf-8", "backslashreplace")
    except Exception as error:  # noqa: BLE001 - finds unforeseen ones
        return error
    return None
