"""Shared files: storage, form in Slack and access."""

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
"""Bytes per file, more than the soul reads."""
ROOM = 256_000_000
"""Bytes of all files."""
LONGEST_NAME = 255
COLUMNS = "select id, user, name, title, size, created, content is not null, shared from file"
KNOWN = MimeTypes(())
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MIMETYPES = {"docx": WORD, "md": "text/markdown", "jsonl": "application/json"}
"""Types unknown to Python on some machines."""
FILETYPES = {"": "binary", "htm": "html", "js": "javascript", "md": "markdown", "py": "python", "txt": "text"}
"""Slack's file types that differ from the extension."""
SHARED = """
select share.channel, share.stamp from share join message on message.stamp = share.stamp
where share.file = ? and coalesce(json_extract(message.body, '$.subtype'), '') != 'tombstone'
order by share.stamp
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """File. `there`: it is uploaded; `shared`: shared, or kept private."""

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
        ending = _ending(self.name)
        return FILETYPES.get(ending, ending)

    @property
    def mimetype(self) -> str:
        ending = _ending(self.name)
        guessed, _ = KNOWN.guess_type(f"x.{ending}")
        return MIMETYPES.get(ending) or guessed or "application/octet-stream"


def announce(db: sqlite3.Connection, user: str, name: str, size: int, stamp: int) -> tuple[str, str]:
    """Announce a file; return its id and upload ticket."""
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
    """Return the announced size of an upload; None for an invalid or used ticket."""
    row = db.execute("select size from file where ticket = ? and content is null", (ticket,)).fetchone()
    return int(row[0]) if row else None


def receive(db: sqlite3.Connection, ticket: str, content: bytes) -> None:
    db.execute("update file set content = ?, ticket = null where ticket = ?", (content, ticket))


def file_of(db: sqlite3.Connection, id: str) -> StoredFile:
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
    (content,) = db.execute("select content from file where id = ?", (file.id,)).fetchone()
    return bytes(content)


def finish(db: sqlite3.Connection, file: StoredFile, title: str) -> StoredFile:
    db.execute("update file set shared = 1, title = ? where id = ?", (title, file.id))
    return file_of(db, file.id)


def share(db: sqlite3.Connection, file: StoredFile, channel: str, stamp: int) -> None:
    db.execute("insert into share values (?, ?, ?)", (file.id, channel, stamp))


def readable(db: sqlite3.Connection, id: str, caller: TokenOwner) -> StoredFile:
    """Return a file. Raises file_not_found unless the caller may read it."""
    file = file_of(db, id)
    if not file.there:
        raise ApiError("file_not_found")
    if file.user != caller.id and not any(_reads(caller, channel) for channel, _ in _places(db, file)):
        raise ApiError("file_not_found")
    return file


def file_json(file: StoredFile, origin: str) -> dict[str, Any]:
    """Return a file as messages show it; `origin` is this server's address."""
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
    shares: dict[str, dict[str, list[dict[str, str]]]] = {}
    for channel, stamp in _places(db, file):
        kind = "public" if channel.kind == "channel" else "private"
        shares.setdefault(kind, {}).setdefault(channel.id, []).append({"ts": ts_of(stamp)})
    return {"shares": shares}


def _places(db: sqlite3.Connection, file: StoredFile) -> list[tuple[StoredChannel, int]]:
    rows = db.execute(SHARED, (file.id,)).fetchall()
    channels = {channel.id: channel for channel in all_channels(db)}
    return [(channels[channel], stamp) for channel, stamp in rows]


def _reads(caller: TokenOwner, channel: StoredChannel) -> bool:
    """True for members, and for people in public channels."""
    return caller.id in channel.members or (caller.kind == "user" and channel.shown_to(caller.id))


def _ending(name: str) -> str:
    _, dot, ending = name.rpartition(".")
    return ending.lower() if dot else ""
