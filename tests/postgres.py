"""A real PostgreSQL for tests: one server a run, a schema for each test."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from rehearsal.postgres_server import FAST, programs_folder
from rehearsal.shared_postgres import share_postgres

NEEDS_POSTGRES = pytest.mark.skipif(
    programs_folder() is None, reason="PostgreSQL is not installed: make postgres"
)
RUN = "PYTEST_XDIST_TESTRUNUID"
"""Variable that names a run in the workers of pytest-xdist."""
SESSIONS = ("-c", "max_connections=400")
"""Workers of a run share the server, and each daemon of theirs has several connections."""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of the server that all processes of this run share."""
    with share_postgres(run_folder(), *FAST, *SESSIONS) as url:
        yield url


def run_folder() -> Path:
    """Return the folder of this run's server: the same in all its processes."""
    return Path(tempfile.gettempdir()) / f"soul-postgres-{run_name()}"


def run_name() -> str:
    """Return the name of this run, which all its workers have in common."""
    return os.environ.get(RUN) or f"{os.getpid()}"


@pytest.fixture
def log_url(postgres_server: str) -> str:
    """URL of a log that is empty."""
    return new_log(postgres_server)


def new_log(server: str) -> str:
    """Make an empty schema; return the URL whose tables are in it."""
    name = f"s_{uuid.uuid4().hex[:20]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create schema {name}")
    return in_schema(server, name)


def in_schema(server: str, name: str) -> str:
    return f"{server}?options={quote('-csearch_path=' + name)}"


__all__ = ["NEEDS_POSTGRES", "in_schema", "log_url", "new_log", "postgres_server"]
