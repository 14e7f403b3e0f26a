"""What was said before the soul was called in, in its thread or above it, and its own words that it is asked
about: the first step of an execution that can fetch it.

Once Slack is asked the step is recorded whatever came of it, so that a replay sees what the first attempt
saw; where there is nothing to ask for, there is none. Where Slack does not answer, the next turn asks again.

A DM is one conversation, though each message at its top begins a thread: what was said in the others is
carried over into each, as a fact of its own, before anything is asked.

At a thread's first turn that is what it begins with, and at each later one what the others kept since, which
stands after all that the thread has seen.

An execution that begins again, because what it asks has changed: what it knows of what it had done.

Its log is one memory, and after it stands what was said in the thread since its first begin. What it does
not ask any more loses its buttons.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from daemon.engine.event import Entry, Input, in_seq_order, of_kind
from daemon.engine.journal.writer import Fence
from daemon.engine.kinds import ExecutionRestarted
from daemon.kinds import (
    ActionObserved,
    ButtonPress,
    CommandRan,
    ConversationOpened,
    DmContextImported,
    EarlierMessagesFetched,
    IncomingMessage,
    ModelCall,
    PersonMessage,
    QuestionAnswered,
    QuestionAsked,
    RestartLog,
    SoulTurnBegan,
    SoulTurnEnded,
    SpeechFinished,
)
from daemon.memory import Memory
from daemon.ports import EarlierMessages, EarlierMessageSource
from daemon.prompts.elements import escape_tags
from daemon.turn.questions import remove_buttons
from daemon.turn.recall import entry_as_memory, recall_kept
from daemon.turn.speech import whisper
from daemon.turn.turn import Turn

PATIENCE = 30.0
"""Seconds that an answer waits for it."""


TRIES = 5
"""Turns of a thread in which it is tried."""


async def fetch_earlier_messages(turn: Turn) -> None:
    """Fetch it, where nobody has. Whoever stops the soul ends this, too.

    What is found there that called the soul in, too, and has no answer yet, is answered by this turn.
    """
    key = turn.ctx.next_key("overheard")
    called: Sequence[int] = ()
    if not turn.ctx.read_back(key) and turn.opened and _may_be_fetched(turn):
        called = await _overhear(turn, turn.opened.event, key)
    await turn.answer_also(called)


async def _overhear(turn: Turn, place: ConversationOpened, key: str) -> Sequence[int]:
    """Fetch what was said, where that is wanted, and return the inputs that were found there."""
    unasked = _said_unasked(turn, place)
    if (place.is_whole and not unasked) or not _is_wanted(turn):
        return ()
    earlier = await _fetch(turn, turn.deps.surroundings)
    found = await _kept(turn, earlier, unasked)
    turn.add_earlier_messages(await turn.execution.append_soon(found, key))
    return earlier.called if earlier else ()


def _may_be_fetched(turn: Turn) -> bool:
    """Does this execution answer somebody, and is it at its very beginning?"""
    return not turn.execution.record.is_replaying and turn.apart is None and turn.addressed


def _said_unasked(turn: Turn, place: ConversationOpened) -> Sequence[int]:
    """What the soul itself said there, and is answered now."""
    root = turn.deps.people.places.find_unprompted(place.team, place.channel, place.ts)
    if not root:
        return []
    return [root]


def _is_wanted(turn: Turn) -> bool:
    """Was it never fetched whole, nor tried too often?"""
    fetches = turn.journal.thread_entries(turn.thread, EarlierMessagesFetched)
    tries = [fetch.event for fetch in fetches if fetch.seq < turn.began_seq]
    return len(tries) < TRIES and not any(fetch.whole for fetch in tries)


async def _kept(turn: Turn, found: EarlierMessages | None, unasked: Sequence[int]) -> EarlierMessagesFetched:
    """Append what was said: all of it at once, as a thread may be long."""
    if found is None:
        return EarlierMessagesFetched(seqs=tuple(unasked), whole=False)
    fence = Fence(thread=turn.thread, epoch=turn.execution.epoch)
    append = turn.journal.append
    appends = [
        append(turn.thread, heard.event, key=heard.key, author=heard.author, fence=fence)
        for heard in found.heard
    ]
    kept = [entry.seq for entry, _ in await asyncio.gather(*appends)]
    seqs = dict.fromkeys([*unasked, *found.own, *kept])
    return EarlierMessagesFetched(seqs=tuple(seqs), whole=True)


async def _fetch(turn: Turn, surroundings: EarlierMessageSource) -> EarlierMessages | None:
    """What Slack shows of it; None where it does not, or not in time, or somebody stops the soul."""
    fetching = asyncio.create_task(surroundings.earlier_messages(turn.thread))
    ends = (
        fetching,
        asyncio.create_task(turn.execution.stopping.wait()),
        asyncio.create_task(turn.deps.clock.sleep(PATIENCE)),
    )
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if not fetching.done():
            return None
        return fetching.result()
    finally:
        for end in ends:
            end.cancel()
        await asyncio.gather(*ends, return_exceptions=True)


WAITING = 20
"""Messages of other conversations, not answered yet, of which it hears."""


async def import_dm_context(turn: Turn) -> None:
    """Fix it once for each execution, as of its first begin; one that begins again sees the same again."""
    key = turn.ctx.next_key("carried-over")
    recorded: Entry[DmContextImported] | None = turn.ctx.read_back(key)
    for before in turn.execution.recorded_entries(DmContextImported):
        recorded = recorded or before
    if recorded:
        turn.add_dm_context(recorded.event)
        return
    if not turn.in_dm or turn.apart is not None or turn.execution.record.is_replaying:
        return
    seqs = tuple(memory.seq for memory in _said_elsewhere(turn) if memory.seq)
    if seqs:
        found = DmContextImported(seqs=seqs, before=turn.began_seq)
        turn.add_dm_context(await turn.execution.append_soon(found, key))


def _said_elsewhere(turn: Turn) -> list[Memory]:
    """What was said in this DM and is new to this thread: what was kept, then what waits for an answer."""
    dms, past = turn.deps.pasts.dms, turn.past
    if past.carried or past.memories:
        kept = dms.kept_elsewhere(turn.thread, past.carried, turn.began_seq)
    else:
        kept = dms.initial_context(turn.thread, turn.began_seq)
    said = [*kept, *recall_kept(_waiting(turn))]
    return [memory for memory in said if turn.is_unseen(memory.seq)]


def _waiting(turn: Turn) -> Sequence[Entry[IncomingMessage]]:
    """What was said in other conversations of this DM, and has no answer yet."""
    dms = turn.deps.pasts.dms
    waiting = []
    for said in turn.journal.pending_entries(IncomingMessage):
        elsewhere = said.thread != turn.thread and dms.are_same_dm(said.thread, turn.thread)
        if elsewhere and said.seq < turn.began_seq and not said.event.command:
            waiting.append(said)
    return waiting[-WAITING:]


async def recall_restart_log(turn: Turn) -> None:
    """What was done before is one memory, and what was said since stands after it."""
    if not turn.execution.restarts:
        return
    lines = [_done(entry) for entry in turn.execution.restart_log if not entry.event.taken_from]
    done = "\n".join([line for line in lines if line])
    words = turn.prompt("prompts/interrupted", log=done or "nothing yet")
    log = await turn.record(RestartLog(text=words))
    turn.restart_log = entry_as_memory(log)
    said = [entry_as_memory(entry, turn.tag_suffix) for entry in _said_since(turn)]
    turn.memory = turn.memory.with_memory(turn.restart_log, *said)


def _done(entry: Entry[Any]) -> str:
    """What an entry tells of what was done, in a line; empty where it tells nothing."""
    match entry.event:
        case ModelCall(outcome="ok" | "cut", text=text):
            return f"thought: {text}"
        case SpeechFinished(text=text):
            return f"said: {text}"
        case QuestionAnswered(text=text) if text:
            return f"heard: {text}"
        case CommandRan(name=name, ok=True, args=args):
            return f"did: {name} {escape_tags(str(args))}"
        case ActionObserved(name=name, text=text):
            return f"{name}: {escape_tags(text)}"
    return ""


def _said_since(turn: Turn) -> Sequence[Entry[Any]]:
    """What people said to it after its first begin, and what others kept here, up to the restart."""
    journal, execution = turn.journal, turn.execution
    restart = journal.get(f"{execution.abandoned[-1]}/restarted")
    assert restart
    began: Entry[SoulTurnBegan] = journal.entry(restart.cause or 0)
    own = set(began.event.inputs)
    others = set[int]()
    for ended in journal.thread_entries(turn.thread, SoulTurnEnded, since=turn.began_seq):
        its: Entry[SoulTurnBegan] = journal.entry(ended.cause or 0)
        if ended.seq > restart.seq:
            break
        if its.event.execution == execution.id:
            own.update(ended.closes)
        else:
            others.update(ended.event.keep)
    own.difference_update(turn.first.event.inputs)
    said = of_kind(PersonMessage, journal.entries_at(sorted(own)))
    words = [entry for entry in said if not isinstance(entry.event, ButtonPress)]
    kept = journal.entries_at(sorted(others))
    return in_seq_order([*words, *kept])


async def report_void_answers(turn: Turn, answers: Sequence[Entry[Input]]) -> None:
    """Whoever pressed what nobody asks any more is told so, and the buttons of that go."""
    for given in of_kind(ButtonPress, answers):
        sentence = turn.prompt("prompts/sentences/changed")
        await whisper(turn, f"void-{given.seq}", given.event.user, sentence)
    for asked in _left(turn):
        await remove_buttons(turn, asked, "")


def _left(turn: Turn) -> Sequence[Entry[QuestionAsked]]:
    """The questions that were left with a restart in this turn, and whose messages serve no other one."""
    journal = turn.journal
    left = list[Entry[QuestionAsked]]()
    for restart in journal.thread_entries(turn.thread, ExecutionRestarted, since=turn.execution.began.seq):
        left += of_kind(QuestionAsked, journal.entries_at(restart.closes))
    now = of_kind(SpeechFinished, journal.entries_under(turn.execution.path))
    taken_over = {entry.event.ts for entry in now if entry.event.taken_from}
    found = []
    for asked in left:
        said = of_kind(SpeechFinished, journal.entries_at(asked.event.said))
        messages = {entry.event.ts for entry in said}
        if messages.isdisjoint(taken_over):
            found.append(asked)
    return found
