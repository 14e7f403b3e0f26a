"""Whose a name is: whoever bore it first keeps it as it is, and others of that name are shown with a tail.

It is written down once, so that what was shown once never means somebody else. For the names.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from collections.abc import Iterator
from itertools import count
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.journal import Journal
from daemon.kinds import NameTaken
from daemon.mind.recall import NAME_LENGTH, clean_name_text
from daemon.slack.policy import BotIdentity

ALIKE = (
    ("АВЕЅІЈКМНОРСТУХ", "ABESIJKMHOPCTYX"),  # noqa: RUF001 - Cyrillic
    ("авекмһіјӏонрстухѕԁԛԝ", "abekmhijlohpctyxsdqw"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),  # noqa: RUF001 - Greek
    ("αβεικνορτυχω", "abeikvoptuxw"),
    ("ı1|0", "illo"),  # noqa: RUF001 - and digits
)
"""Letters that look like others."""
LATIN = re.compile(r"LATIN (?:(?:SMALL|CAPITAL) )?LETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH .*)?")
"""How Unicode calls a Latin letter, whatever its form and marks."""


class NameRegister:
    """The names of one workspace, in whatever life of the daemon they were taken."""

    def __init__(self, journal: Journal, me: BotIdentity) -> None:
        self._journal = journal
        self._me = me
        self._shown: dict[tuple[str, str], str] = {}
        self._own = _key(me.team, me.name)
        self._own_ids = (me.user, me.bot)

    def known_display_name(self, id: str, name: str) -> str:
        """What somebody of this name is shown as; the name, if that was never asked."""
        return self._shown.get((id, name), name)

    async def claim_display_name(self, id: str, name: str, handle: str) -> str:
        """What somebody of this name is shown as. Raises JournalError."""
        if (id, name) not in self._shown:
            self._shown[id, name] = await self._first_of_theirs(id, name, handle)
        return self._shown[id, name]

    def preview_display_name(self, id: str, name: str, handle: str) -> str:
        """The same, without writing anything down. Raises JournalError."""
        if (id, name) in self._shown or id in self._own_ids:
            return self.known_display_name(id, name)
        return next(one for one in _candidates(id, name, handle) if self._holder(one) in ("", id))

    async def _first_of_theirs(self, id: str, name: str, handle: str) -> str:
        if id in self._own_ids:
            return name
        for candidate in _candidates(id, name, handle):
            if (self._holder(candidate) or await self._claim_name(candidate, id)) == id:
                return candidate
        raise AssertionError("there is always another candidate")

    def _holder(self, name: str) -> str:
        """Whose name this is; empty where nobody had it yet."""
        key = _key(self._me.team, name)
        if key == self._own:
            return self._me.user
        return _user(self._journal.get(key))

    async def _claim_name(self, name: str, id: str) -> str:
        """Whose name this is from now on."""
        thread, key = f"slack:{self._me.team}", _key(self._me.team, name)
        entry, _ = await self._journal.append(thread, NameTaken(user=id), key=key, author="core")
        return entry.event.user


def _user(taken: Entry[Any] | None) -> str:
    return str(taken.event.user) if taken else ""


def _candidates(id: str, name: str, handle: str) -> Iterator[str]:
    """What somebody may be shown as: as they are called, then with what they alone have."""
    yield name
    if handle:
        yield _with_tail(name, f"@{handle}")
    yield _with_tail(name, id)
    for number in count(2):
        yield _with_tail(name, f"{id}, {number}")


def _with_tail(name: str, tail: str) -> str:
    """The name with its tail, so short that no prompt cuts it off."""
    room = max(NAME_LENGTH - len(tail) - 3, 1)
    return f"{clean_name_text(name)[:room].rstrip()} ({tail})"


def _key(team: str, name: str) -> str:
    """The key of a name, and of all that look like it; it does not tell the name."""
    return f"name:{team}:{hashlib.sha256(name_skeleton(clean_name_text(name)).encode()).hexdigest()}"


def name_skeleton(name: str) -> str:
    """What names that look alike have in common: case, marks, blanks and the script of a letter are lost."""
    letters = "".join(map(_letter, unicodedata.normalize("NFKD", name).translate(_alike()))).casefold()
    found = "".join(filter(str.isalnum, letters)).translate(_alike())
    found = found.replace("i", "l").replace("rn", "m").replace("vv", "w")
    return found or "".join(unicodedata.normalize("NFKC", name).split())


def _letter(sign: str) -> str:
    if sign.isascii():
        return sign
    found = LATIN.fullmatch(unicodedata.name(sign, ""))
    return found[1] if found else sign


@functools.cache
def _alike() -> dict[int, str]:
    """The letter that each of them looks like."""
    return {ord(one): other for ours, theirs in ALIKE for one, other in zip(ours, theirs, strict=True)}
