"""Messages of the soul's own that stand in Slack and that the journal does not know: after a restore, say.

A life of the daemon said them whose journal is gone; what it answered there is answered. A message that the
journal knows proves nothing: people may have asked while it was being written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.engine.event import Entry, digest
from daemon.engine.journal import Journal
from daemon.kinds import CardIntended, SpeechBegan, thread_key
from daemon.slack.archive import time_of
from daemon.slack.mark import read_speech_metadata
from daemon.slack.own_workspace import SlackWorkspace
from daemon.slack.payload import first_text, objects_at
from daemon.slack.place import OURS, conversation_of
from daemon.slack.web import Item
from daemon.soul.utterance import last_known_ts

NO_ANSWERS = frozenset({"actions", "context"})
"""Blocks that stand in questions and in cards alone: neither is an answer."""


@dataclass(frozen=True, slots=True)
class OwnMessageLookup:
    """Tells those that the journal knows from those that it does not."""

    workspace: SlackWorkspace

    def unknown_messages(self, channel: str, root: str, items: Iterable[Item]) -> list[Item]:
        """Of what stands in this thread, what the soul said in a life that the journal knows nothing of."""
        me = self.workspace.me
        own = [item for item in items if me.is_own_message(item.get("user"), item.get("bot_id"))]
        if not own:
            return []
        for item in own:
            self.workspace.check_own_message(item)
        journal = self.workspace.journal
        known = conversation_of(journal, thread_key(me.team, channel, root))
        unasked = self.workspace.places.find_unprompted
        own = [item for item in own if not unasked(me.team, channel, str(item.get("ts")))]
        if known is None:
            return own
        said: list[Entry[Any]] = journal.thread_entries(known.thread, *OURS)
        told_of = {entry.event.ts for entry in said}
        own = [item for item in own if item.get("ts") not in told_of]
        if own:
            begun = _BegunSpeeches.in_thread(journal, known.thread)
            own = [item for item in own if not begun.may_include(item)]
        return own

    def answered_messages(self, unknown: Sequence[Item], items: Iterable[Item]) -> frozenset[str]:
        """Which messages of this thread these have answered, by their ts.

        One that does not say what it answers, as an older version wrote it, answers all that stands above it.
        """
        found = set[str]()
        above = 0.0
        for item in unknown:
            answers = read_speech_metadata(item).answers
            if answers is not None:
                found |= answers
            elif not NO_ANSWERS & {first_text(block, "type") for block in objects_at(item, "blocks")}:
                above = max(above, time_of(item))
        found.update(str(item.get("ts")) for item in items if time_of(item) < above)
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class _BegunSpeeches:
    """The messages that were begun in one thread, as the journal says; those `pending` may still come."""

    journal: Journal
    thread: str
    intents: Sequence[Entry[Any]]
    pending: Collection[int]

    @classmethod
    def in_thread(cls, journal: Journal, thread: str) -> _BegunSpeeches:
        """Those of this thread."""
        intents: list[Entry[Any]] = journal.thread_entries(thread, SpeechBegan, CardIntended)
        pending = journal.still_pending([intent.seq for intent in intents])
        return cls(journal, thread, intents, set(pending))

    def may_include(self, item: Item) -> bool:
        """May this message be one of them? While it grows it has no key.

        A restored journal uses the keys of its lost life again, so that what is older than all that was known
        when the message was begun is another one.
        """
        key = read_speech_metadata(item).key
        for intent in self.intents:
            named = key == digest(intent.key) if key else intent.seq in self.pending
            if named and time_of(item) >= last_known_ts(self.journal, self.thread, intent.seq):
                return True
        return False
