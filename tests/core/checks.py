"""Checks of a scenario's end, after any number of kills."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from daemon.app.journal_commands import verify_journal
from daemon.engine.event import PART, Entry, Event, Input
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import (
    AttemptFailed,
    ExecutionRestarted,
    InputsReceived,
    OutageBegan,
    ThreadSpawned,
    TurnEnded,
    TurnResumed,
    WaitBegan,
    WorkerStopped,
)
from daemon.kinds import (
    SOUL_KINDS,
    CardShown,
    ClaimMade,
    ContextCleared,
    ModelCall,
    PromptShortened,
    QuestionAsked,
    SoulTurnBegan,
    SpeechBegan,
    SpeechFinished,
)
from tests.core.file_world import LOST, FileSlack, PhaseClock
from tests.core.inner_life_checks import inner_waits
from tests.core.scenario import CoreScenario
from tests.core.waiting_scenarios import CUT, FAILED, SLOW, UNREACHABLE
from tests.crashes.json_lines import read_lines

BEGINNINGS = (UNREACHABLE, FAILED, SLOW)


def unfinished_work(home: Path) -> str | None:
    """Return work that neither worker of a split brain finished, except for a lasting outage."""

    async def unfinished() -> list[str]:
        async with Journal(home / "journal.db", PhaseClock(0), SOUL_KINDS) as journal:
            resumed = Counter(entry.cause for entry in journal.entries_of_kind(TurnResumed))
            own = len(journal.entries_of_kind(AttemptFailed))  # a turn that failed by itself is resumed, too
            fought = [TurnResumed.kind] * (max(resumed.values(), default=0) > 2 + own)
            waiting = {entry.thread for entry in journal.pending_entries(OutageBegan)}
            open_yet: list[Entry[Event]] = journal.pending_entries(SoulTurnBegan, Input, SpeechBegan)
            left = read_lines(home / LOST)
            open_yet = [one for one in open_yet if not (one.thread in left and _came_late(journal, one))]
            return fought + [entry.kind for entry in open_yet if entry.thread not in waiting]

    kinds = asyncio.run(unfinished())
    return f"after a split brain, one worker did not finish alone: {kinds}" if kinds else None


def _came_late(journal: Journal, entry: Entry[Event]) -> bool:
    if not isinstance(entry.event, Input):
        return False
    held: list[Entry[Any]] = journal.thread_entries(entry.thread, SoulTurnBegan, TurnResumed)
    holder = held[-1].event.life if held else 0
    begun: list[Entry[Any]] = journal.entries_of_kind(SoulTurnBegan, TurnResumed)
    later = [one for one in begun if one.event.life == holder and one.seq > entry.seq]
    return not later and holder in {one.event.life for one in journal.entries_of_kind(WorkerStopped)}


def check_outcome(home: Path, scenario: CoreScenario) -> None:
    """Check that nothing is lost, doubled, paid twice or pending, and people read a known ending."""
    asyncio.run(_check_journal(home, scenario))
    told = FileSlack(home).messages()
    texts = [message["text"] for message in told]
    is_honest = not scenario.endings or any(fits(texts, ending) for ending in scenario.endings)
    assert is_honest, f"people read {texts}"
    scenario.check(home)


def fits(texts: Sequence[str], ending: Sequence[str]) -> bool:
    """True if people read this ending; fixed sentences match by their beginning."""

    def matches(text: str, end: str) -> bool:
        return (
            text == end
            or (end in BEGINNINGS and text.startswith(end))
            or (end == CUT and text.endswith(" …") and not text.endswith("… …"))
        )

    return len(texts) == len(ending) and all(map(matches, texts, ending))


async def _check_journal(home: Path, scenario: CoreScenario) -> None:
    async with Journal(home / "journal.db", PhaseClock(9), SOUL_KINDS) as journal:
        for event in scenario.inputs:
            kind = "heard" if event.heard else "msg"
            key = f"{kind}:T:{event.thread}:{event.ts}"
            if event.edits:
                key = f"{kind}:T:{event.thread}:{event.edits}:edited:{event.ts}"
            assert journal.get(key), f"lost: {event}"
        waiting = [
            entry.event for entry in journal.pending_entries(Event) if entry.seq not in inner_waits(journal)
        ]
        if any(isinstance(one, QuestionAsked) and one.to for one in waiting):  # branches may wait for these
            waiting = [one for one in waiting if not isinstance(one, ThreadSpawned | WaitBegan)]
        left = Counter(one.kind for one in waiting if not (isinstance(one, QuestionAsked) and one.to))
        assert not left, f"unanswered: {dict(left)}"  # questions may stay pending
        open_now = journal.pending_entries(QuestionAsked, WaitBegan)
        forsaken = [entry.key for entry in open_now if not _is_awaited(journal, entry)]
        assert not forsaken, f"nobody goes on at the answer: {forsaken}"
        restarted = journal.entries_of_kind(ExecutionRestarted)
        assert scenario.restarts or not restarted, f"restarted: {[entry.event.why for entry in restarted]}"
        if restarted:
            asked = str(read_lines(home / "llm.jsonl")) + str(
                [entry.event for entry in journal.entries_of_kind(SpeechFinished)]
            )
            assert "<note>" in asked or "I do not know" in asked, "it did not hear of the old execution"
        standing = sorted(message["ts"] for message in FileSlack(home).messages())
        cards = {entry.event.ts for entry in journal.entries_of_kind(CardShown)}
        spoken = [
            entry.event for entry in journal.entries_of_kind(SpeechFinished) if not entry.event.taken_from
        ]
        claimed = sorted([*cards, *(one.ts for one in spoken)])
        assert standing == claimed, f"in Slack stand {standing}, and {claimed} are known"
        assert not (broken := verify_journal(journal).violations), f"against the rules: {broken[0]}"
        _check_prefix(journal, home)
        greeted = [entry for entry in journal.entries_of_kind(ClaimMade) if entry.key.startswith("greeted:")]
        people = {one.user for one in scenario.inputs if not (one.heard or one.stops or one.answers)}
        assert not greeted or len(greeted) == len(people), f"greeted {len(greeted)} times"


def _is_awaited(journal: Journal, waits: Entry[Any]) -> bool:
    if isinstance(waits.event, WaitBegan) and not waits.event.resumes:
        return True
    execution = waits.event.execution
    current = journal.execution_paths(execution)[-1]
    if not waits.key.startswith((f"{current}/", f"{current}{PART}")):
        return False
    turns = [
        entry
        for entry in journal.thread_entries(waits.thread, SoulTurnBegan)
        if entry.event.execution == execution
    ]
    last = turns[-1].key.removesuffix("/began")
    ended = journal.get(f"{last}/ended")
    return ended is not None and isinstance(ended.event, TurnEnded) and ended.event.outcome == "suspended"


def _check_prefix(journal: Journal, home: Path) -> None:
    asked = {line["saw"]: line["messages"] for line in read_lines(home / "llm.jsonl")}
    before: dict[tuple[str, ...], list[list[str]]] = {}
    for call in journal.entries_of_kind(ModelCall, ContextCleared, PromptShortened, InputsReceived):
        if isinstance(call.event, InputsReceived) and "/edited#" not in call.key:
            continue
        if not isinstance(call.event, ModelCall):  # meant to change the prompt
            before = {line: old for line, old in before.items() if line[0] != call.thread}
            continue
        if call.event.outcome != "ok" or call.event.name in ("judge", "tick"):
            continue
        line: tuple[str, ...] = (call.thread, str(call.event.texts))
        if call.event.role != "speak":
            line += (call.key.partition("!")[0].rpartition("#")[0],)
        messages = asked[call.event.saw]
        old = before.get(line, [])
        assert messages[: len(old)] == old, f"the prompt does not only grow: {call.key}"
        before[line] = messages
