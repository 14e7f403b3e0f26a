"""First steps of an execution: earlier messages, DM context, log after a restart.

Earlier messages are those before the soul was called into a thread, and its own message to which people
reply. A failed fetch is recorded for replays; a later turn tries again. Each top-level message of a DM begins
a thread, so messages of its other threads are imported.
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

FETCH_TIMEOUT = 30.0
"""Seconds that an answer may be delayed by the fetch of earlier messages."""


MOST_FETCHES = 5
"""Most turns of a thread that try the fetch."""


MOST_WAITING_MESSAGES = 20
"""Most unanswered messages imported from other threads of the DM."""


async def fetch_earlier_messages(turn: Turn) -> None:
    """Fetch earlier messages unless the thread has them; a stop ends the fetch.

    The turn also answers unanswered ones that called the soul.
    """
    key = turn.ctx.next_key("overheard")
    called: Sequence[int] = ()
    if not turn.ctx.read_back(key) and turn.opened and _may_be_fetched(turn):
        called = await _fetch_and_record(turn, turn.opened.event, key)
    await turn.answer_also(called)


async def _fetch_and_record(turn: Turn, place: ConversationOpened, key: str) -> Sequence[int]:
    unprompted = _unprompted_root(turn, place)
    if (place.is_whole and not unprompted) or not _is_wanted(turn):
        return ()
    earlier = await _fetch(turn, turn.deps.surroundings)
    found = await _record_earlier(turn, earlier, unprompted)
    turn.add_earlier_messages(await turn.execution.append_soon(found, key))
    return earlier.called if earlier else ()


def _may_be_fetched(turn: Turn) -> bool:
    return not turn.execution.record.is_replaying and turn.apart is None and turn.addressed


def _unprompted_root(turn: Turn, place: ConversationOpened) -> Sequence[int]:
    root = turn.deps.people.places.find_unprompted(place.team, place.channel, place.ts)
    if not root:
        return []
    return [root]


def _is_wanted(turn: Turn) -> bool:
    fetches = turn.journal.thread_entries(turn.thread, EarlierMessagesFetched)
    tries = [fetch.event for fetch in fetches if fetch.seq < turn.began_seq]
    return len(tries) < MOST_FETCHES and not any(fetch.whole for fetch in tries)


async def _record_earlier(
    turn: Turn, found: EarlierMessages | None, unprompted: Sequence[int]
) -> EarlierMessagesFetched:
    """Append all fetched messages in one batch, as a thread may be long."""
    if found is None:
        return EarlierMessagesFetched(seqs=tuple(unprompted), whole=False)
    fence = Fence(thread=turn.thread, epoch=turn.execution.epoch)
    append = turn.journal.append
    appends = [
        append(turn.thread, heard.event, key=heard.key, author=heard.author, fence=fence)
        for heard in found.heard
    ]
    kept = [entry.seq for entry, _ in await asyncio.gather(*appends)]
    seqs = dict.fromkeys([*unprompted, *found.own, *kept])
    return EarlierMessagesFetched(seqs=tuple(seqs), whole=True)


async def _fetch(turn: Turn, surroundings: EarlierMessageSource) -> EarlierMessages | None:
    fetching = asyncio.create_task(surroundings.earlier_messages(turn.thread))
    ends = (
        fetching,
        asyncio.create_task(turn.execution.stopping.wait()),
        asyncio.create_task(turn.deps.clock.sleep(FETCH_TIMEOUT)),
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


async def import_dm_context(turn: Turn) -> None:
    """Import context from the DM's other threads, once per execution, restarts included."""
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
    dms, past = turn.deps.pasts.dms, turn.past
    if past.carried or past.memories:
        kept = dms.kept_elsewhere(turn.thread, past.carried, turn.began_seq)
    else:
        kept = dms.initial_context(turn.thread, turn.began_seq)
    said = [*kept, *recall_kept(_waiting(turn))]
    return [memory for memory in said if turn.is_unseen(memory.seq)]


def _waiting(turn: Turn) -> Sequence[Entry[IncomingMessage]]:
    dms = turn.deps.pasts.dms
    waiting = []
    for said in turn.journal.pending_entries(IncomingMessage):
        elsewhere = said.thread != turn.thread and dms.are_same_dm(said.thread, turn.thread)
        if elsewhere and said.seq < turn.began_seq and not said.event.command:
            waiting.append(said)
    return waiting[-MOST_WAITING_MESSAGES:]


async def recall_restart_log(turn: Turn) -> None:
    """Add to the memory a log of the work before a restart, and the messages since."""
    if not turn.execution.restarts:
        return
    lines = [_log_line(entry) for entry in turn.execution.restart_log if not entry.event.taken_from]
    done = "\n".join([line for line in lines if line])
    words = turn.prompt("prompts/interrupted", log=done or "nothing yet")
    log = await turn.record(RestartLog(text=words))
    turn.restart_log = entry_as_memory(log)
    said = [entry_as_memory(entry, turn.tag_suffix) for entry in _said_since(turn)]
    turn.memory = turn.memory.with_memory(turn.restart_log, *said)


def _log_line(entry: Entry[Any]) -> str:
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
    """Return messages and kept entries of other executions from between the execution's first begin and its
    restart.
    """
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
    """Tell people that they pressed buttons of a question that is over; remove the buttons."""
    for given in of_kind(ButtonPress, answers):
        sentence = turn.prompt("prompts/sentences/changed")
        await whisper(turn, f"void-{given.seq}", given.event.user, sentence)
    for asked in _questions_before_restart(turn):
        await remove_buttons(turn, asked, "")


def _questions_before_restart(turn: Turn) -> Sequence[Entry[QuestionAsked]]:
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
