"""A workspace of several daemons on a log of its own, and what can happen to them."""

from __future__ import annotations

import psycopg
from procrastinate.schema import SchemaManager
from psycopg.sql import SQL

from daemon.cluster.membership_tables import MEMBERSHIP_FUNCTIONS, MEMBERSHIP_TABLES

LEASES = "create table if not exists lease(thread text primary key, epoch bigint not null)"


def install(url: str) -> None:
    """Make the tables that a membership needs."""
    with psycopg.connect(url, autocommit=True) as connection:
        for text in (SchemaManager.get_schema(), LEASES, MEMBERSHIP_TABLES, MEMBERSHIP_FUNCTIONS):
            connection.execute(text.encode())


def give_lease(url: str, thread: str, epoch: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        given = SQL(
            "insert into lease values(%s, %s) on conflict(thread) do update set epoch = excluded.epoch"
        )
        connection.execute(given, (thread, epoch))
