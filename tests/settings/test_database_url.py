"""DATABASE_URL, MACHINE and AT_WORK: values that are taken, and the sentence for each that is not."""

from __future__ import annotations

import os

import pytest

from config import OWN_KEYS, Settings
from daemon.settings.database_url import shown_database_url
from daemon.settings.parse import ConfigError

PASSWORD = "geheim"
URL = f"postgresql://soul:{PASSWORD}@db.example.org/soul"


def complaint(environ: dict[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        Settings.from_env(environ)
    [said] = str(caught.value).splitlines()
    return said


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "postgres://localhost",
        "postgresql:///soul",
        "postgresql://soul@[::1]:5433/soul",
        "postgresql://soul:a:b%40c%25@%2Fvar%2Frun%2Fpostgresql/soul",
        "postgresql://soul:x@one:5432,two:5433,three/soul?target_session_attrs=read-write",
        "postgresql://soul:x@one/soul?sslmode=verify-full&sslrootcert=/etc/ca.pem&options=-csearch_path%3Dsoul",
    ],
)
def test_urls_are_taken_as_libpq_takes_them(url: str) -> None:
    assert Settings.from_env({"DATABASE_URL": url}).database_url == url


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("geheim", "DATABASE_URL is not a URL that begins with postgresql:// (it has 6 characters)."),
        ("host=db password=geheim", "is not a URL that begins with postgresql://"),
        ("mysql://soul:geheim@db/soul", "begins with mysql://, and the journal can only be in PostgreSQL"),
        ("postgresql+psycopg://soul:geheim@db/soul", "begins with postgresql+psycopg://, and the journal"),
        ("postgresql:soul", "is not a URL that begins with postgresql://"),
        ("postgresql://soul:ge@heim@db/soul", "@, / , ? or # in a user or password is written as"),
        ("postgresql://soul:1/geheim@db/soul", "cannot be read as a URL of PostgreSQL"),
        ("postgresql://soul:geheim x@db/soul", "cannot be read as a URL of PostgreSQL"),
        ("postgresql://soul:geheim\nx@db/soul", "holds a line break or another control character"),
        ("postgresql://soul:ge%heim@db/soul", "a % in a user or password is written as %25"),
        ("postgresql://soul:geheim/soul", "has a host (number 1) that is not like host:5432"),
        ("postgresql://soul:geheim@one,two:70000/soul", "has a host (number 2) that is not like host:5432"),
        ("postgresql://db/soul?options=-csearch_path=geheim", "a = within a value is written as %3D"),
        ("postgresql://db/soul?sslmode", "has a part after ? that is not like name=value"),
    ],
)
def test_what_is_no_url_of_postgres_is_said_without_the_password(url: str, said: str) -> None:
    found = complaint({"DATABASE_URL": url})
    assert said in found
    assert "leave it out for SQLite" in found
    assert PASSWORD not in found


def test_the_password_is_in_no_text_about_the_settings_and_goes_to_no_tool_server() -> None:
    settings = Settings.from_env({"DATABASE_URL": URL})
    assert PASSWORD not in repr(settings)
    assert shown_database_url(URL) == "postgresql://db.example.org/soul"
    assert shown_database_url("host=db password=geheim") == "the database"
    assert "DATABASE_URL" in OWN_KEYS


def test_with_a_database_one_socket_is_usual_and_without_it_two() -> None:
    assert Settings.from_env({}).slack_connections == 2
    assert Settings.from_env({"DATABASE_URL": URL}).slack_connections == 1
    assert Settings.from_env({"DATABASE_URL": URL, "SLACK_CONNECTIONS": "3"}).slack_connections == 3
    assert "Slack allows one to ten" in complaint({"SLACK_CONNECTIONS": "11"})


def test_the_machine_is_named_after_its_host_unless_it_has_a_name_of_its_own() -> None:
    assert Settings.from_env({}).machine_name == os.uname().nodename
    assert Settings.from_env({"MACHINE": "soul-2.example.org"}).machine_name == "soul-2.example.org"


@pytest.mark.parametrize("name", ["two words", "-x", "a/b", "x" * 64, "soul:1"])
def test_a_machine_has_a_name_that_fits_into_a_line(name: str) -> None:
    assert "MACHINE is not a name of up to 63 letters" in complaint({"MACHINE": name})


def test_daemons_at_work_are_one_or_all() -> None:
    assert Settings.from_env({}).at_work == "one"
    assert Settings.from_env({"AT_WORK": "ALL"}).at_work == "all"
    assert complaint({"AT_WORK": "two"}) == (
        "AT_WORK is not one or all (it has 3 characters). Write one or all; one is usual."
    )
