"""The setting DATABASE_URL: a URL as libpq takes it, checked so that no error can show its password."""

from __future__ import annotations

import re

from daemon.settings.parse import read_name, unlike_message

SCHEMES = ("postgresql", "postgres")

SCHEME = re.compile(r"([a-z][a-z0-9+.-]{0,30})://", re.IGNORECASE)
"""Beginning of any URL, short enough to be no secret."""

DATABASE_URL = re.compile(
    r"postgres(?:ql)?://"
    r"(?:(?P<user>[^:@/?#\s]*)(?::(?P<password>[^@/?#\s]*))?@)?"
    r"(?P<hosts>[^@/?#\s]*)"
    r"(?:/(?P<database>[^@/?#\s]*))?"
    r"(?:\?(?P<query>[^@#\s]*))?"
)

HOST = re.compile(r"(?:\[[0-9a-fA-F:.]+(?:%25[\w.-]+)?\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")

NO_ENCODING = re.compile(r"%(?![0-9a-fA-F]{2})|%00")

CONTROL = re.compile(r"[\x00-\x1f\x7f]")

MACHINE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def read_database_url(text: str) -> str:
    """Parse a URL of PostgreSQL, which may name several hosts."""
    scheme = SCHEME.match(text)
    if scheme is None:
        raise ValueError(unlike_message(text, "a URL that begins with postgresql://"))
    if scheme[1] not in SCHEMES:
        raise ValueError(f"begins with {scheme[1]}://, and the journal can only be in PostgreSQL")
    if CONTROL.search(text):
        raise ValueError("holds a line break or another control character")
    found = DATABASE_URL.fullmatch(text)
    if found is None:
        raise ValueError(
            "cannot be read as a URL of PostgreSQL: a space, @, / , ? or # in a user or password is written"
            " as %20, %40, %2F, %3F or %23"
        )
    if NO_ENCODING.search(text):
        raise ValueError("holds a % that begins no character: a % in a user or password is written as %25")
    _check_hosts(found["hosts"])
    _check_query(found["query"] or "")
    return text


def _check_hosts(hosts: str) -> None:
    for place, one in enumerate(hosts.split(","), 1):
        host = HOST.fullmatch(one)
        if host is None or (host["port"] and not 0 < int(host["port"]) <= 65535):
            raise ValueError(
                f"has a host (number {place}) that is not like host:5432; several have commas between them"
            )


def _check_query(query: str) -> None:
    for part in query.split("&") if query else ():
        if part.count("=") != 1 or part.startswith("="):
            raise ValueError(
                "has a part after ? that is not like name=value; a = within a value is written as %3D"
            )


def shown_database_url(url: str) -> str:
    """Return the URL for people: its hosts and its database, without the user, the password and options."""
    found = DATABASE_URL.fullmatch(url)
    if found is None:
        return "the database"
    return f"postgresql://{found['hosts']}/{found['database'] or ''}"


def read_machine_name(text: str) -> str:
    if not MACHINE_NAME.fullmatch(read_name(text)):
        raise ValueError(unlike_message(text, "a name of up to 63 letters, digits, dots, - and _"))
    return text
