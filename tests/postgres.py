"""A real PostgreSQL for tests: one server a run, a schema for each test."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from rehearsal.postgres_server import FAST, programs_folder, run_postgres

NEEDS_POSTGRES = pytest.mark.skipif(programs_folder() is None, reason="PostgreSQL is not installed")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="soul-postgres-") as home:
        Path(home).chmod(0o755)
        with run_postgres(Path(home), *FAST) as url:
            yield url


@pytest.fixture
def log_url(postgres_server: str) -> str:
    """URL of a log that is empty."""
    return new_log(postgres_server)


def new_log(server: str) -> str:
    """Make an empty schema; return the URL whose tables are in it."""
    name = f"s_{uuid.uuid4().hex[:20]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create schema {name}")
    return f"{server}?options={quote('-csearch_path=' + name)}"


__all__ = ["NEEDS_POSTGRES", "log_url", "new_log", "postgres_server"]
