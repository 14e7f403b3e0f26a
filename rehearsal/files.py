"""Files that people share: how they stand in the store, how Slack shows them, and who may read them.

A file is announced, then its bytes come, then it is shared; where it is shared is a row for each message.
"""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import dataclass
from mimetypes import MimeTypes
from typing import Any
from urllib.parse import quote

from rehearsal.channels import StoredChannel, all_channels
from rehearsal.people import TEAM, TEAM_URL, TokenOwner
from rehearsal.refusal import ApiError
from rehearsal.workspace_store import MICROS, ts_of

MOST = 64_000_000
"""The largest file that is taken, in bytes; more than the soul reads."""
ROOM = 256_000_000
"""Bytes of files that are kept in all."""
LONGEST_NAME = 255
COLUMNS = "select id, user, name, title, size, created, content is not null, shared from file"
KNOWN = MimeTypes(())
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MIMETYPES = {"docx": WORD, "md": "text/markdown", "jsonl": "application/json"}
"""What Python does not know by itself on every machine."""
FILETYPES = {"": "binary", "htm": "html", "js": "javascript", "md": "markdown", "py": "python", "txt": "text"}
"""Slack's names of types, where they are not the end of the file's name."""
SHARED = """
select share.channel, share.stamp from share join message on message.stamp = share.stamp
where share.file = ? and coalesce(json_extract(message.body, '$.subtype'), '') != 'tombstone'
order by share.stamp
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file of somebody's. `there`: its bytes have come; `shared`: it was shared, or kept for oneself."""

    id: str
    user: str
    name: str
    title: str
    size: int
    created: int
    there: bool
    shared: bool

    @property
    def filetype(self) -> str:
        """Slack's name of its type."""
        ending = _ending(self.name)
        return FILETYPES.get(ending, ending)

    @property
    def mimetype(self) -> str:
        """Its type, by the end of its name."""
        ending = _ending(self.name)
        guessed, _ = KNOWN.guess_type(f"x.{ending}")
        return MIMETYPES.get(ending) or guessed or "application/octet-stream"


def announce(db: sqlite3.Connection, user: str, name: str, size: int, stamp: int) -> tuple[str, str]:
    """A file that is going to come: its id, and the ticket under which it may."""
    if size > MOST:
        raise ApiError("file_upload_size_restricted")
    (kept,) = db.execute("select coalesce(sum(size), 0) from file where content is not null").fetchone()
    if kept + size > ROOM:
        raise ApiError("storage_limit_reached")
    (number,) = db.execute("select count(*) from file").fetchone()
    id, ticket = f"F0FILE{number:05d}", secrets.token_urlsafe(24)
    sql = "insert into file (id, user, name, title, size, created, ticket) values (?, ?, ?, ?, ?, ?, ?)"
    named = name.replace("/", "_")[:LONGEST_NAME]
    db.execute(sql, (id, user, named, named, size, stamp, ticket))
    return id, ticket


def awaited(db: sqlite3.Connection, ticket: str) -> int | None:
    """How many bytes are to come under this ticket; None where it is none, or was used."""
    row = db.execute("select size from file where ticket = ? and content is null", (ticket,)).fetchone()
    return int(row[0]) if row else None


def receive(db: sqlite3.Connection, ticket: str, content: bytes) -> None:
    """The bytes have come."""
    db.execute("update file set content = ?, ticket = null where ticket = ?", (content, ticket))


def file_of(db: sqlite3.Connection, id: str) -> StoredFile:
    """The file of this id, else file_not_found."""
    row = db.execute(f"{COLUMNS} where id = ?", (id,)).fetchone()
    if row is None:
        raise ApiError("file_not_found")
    id, user, name, title, size, created, there, shared = row
    return StoredFile(
        id=id,
        user=user,
        name=name,
        title=title,
        size=size,
        created=created,
        there=bool(there),
        shared=bool(shared),
    )


def content_of(db: sqlite3.Connection, file: StoredFile) -> bytes:
    """Its bytes."""
    (content,) = db.execute("select content from file where id = ?", (file.id,)).fetchone()
    return bytes(content)


def finish(db: sqlite3.Connection, file: StoredFile, title: str) -> StoredFile:
    """It is complete, and has this title."""
    db.execute("update file set shared = 1, title = ? where id = ?", (title, file.id))
    return file_of(db, file.id)


def share(db: sqlite3.Connection, file: StoredFile, channel: str, stamp: int) -> None:
    """It stands in this message."""
    db.execute("insert into share values (?, ?, ?)", (file.id, channel, stamp))


def readable(db: sqlite3.Connection, id: str, caller: TokenOwner) -> StoredFile:
    """The file, if it is the caller's or stands where they may read; else file_not_found."""
    file = file_of(db, id)
    if not file.there:
        raise ApiError("file_not_found")
    if file.user != caller.id and not any(_reads(caller, channel) for channel, _ in _places(db, file)):
        raise ApiError("file_not_found")
    return file


def file_json(file: StoredFile, origin: str) -> dict[str, Any]:
    """A file as messages hold it; `origin` is where the world is asked for its bytes."""
    place, name = f"{TEAM}-{file.id}", quote(file.name, safe="")
    text = file.mimetype.startswith("text/")
    return {
        "id": file.id,
        "created": file.created // MICROS,
        "timestamp": file.created // MICROS,
        "name": file.name,
        "title": file.title,
        "mimetype": file.mimetype,
        "filetype": file.filetype,
        "pretty_type": file.filetype.upper(),
        "user": file.user,
        "user_team": TEAM,
        "editable": text,
        "size": file.size,
        "mode": "snippet" if text else "hosted",
        "is_external": False,
        "external_type": "",
        "is_public": False,
        "public_url_shared": False,
        "display_as_bot": False,
        "username": "",
        "url_private": f"{origin}/files-pri/{place}/{name}",
        "url_private_download": f"{origin}/files-pri/{place}/download/{name}",
        "permalink": f"{TEAM_URL}files/{file.user}/{file.id}/{name}",
        "is_starred": False,
        "has_rich_preview": False,
        "file_access": "visible",
    }


def shares_json(db: sqlite3.Connection, file: StoredFile) -> dict[str, Any]:
    """Where it is shared, as files.info tells."""
    shares: dict[str, dict[str, list[dict[str, str]]]] = {}
    for channel, stamp in _places(db, file):
        kind = "public" if channel.kind == "channel" else "private"
        shares.setdefault(kind, {}).setdefault(channel.id, []).append({"ts": ts_of(stamp)})
    return {"shares": shares}


def _places(db: sqlite3.Connection, file: StoredFile) -> list[tuple[StoredChannel, int]]:
    """The messages in which it still stands: their channels and stamps."""
    rows = db.execute(SHARED, (file.id,)).fetchall()
    channels = {channel.id: channel for channel in all_channels(db)}
    return [(channels[channel], stamp) for channel, stamp in rows]


def _reads(caller: TokenOwner, channel: StoredChannel) -> bool:
    """A bot reads where it is a member; a person also reads public channels."""
    return caller.id in channel.members or (caller.kind == "user" and channel.shown_to(caller.id))


def _ending(name: str) -> str:
    _, dot, ending = name.rpartition(".")
    return ending.lower() if dot else ""
