"""For which conversation something is meant that is said at the top of a DM: one that waits for just that is
older than the one that it would begin.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from daemon.engine.event import Entry
from daemon.engine.journal import Journal
from daemon.kinds import ConversationOpened, QuestionAsked
from daemon.slack.message import SlackMessage
from daemon.slack.policy import BotIdentity
from daemon.slack.stop_signals import is_stop_late, working_threads
from daemon.slack.words import command_of
from daemon.soul.taking import may_answer, means_continue, was_written_after


def resolve_thread(
    journal: Journal, message: SlackMessage, me: BotIdentity, owners: Collection[str]
) -> SlackMessage:
    """The message, in the conversation that it is for: a stop, "go on", or an answer.

    What has come already stays where it went, also when it comes again, or is changed.
    """
    if message.kind != "dm" or message.root != message.ts:
        return message
    known = journal.get(f"msg:{me.team}:{message.channel}:{message.ts}")
    if known:
        found = journal.latest_of_kind(known.thread, ConversationOpened)
    elif command_of(message, me) == "stop":
        found = _at_work(journal, message)
    else:
        found = _waiting_for(journal, message, me, owners)
    if found and found.event.ts:
        return replace(message, root=found.event.ts)
    return message


def _at_work(journal: Journal, message: SlackMessage) -> Entry[ConversationOpened] | None:
    """The conversation of this DM at work, in which something came last; none that is about what is newer."""
    for one in working_threads(journal):
        is_here = one.event.channel == message.channel and one.event.ts
        if is_here and not is_stop_late(journal, one.thread, message.ts):
            return one
    return None


def _waiting_for(
    journal: Journal, message: SlackMessage, me: BotIdentity, owners: Collection[str]
) -> Entry[ConversationOpened] | None:
    """The conversation of this DM that asked this person something last, of what these words answer."""
    if message.change or command_of(message, me):
        return None
    for question in reversed(journal.pending_entries(QuestionAsked)):
        answers = question.event.words or (question.event.resumes and means_continue(message.text))
        theirs = may_answer(question, message.author, owners) and was_written_after(
            journal, question, message.ts
        )
        if answers and theirs:
            for found in journal.latest_first(question.thread, ConversationOpened):
                if found.event.channel == message.channel and found.event.ts:
                    return found
    return None
