"""A thread with the soul at work, in recorded entries."""

from __future__ import annotations

from typing import Any, Literal

from daemon.engine.event import Entry, Event
from daemon.kinds import (
    IncomingMessage,
    QuestionAsked,
    SoulTurnBegan,
    SoulTurnEnded,
    SpeechBegan,
    SpeechFinished,
    StopRequest,
)
from rehearsal.people import BOB
from tests.slack.office import GENERAL, ME, Office
from tests.slack.voice import ours

SIGN = "octagonal_sign"


async def begins(here: Office, *inputs: Entry[Event], life: int = 0) -> Entry[SoulTurnBegan]:
    thread, cause = inputs[0].thread, inputs[0].seq
    began = SoulTurnBegan(
        execution=f"{thread}@{cause}",
        inputs=tuple(entry.seq for entry in inputs),
        process="conversation",
        texts="",
        life=life,
    )
    key = f"{began.execution}/began"
    entry, _ = await here.journal.append(thread, began, key=key, author="core", cause=cause)
    return entry


async def ends(
    here: Office, began: Entry[SoulTurnBegan], outcome: Literal["completed", "suspended"] = "completed"
) -> None:
    await here.journal.append(
        began.thread,
        SoulTurnEnded(outcome=outcome),
        key=f"{began.event.execution}/ended",
        author="soul",
        cause=began.seq,
        closes=[began.seq, *began.event.inputs],
    )


async def parks(here: Office, began: Entry[SoulTurnBegan]) -> Entry[QuestionAsked]:
    """Ask and suspend."""
    execution = began.event.execution
    asked, _ = await here.journal.append(
        began.thread,
        QuestionAsked(execution=execution),
        key=f"{execution}/ask#1",
        author="soul",
        cause=began.seq,
    )
    await ends(here, began, "suspended")
    return asked


async def answers(here: Office, began: Entry[SoulTurnBegan], text: str = "Hm.") -> str:
    key = f"{began.event.execution}/say#1"
    intent, _ = await here.journal.append(
        began.thread, SpeechBegan(), key=key, author="soul", cause=began.seq
    )
    ts = await here.slack.speaker.finish(began.thread, None, text, key, ours)
    await here.journal.append(
        began.thread,
        SpeechFinished(ts=ts, text=text, upto=len(text)),
        key=f"{key}!receipt",
        author="soul",
        cause=intent.seq,
        closes=[intent.seq],
    )
    return ts


def stops(here: Office) -> list[Entry[StopRequest]]:
    return here.entries(StopRequest)


async def called(here: Office) -> str:
    """Call the soul as Alice and begin; return the ts."""
    root = await here.say("alice", GENERAL, f"{ME} count to a million")
    await begins(here, here.entries(IncomingMessage)[-1])
    await here.caught_up()
    here.woken.clear()
    return root


async def react(here: Office, name: str, ts: str, emoji: str = SIGN, channel: str = GENERAL) -> None:
    await here.client(name).reactions_add(channel=channel, timestamp=ts, name=emoji)
    await here.acked()


async def session_stop(here: Office, root: str, **changes: Any) -> None:
    """Press Slack's Stop button."""
    event = {"type": "agent_session_stopped", "channel": GENERAL, "user": BOB.id, "thread_ts": root}
    await here.event(
        event={**event, "streaming_message_ts": [], "event_ts": f"{here.clock.now():.6f}", **changes}
    )
