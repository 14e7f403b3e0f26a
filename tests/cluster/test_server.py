"""The PostgreSQL of the tests."""

from __future__ import annotations

import psycopg

from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


def test_each_log_has_its_own_schema(log_url: str) -> None:
    with psycopg.connect(log_url, autocommit=True) as connection:
        connection.execute("create table entry(seq bigint)")
        [found] = connection.execute("select current_schema").fetchone() or ("",)
    assert found.startswith("s_")
