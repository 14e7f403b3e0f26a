"""Channels, DMs and group DMs with their members."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rehearsal.people import SOUL, handle_of
from rehearsal.refusal import ApiError
from rehearsal.workspace_store import MICROS, add_channel

TYPES = {"public_channel": "channel", "private_channel": "group", "mpim": "mpim", "im": "im"}
COLUMNS = "select id, kind, name, creator, created from channel"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChannel:
    """Conversation. `kind` is Slack's channel_type: channel, group, im or mpim."""

    id: str
    kind: str
    name: str
    creator: str
    created: int
    members: tuple[str, ...]

    @property
    def shared(self) -> bool:
        """True if shared with another company: its name begins with "ext-"."""
        return self.name.startswith("ext-")

    def shown_to(self, user: str) -> bool:
        return self.kind == "channel" or user in self.members


def all_channels(db: sqlite3.Connection) -> list[StoredChannel]:
    return [_channel(db, row) for row in db.execute(f"{COLUMNS} order by place").fetchall()]


def channel_of(db: sqlite3.Connection, id: str, user: str) -> StoredChannel:
    """Return a conversation. Raises channel_not_found if this user may not see it."""
    row = db.execute(f"{COLUMNS} where id = ?", (id,)).fetchone()
    if row is not None:
        channel = _channel(db, row)
        if channel.shown_to(user):
            return channel
    raise ApiError("channel_not_found")


def joined_channel(db: sqlite3.Connection, id: str, user: str) -> StoredChannel:
    """Return a conversation. Raises not_in_channel unless this user is a member."""
    channel = channel_of(db, id, user)
    if user not in channel.members:
        raise ApiError("not_in_channel")
    return channel


def channel_named(db: sqlite3.Connection, name: str) -> str:
    """Return the id of a channel named like "#general"; return anything else unchanged."""
    row = db.execute("select id from channel where '#' || name = ?", (name,)).fetchone()
    return name if row is None else str(row[0])


def direct(db: sqlite3.Connection, members: Sequence[str], soul: str) -> tuple[StoredChannel, bool]:
    """Return the conversation of exactly these users, and True if it existed. `soul` is its name."""
    wanted = set(members)
    for channel in all_channels(db):
        if channel.kind in ("im", "mpim") and set(channel.members) == wanted:
            return channel, True
    if len(wanted) <= 2:
        return _create(db, "im", "", members), False
    handles = "--".join([handle_of(user, soul) for user in members])
    return _create(db, "mpim", f"mpdm-{handles}-1", members), False


def create(db: sqlite3.Connection, name: str, private: bool, creator: str) -> StoredChannel:
    """Create a channel; the soul joins public ones."""
    _must_be_free(db, name)
    if private:
        return _create(db, "group", name, [creator])
    return _create(db, "channel", name, [creator, SOUL.user])


def rename(db: sqlite3.Connection, channel: StoredChannel, name: str) -> StoredChannel:
    _must_be_free(db, name)
    db.execute("update channel set name = ? where id = ?", (name, channel.id))
    return replace(channel, name=name)


def renumber(db: sqlite3.Connection, channel: StoredChannel, id: str, private: bool) -> StoredChannel:
    """Change a channel's id, as Slack does when it is shared or made private."""
    for table in ("member", "message", "share"):
        db.execute(f"update {table} set channel = ? where channel = ?", (id, channel.id))
    kind = "group" if private else channel.kind
    db.execute("update channel set id = ?, kind = ? where id = ?", (id, kind, channel.id))
    return replace(channel, id=id, kind=kind)


def _must_be_free(db: sqlite3.Connection, name: str) -> None:
    if name in [channel.name for channel in all_channels(db)]:
        raise ApiError("name_taken")


def invite(db: sqlite3.Connection, channel: StoredChannel, user: str) -> None:
    if user in channel.members:
        raise ApiError("already_in_channel")
    db.execute("insert into member values (?, ?)", (channel.id, user))


def channel_json(channel: StoredChannel, user: str) -> dict[str, Any]:
    shared: dict[str, Any] = {
        "id": channel.id,
        "created": channel.created // MICROS,
        "is_im": channel.kind == "im",
        "is_archived": False,
        "is_shared": channel.shared,
        "is_ext_shared": channel.shared,
        "is_org_shared": False,
        "is_pending_ext_shared": False,
    }
    if channel.kind == "im":
        others = [member for member in channel.members if member != user] or [user]
        return shared | {"user": others[0], "is_user_deleted": False, "priority": 0}
    return shared | {
        "name": channel.name,
        "name_normalized": channel.name,
        "creator": channel.creator,
        "is_channel": channel.kind == "channel",
        "is_group": channel.kind == "group",
        "is_mpim": channel.kind == "mpim",
        "is_private": channel.kind != "channel",
        "is_general": channel.name == "general",
        "is_member": user in channel.members,
        "num_members": len(channel.members),
        "topic": {"value": "", "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
    }


def _create(db: sqlite3.Connection, kind: str, name: str, members: Sequence[str]) -> StoredChannel:
    (number,) = db.execute("select count(*) from channel").fetchone()
    initial = "D" if kind == "im" else "C"
    id = f"{initial}0MADE{number:05d}"
    add_channel(db, id, kind, name, tuple(dict.fromkeys(members)))
    return channel_of(db, id, members[0])


def _channel(db: sqlite3.Connection, row: tuple[str, str, str, str, int]) -> StoredChannel:
    id, kind, name, creator, created = row
    members = db.execute("select user from member where channel = ? order by rowid", (id,)).fetchall()
    return StoredChannel(
        id=id,
        kind=kind,
        name=name,
        creator=creator,
        created=created,
        members=tuple(user for (user,) in members),
    )
