"""What the tests need of the machine: folders whose fsync is free, and no certificates."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHARED = Path("/dev/shm")
MEMORY = SHARED if SHARED.is_dir() else None
"""Where folders live that a test needs: in memory where they can, since a kill loses no page of it."""


@contextmanager
def folder(name: str) -> Iterator[Path]:
    """An empty folder, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=MEMORY, ignore_cleanup_errors=True) as path:
        yield Path(path)


def without_certificates() -> None:
    """All is on the loopback, and whoever makes a client would read them for a tenth of a second."""
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = os.devnull
