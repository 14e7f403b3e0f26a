"""The workspace that the soul is in, as all that speaks or listens there is given it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from daemon.engine.journal import Journal
from daemon.inner.neighbours import BotTraffic
from daemon.kinds import moment_of
from daemon.knowledge.forgotten import ForgottenPeople
from daemon.knowledge.places import KnownChannels
from daemon.slack.archive import time_of
from daemon.slack.channel_ids import ChannelIdTable
from daemon.slack.mark import read_speech_metadata
from daemon.slack.names import PeopleDirectory
from daemon.slack.other_daemon import OtherDaemonDetector
from daemon.slack.policy import AccessPolicy, BotIdentity
from daemon.slack.web import Item, WebApi


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackWorkspace:
    """Who we are there, who else is, and what the journal knows of it.

    `owners` are ids of people: they may stop anything, and are always heard. `wake` makes a thread take its
    turn.
    """

    web: WebApi
    me: BotIdentity
    people: PeopleDirectory
    allowed: AccessPolicy
    owners: frozenset[str]
    journal: Journal
    wake: Callable[[str], None]
    places: KnownChannels
    forgotten: ForgottenPeople
    meetings: BotTraffic
    """How much there is between the bots that it answers and the soul."""
    journal_id: str
    """What messages of ours tell by which journal they stand in."""
    channel_ids: ChannelIdTable
    other: OtherDaemonDetector
    """Whether another daemon uses the same app."""

    def is_forgotten(self, person: str, ts: str) -> bool:
        """Does this person want forgotten what they said or did then?"""
        return moment_of(ts) <= self.forgotten.forgotten_until(person)

    def check_own_message(self, item: Item) -> None:
        """Does this message, which is the soul's own, name another journal?"""
        journal = read_speech_metadata(item).journal
        if journal not in ("", self.journal_id):
            self.other.note_foreign_message(journal, time_of(item))

    @property
    def mentionable_ids(self) -> frozenset[str]:
        """Who may be mentioned: the owners, and those of the bots that can be."""
        return self.owners | self.allowed.mentionable_bots
