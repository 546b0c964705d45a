"""All readers by name, and what happens when one is given something."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, Optional

from plumbline.model.errors import PlumblineError
from tests.mutations.documents import DOCUMENTED
from tests.mutations.outputs import PRINTED
from tests.mutations.reader import Reader

READERS: Mapping[str, Reader] = {reader.name: reader for reader in (*DOCUMENTED, *PRINTED)}


def trouble(reader: Reader, data: bytes, folder: Path) -> Optional[Exception]:
    """Return the exception that is none of plumbline's own, None where all is well."""
    try:
        reader.feed(data, folder)
    except PlumblineError as error:
        # a sentence that cannot be printed is no sentence
        str(error).encode("utf-8", "backslashreplace")
    except Exception as error:  # noqa: BLE001 - to find what nobody has foreseen
        return error
    return None
