"""For which conversation something is meant that is said at the top of a DM: one that waits for just that is
older than the one that it would begin.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from daemon.engine.event import Entry
from daemon.engine.journal import Journal
from daemon.kinds import Asked, Opened
from daemon.slack.message import Message
from daemon.slack.policy import Me
from daemon.slack.stop_signals import at_work, is_late
from daemon.slack.words import command
from daemon.soul.taking import is_newer, may_answer, onward


def meant(journal: Journal, message: Message, me: Me, owners: Collection[str]) -> Message:
    """The message, in the conversation that it is for: a stop, "go on", or an answer.

    What has come already stays where it went, also when it comes again, or is changed.
    """
    if message.kind != "dm" or message.root != message.ts:
        return message
    known = journal.get(f"msg:{me.team}:{message.channel}:{message.ts}")
    if known:
        found = journal.latest_of_kind(known.thread, Opened)
    elif command(message, me) == "stop":
        found = _at_work(journal, message)
    else:
        found = _waiting_for(journal, message, me, owners)
    if found and found.event.ts:
        return replace(message, root=found.event.ts)
    return message


def _at_work(journal: Journal, message: Message) -> Entry[Opened] | None:
    """The conversation of this DM at work, in which something came last; none that is about what is newer."""
    for one in at_work(journal):
        is_here = one.event.channel == message.channel and one.event.ts
        if is_here and not is_late(journal, one.thread, message.ts):
            return one
    return None


def _waiting_for(journal: Journal, message: Message, me: Me, owners: Collection[str]) -> Entry[Opened] | None:
    """The conversation of this DM that asked this person something last, of what these words answer."""
    if message.change or command(message, me):
        return None
    for question in reversed(journal.pending_entries(Asked)):
        answers = question.event.words or (question.event.resumes and onward(message.text))
        theirs = may_answer(question, message.author, owners) and is_newer(journal, question, message.ts)
        if answers and theirs:
            for found in journal.latest_first(question.thread, Opened):
                if found.event.channel == message.channel and found.event.ts:
                    return found
    return None
