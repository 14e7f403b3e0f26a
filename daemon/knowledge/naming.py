"""Whom a name meant when it was written down: names are not unique, and change."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.keys import root_of
from daemon.kinds import PersonMessage


class NameHistory:
    """Who was called what, where, as of the entries that were taken so far.

    So nobody can take the name of somebody else to be shown, or to have forgotten, what was noted about them.
    """

    def __init__(self) -> None:
        self._here: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._anywhere: defaultdict[str, set[str]] = defaultdict(set)
        self._spoke = set[tuple[str, str]]()
        self._names: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def add_entry(self, entry: Entry[Any]) -> None:
        """The next entry."""
        event = entry.event
        if isinstance(event, PersonMessage) and event.name and not entry.forgotten:
            for name in {event.name.casefold(), (event.chosen or event.name).casefold()}:
                self._here[root_of(entry.thread), name].add(event.user)
                self._anywhere[name].add(event.user)
            self._spoke.add((root_of(entry.thread), event.user))
            self._names[event.user][event.name] = None

    def person_named(self, name: str, thread: str) -> str:
        """The person of this name in this conversation, else the only one of all; empty where unsure."""
        name = name.casefold()
        people = self._here.get((root_of(thread), name)) or self._anywhere.get(name, set())
        if len(people) != 1:
            return ""
        [person] = people
        return person

    def names(self, person: str) -> Sequence[str]:
        """What they were called whenever they said something."""
        return [*self._names.get(person, ())]

    def has_spoken(self, person: str, thread: str) -> bool:
        """Has this person said anything in this conversation?"""
        return (root_of(thread), person) in self._spoke


def without_call_mention(text: str, name: str) -> str:
    """Return what somebody said without the mention that calls the soul, `@Name`, before it or after it."""
    if not name or f"@{name}" not in text:
        return text
    call = rf"@{re.escape(name)}(?!\w)"
    return re.sub(rf"^(?:\s*{call}[,:]?\s*)+|(?:\s*{call})+\s*$", "", text) or text
