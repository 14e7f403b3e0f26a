"""The workspace that the soul is in, as all that speaks or listens there is given it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from daemon.engine.journal import Journal
from daemon.inner.neighbours import Neighbours
from daemon.kinds import moment
from daemon.knowledge.forgotten import ForgottenWords
from daemon.knowledge.places import Places
from daemon.slack.archive import at
from daemon.slack.channel_ids import ChannelIds
from daemon.slack.mark import marked
from daemon.slack.names import People
from daemon.slack.other_daemon import OtherDaemon
from daemon.slack.policy import Allowed, Me
from daemon.slack.web import Item, Web


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Who we are there, who else is, and what the journal knows of it.

    `owners` are ids of people: they may stop anything, and are always heard. `wake` makes a thread take its
    turn.
    """

    web: Web
    me: Me
    people: People
    allowed: Allowed
    owners: frozenset[str]
    journal: Journal
    wake: Callable[[str], None]
    places: Places
    forgotten: ForgottenWords
    meetings: Neighbours
    """How much there is between the bots that it answers and the soul."""
    journal_id: str
    """What messages of ours tell by which journal they stand in."""
    channel_ids: ChannelIds
    other: OtherDaemon
    """Whether another daemon uses the same app."""

    def is_forgotten(self, person: str, ts: str) -> bool:
        """Does this person want forgotten what they said or did then?"""
        return moment(ts) <= self.forgotten.forgotten_until(person)

    def check_own_message(self, item: Item) -> None:
        """Does this message, which is the soul's own, name another journal?"""
        journal = marked(item).journal
        if journal not in ("", self.journal_id):
            self.other.note_foreign_message(journal, at(item))

    @property
    def mentionable_ids(self) -> frozenset[str]:
        """Who may be mentioned: the owners, and those of the bots that can be."""
        return self.owners | self.allowed.mentionable_bots
