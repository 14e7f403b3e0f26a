"""Who is answered: an event's message, and whether and how it is meant for the soul. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from daemon.slack.message import Message
from daemon.slack.place import moment

Address = Literal["dm", "mention", "follow-up", "late", "heard", "ignored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """The soul's own identity in Slack."""

    team: str
    user: str
    bot: str
    name: str

    def said(self, user: object, bot: object) -> bool:
        """Is a message of this user, or of this bot, one of our own?"""
        return user == self.user or bool(self.bot and bot == self.bot)

    def called_in(self, message: Message) -> bool:
        """Does it mention the soul?"""
        return message.called or self.user in message.mentions


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """Who may speak to the soul, by id. No users and no channels named means all of them; no bots, none."""

    users: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()
    bots: frozenset[str] = frozenset()

    def bar(self, person: str, channel: str, kind: str) -> str:
        """Why this person may not speak to the soul in a conversation of this kind; empty if they may."""
        if bar := self.bar_from(channel, kind):
            return bar
        return "not an allowed person" if self.users and person not in self.users else ""

    def bar_from(self, channel: str, kind: str) -> str:
        """Why nobody may speak to it there; empty if that is allowed."""
        shut = kind != "dm" and self.channels and channel not in self.channels
        return "not an allowed channel" if shut else ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a message is to the soul, and why."""

    address: Address
    why: str


def judge(
    message: Message, me: Me, allowed: Allowed, called_by: str | None, *, late: bool = False
) -> Verdict:
    """Judge a message. `called_by` is what called the soul into its thread; None: it takes no part there.

    What would be answered, but is read too late for that, is "late".
    """
    if me.said(message.user, message.bot):
        return Verdict("ignored", "its own message")
    verdict = _address(message, me, called_by)
    if verdict.address not in ("heard", "ignored") and (bar := _bar(message, me, allowed)):
        verdict = Verdict("heard", bar)
    if verdict.address == "heard" and called_by is None:
        return Verdict("ignored", f"{verdict.why}, in a thread in which the soul takes no part")
    if late and verdict.address not in ("heard", "ignored"):
        return Verdict("late", f"{verdict.why}, and is too old to be answered")
    return verdict


def _address(message: Message, me: Me, called_by: str | None) -> Verdict:
    if message.change:
        return Verdict("heard", message.change)
    if message.kind == "dm":
        return Verdict("dm", "a direct message")
    if me.called_in(message):
        return Verdict("mention", "mentions the soul")
    if message.mentions:
        return Verdict("heard", "is for someone else")
    if called_by is None:
        return Verdict("ignored", "a thread in which the soul takes no part")
    if moment(message.ts) < moment(called_by):
        return Verdict("heard", "was said before the soul was called in")
    return Verdict("follow-up", "goes on in a thread of the soul's")


def _bar(message: Message, me: Me, allowed: Allowed) -> str:
    """Why this message may not speak to the soul; empty when it may."""
    if not message.by_bot:
        return allowed.bar(message.user, message.channel, message.kind)
    if bar := allowed.bar_from(message.channel, message.kind):
        return bar
    if not allowed.bots & {message.user, message.bot}:
        return "not an allowed bot"
    return "" if me.called_in(message) else "a bot that does not mention the soul"
