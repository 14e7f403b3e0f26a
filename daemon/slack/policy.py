"""Who is answered: an event's message, and whether and how it is meant for the soul. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from daemon.kinds import moment_of
from daemon.slack.message import SlackMessage
from daemon.slack.salutation import is_addressed_to_another

Address = Literal["dm", "mention", "follow-up", "late", "heard", "ignored"]
ANSWERED = ("dm", "mention", "follow-up")

SOMEWHERE = "https://slack.com/"
"""Where a workspace is that does not say: Slack leads on from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BotIdentity:
    """The soul's own identity in Slack."""

    team: str
    user: str
    bot: str
    name: str
    url: str = SOMEWHERE
    """Where the workspace is: links to its messages begin so."""

    def is_own_message(self, user: object, bot: object) -> bool:
        """Is a message of this user, or of this bot, one of our own?"""
        return user == self.user or bool(self.bot and bot == self.bot)

    def is_mentioned_in(self, message: SlackMessage) -> bool:
        """Does it mention the soul?"""
        return message.called or self.user in message.mentions


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """Who may speak to the soul, by id. No users and no channels named means all of them; no bots, none.

    `daily` is how many messages to and from bots there are at the most in a UTC day.
    """

    users: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()
    bots: frozenset[str] = frozenset()
    daily: int = 20

    @property
    def mentionable_bots(self) -> frozenset[str]:
        """Those of the bots that can be mentioned: they are named by the ids of their users."""
        return frozenset(bot for bot in self.bots if bot[:1] in ("U", "W"))

    def is_allowed_bot(self, message: SlackMessage) -> bool:
        """Did one of the bots write it that may speak to the soul?"""
        return message.is_by_bot and (message.user in self.bots or message.bot in self.bots)

    def may_be_heard(self, message: SlackMessage) -> bool:
        """May whoever said this speak to the soul there?"""
        if message.is_by_bot:
            return self.is_allowed_bot(message) and self.is_open_to_all(message.channel, message.kind)
        return self.may_speak(message.user, message.channel, message.kind)

    def may_speak(self, person: str, channel: str, kind: str) -> bool:
        """May this person speak to the soul in a conversation of this kind?"""
        return self.is_open_to_all(channel, kind) and (not self.users or person in self.users)

    def is_open_to_all(self, channel: str, kind: str) -> bool:
        """May anybody speak to it there?"""
        return kind == "dm" or not self.channels or channel in self.channels


def classify_message(
    message: SlackMessage,
    me: BotIdentity,
    allowed: AccessPolicy,
    called_by: str | None,
    *,
    late: bool = False,
    enough: bool = False,
) -> Address:
    """What a message of somebody else is to the soul. `called_by` called it into this thread; None: it takes
    no part there.

    What would be answered, but is read too late for that, is "late". `enough`: no bot is answered here now.
    """
    address = _address(message, me, called_by)
    ignores_bot = message.is_by_bot and (enough or not me.is_mentioned_in(message))
    if address in ANSWERED and (ignores_bot or not allowed.may_be_heard(message)):
        address = "heard"
    if address == "heard" and called_by is None:
        return "ignored"
    if address in ANSWERED and late:
        return "late"
    return address


def _address(message: SlackMessage, me: BotIdentity, called_by: str | None) -> Address:
    """What it would be if everybody might speak to the soul."""
    if message.change:
        return "heard"
    if message.kind == "dm":
        return "dm"
    if me.is_mentioned_in(message):
        return "mention"
    if is_addressed_to_another(message.text):
        return "heard"
    if called_by is None:
        return "ignored"
    if moment_of(message.ts) < moment_of(called_by):
        return "heard"
    return "follow-up"
