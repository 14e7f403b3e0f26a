"""What the soul reads and takes no part in, kept for its inner life: chatter, and reactions.

It stands in the thread of its channel, which no conversation reads: nothing that is noticed is known, so that
whoever calls the soul later finds it like all that it has not heard. None of it wakes anyone.
"""

from __future__ import annotations

from typing import Any

from daemon.engine.event import Entry
from daemon.engine.keys import root_of
from daemon.kinds import AmbientMessage, ConversationOpened, ReactionChanged, thread_key
from daemon.slack.audience import AudienceTracker
from daemon.slack.message import SlackMessage, SlackReaction
from daemon.slack.own_workspace import SlackWorkspace
from daemon.slack.place import (
    OURS,
    conversation_of,
    conversation_of_message,
    open_channel_thread,
    record_said,
)
from daemon.slack.web import SKEW

MAX_REACTION_AGE = 7 * 86_400.0
"""Seconds for which a message of the soul's own is looked for: all that it said since is read for that."""


class AmbientRecorder:
    """Writes it down, of those alone who may speak to the soul. Its methods raise JournalError."""

    def __init__(self, workspace: SlackWorkspace, audiences: AudienceTracker) -> None:
        self._journal = workspace.journal
        self._people = workspace.people
        self._me = workspace.me
        self._allowed = workspace.allowed
        self._is_forgotten = workspace.is_forgotten
        self._audiences = audiences

    async def record_message(self, message: SlackMessage) -> None:
        """Keep one that is none of the soul's business, or how one that was kept has changed."""
        where = f"noticed:{self._me.team}:{message.channel}:{message.ts}"
        key = f"{where}:{message.change}:{message.changed}" if message.change else where
        known = message.change and self._journal.get(where)
        if self._journal.get(key) or not (known or self._allowed.may_be_heard(message)):
            return
        words = await self._people.describe(message)
        place = await self._place(
            message.channel, message.kind, message.author, message.changed or message.ts
        )
        event = AmbientMessage(**words, note=message.change)
        await record_said(self._journal, place, event, key)

    async def record_reaction(self, reaction: SlackReaction) -> None:
        """Keep a reaction: in the conversation that the message is part of, else in its channel's thread."""
        one = reaction
        team = self._me.team
        key = f"reaction:{team}:{one.channel}:{one.on}:{one.user}:{one.emoji}:{one.ts}"
        kind = ""
        if one.channel.startswith("D"):
            kind = "dm"
        if self._journal.get(key) or not self._may_react(one, kind):
            return
        if self._is_forgotten(one.user, one.ts):
            return
        place = conversation_of_message(self._journal, team, one.channel, one.on) or self._said_in(one)
        if place is None:
            place = await self._place(one.channel, kind, one.user, one.ts)
        event = ReactionChanged(
            user=one.user,
            name=await self._people.claim_display_name(one.user),
            emoji=one.emoji,
            on=one.on,
            ts=one.ts,
            removed=one.removed,
        )
        await record_said(self._journal, place, event, key)

    def _may_react(self, reaction: SlackReaction, kind: str) -> bool:
        if self._me.is_own_message(reaction.user, None):
            return False
        if reaction.user in self._allowed.bots:
            return self._allowed.is_open_to_all(reaction.channel, kind)
        return self._allowed.may_speak(reaction.user, reaction.channel, kind)

    async def _place(self, channel: str, kind: str, person: str, ts: str) -> Entry[ConversationOpened]:
        """The thread of this channel, after it is noted who can read it at `ts`."""
        where = await self._people.look_up_conversation(channel, kind, person)
        known = conversation_of(self._journal, thread_key(self._me.team, channel, ""))
        if known:
            await self._audiences.record_found(channel, where.audience, ts)
            return known
        place = await open_channel_thread(
            self._journal, team=self._me.team, channel=channel, where=where, user=person
        )
        self._audiences.recorded_audience(place.event)
        return place

    def _said_in(self, reaction: SlackReaction) -> Entry[ConversationOpened] | None:
        """The conversation in which the soul itself said this lately."""
        on = float(reaction.on)
        if reaction.whose != self._me.user or float(reaction.ts) - on > MAX_REACTION_AGE:
            return None
        said: list[Entry[Any]] = self._journal.entries_of_kind(*OURS, at=max(on - SKEW, 0.0))
        for entry in said:
            if entry.event.ts == reaction.on:
                for place in self._journal.latest_first(root_of(entry.thread), ConversationOpened):
                    if place.event.channel == reaction.channel:
                        return place
        return None
