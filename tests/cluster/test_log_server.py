"""Servers that cannot hold the log, and the sentence that each gets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from daemon.cluster.log_server import LogUnreachable, ServerFacts, examine_server
from daemon.settings.parse import ConfigError
from rehearsal.postgres_server import FAST, free_port, run_postgres
from tests.cluster.pooler import pooled
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.soak import SOAK

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES
PASSWORD = "geheim-1-2-3"


def as_user(url: str, user: str) -> str:
    return url.replace("soul@", f"{user}@", 1)


def settings_error(url: str) -> str:
    with pytest.raises(ConfigError) as caught:
        examine_server(url)
    return str(caught.value)


def away(url: str) -> str:
    with pytest.raises(LogUnreachable) as caught:
        examine_server(url)
    return str(caught.value)


@pytest.fixture
def outsider(postgres_server: str) -> Iterator[str]:
    """A role without rights, which needs its password."""
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("create role outsider login password 'another'")
        [path] = connection.execute("show hba_file").fetchone() or ("",)
        rules = Path(path)
        before = rules.read_text()
        rules.write_text(f"host all outsider 127.0.0.1/32 scram-sha-256\n{before}")
        connection.execute("select pg_reload_conf()")
        yield "outsider"
        rules.write_text(before)
        connection.execute("select pg_reload_conf()")
        connection.execute("drop role outsider")


def test_a_server_that_can_hold_the_log_is_described(log_url: str) -> None:
    found = examine_server(log_url)
    assert int(found.version.split(".")[0]) >= 14
    assert found.schema.startswith("s_")
    assert (found.host, found.is_encrypted, found.replicas) == ("127.0.0.1", False, 0)


def test_a_wrong_password_is_a_wrong_setting_and_is_not_shown(postgres_server: str, outsider: str) -> None:
    said = settings_error(as_user(postgres_server, f"{outsider}:{PASSWORD}"))
    assert "refuses the user or the password: correct them in DATABASE_URL" in said
    assert PASSWORD not in said


def test_a_database_that_is_not_there_is_named(postgres_server: str) -> None:
    said = settings_error(postgres_server.replace("/postgres", "/nowhere"))
    assert "/nowhere has no database of that name: make it (createdb)" in said


def test_a_host_that_is_not_there_counts_as_away(postgres_server: str) -> None:
    nowhere = f"postgresql://soul:{PASSWORD}@127.0.0.1:{free_port()}/soul"
    said = away(nowhere)
    assert "cannot be reached" in said
    assert "Connection refused" in said
    assert PASSWORD not in said


def test_a_parameter_that_libpq_does_not_know_is_named(postgres_server: str) -> None:
    assert settings_error(f"{postgres_server}?pool=7") == (
        "DATABASE_URL: libpq has no parameter pool. Correct it."
    )


@pytest.mark.parametrize("option", ["target_session_attrs=primry", "options=-cnone%3D1", "port=70000"])
def test_a_value_of_an_option_that_waiting_does_not_mend_is_a_wrong_setting(
    postgres_server: str, option: str
) -> None:
    said = settings_error(f"{as_user(postgres_server, f'soul:{PASSWORD}')}?{option}")
    assert "with an option of DATABASE_URL: correct its value" in said
    assert PASSWORD not in said


@pytest.mark.parametrize("url", [f"soul:{PASSWORD}%FF@db/soul", f"soul:{PASSWORD}@{'h' * 64}/soul"])
def test_what_is_no_text_or_no_name_of_a_host_is_a_wrong_setting(url: str) -> None:
    said = settings_error(f"postgresql://{url}")
    assert "a part of it is no text in UTF-8, or a host is no name" in said
    assert PASSWORD not in said


@pytest.mark.parametrize(
    "option", ["client_encoding=LATIN1", "options=-cdefault_transaction_isolation%3Dserializable"]
)
def test_a_default_that_would_break_the_log_is_a_wrong_setting(postgres_server: str, option: str) -> None:
    said = settings_error(f"{postgres_server}?{option}")
    assert "leave it out of DATABASE_URL, or reset it for the role and the database" in said


def test_a_long_folder_of_a_socket_is_no_name_of_a_host() -> None:
    assert "No such file" in away(f"postgresql://%2F{'d' * 64}/soul")


def test_the_tls_that_the_url_asks_for_and_the_server_has_not_is_a_wrong_setting(
    postgres_server: str,
) -> None:
    assert "with the TLS that DATABASE_URL asks for" in settings_error(f"{postgres_server}?sslmode=require")


def test_a_role_that_may_not_create_tables_is_told_the_grant(log_url: str) -> None:
    with psycopg.connect(log_url, autocommit=True) as connection:
        connection.execute("create role reader login")
        [schema] = connection.execute("select current_schema").fetchone() or ("",)
        connection.execute(f"grant usage on schema {schema} to reader")
        said = settings_error(as_user(log_url, "reader"))
        connection.execute("drop owned by reader")
        connection.execute("drop role reader")
    assert f"`grant create on schema {schema} to reader`" in said


def test_a_schema_that_is_not_there_is_named(postgres_server: str) -> None:
    said = settings_error(f"{postgres_server}?options=-csearch_path%3Dnowhere")
    assert "has no schema nowhere: make it (`create schema nowhere`)" in said


def test_a_server_that_only_reads_counts_as_away_with_a_sentence_of_its_own(postgres_server: str) -> None:
    said = away(f"{postgres_server}?options=-cdefault_transaction_read_only%3Don")
    assert "only reads, as a replica does or a server in recovery" in said


@SOAK
def test_a_server_in_recovery_counts_as_away(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with run_postgres(tmp_path / "server", *FAST):
        pass
    (tmp_path / "server" / "data" / "standby.signal").touch()
    with run_postgres(tmp_path / "server", *FAST) as url:
        assert "only reads, as a replica does or a server in recovery" in away(url)


def test_a_pooler_in_transaction_mode_is_found_out(log_url: str) -> None:
    with pooled(log_url) as through:
        assert "as behind PgBouncer in transaction mode" in settings_error(through)


def test_a_server_older_than_14_is_refused(log_url: str) -> None:
    with pooled(log_url, as_version="13.11") as through:
        assert "is PostgreSQL 13, and the journal needs 14 or newer" in settings_error(through)


def test_of_several_hosts_the_one_that_takes_writes_is_used(log_url: str) -> None:
    host = log_url.split("@")[1].split("/")[0]
    several = log_url.replace(f"@{host}", f"@127.0.0.1:{free_port()},{host}")
    assert examine_server(f"{several}&target_session_attrs=read-write").schema.startswith("s_")
    only_reads = several.replace("options=", "options=-cdefault_transaction_read_only%3Don%20")
    assert "only reads" in away(f"{only_reads}&target_session_attrs=read-write")


def test_commits_that_a_crash_forgets_are_warned_of(log_url: str) -> None:
    lazy = log_url.replace("options=", "options=-csynchronous_commit%3Doff%20")
    [said, *_] = examine_server(lazy).warnings
    assert said.startswith("synchronous_commit is off at the journal's database")
    safe = log_url.replace("options=", "options=-csynchronous_commit%3Don%20")
    assert not [said for said in examine_server(safe).warnings if "synchronous_commit" in said]


def test_a_database_on_another_host_without_tls_is_warned_of(log_url: str) -> None:
    def unencrypted(found: ServerFacts) -> list[str]:
        return [said for said in found.warnings if "without TLS" in said]

    elsewhere = log_url.replace("@127.0.0.1", "@db.example.org") + "&hostaddr=127.0.0.1"
    [said] = unencrypted(examine_server(elsewhere))
    assert said.startswith("The journal's database on db.example.org is reached without TLS")
    assert not unencrypted(examine_server(log_url))
