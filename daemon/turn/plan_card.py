"""The plan of a conversation as one card in Slack: a message that changes in place and is not said again.

It lasts for as long as its thread stays in a process. What it shows is known from the journal; what a kill
or a refusal leaves in doubt is looked for in Slack. A card is a nicety: no turn fails for it for long.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from daemon.engine.event import Entry, fingerprint, part_key
from daemon.errors import CardDeleted, CardRefused, PostFailed, PostRefused
from daemon.kinds import CardFailed, CardIntended, CardShown, PlanState, ProcessChanged
from daemon.soul.scope import Scope
from daemon.turn.speech import SPEECH_RECEIPT, own_messages_since, ts_of_key

PATIENT = 2
"""Failures of a turn, some seconds, after which it goes on without this change of its card."""


MOST = 2
"""Cards while a thread stays in a process: one, and another where people delete that."""


UNSEEN = "it was interrupted before Slack had it"


Look = Callable[[Scope, Entry[CardIntended]], Awaitable[str | None]]


async def put_plan_card(scope: Scope, plan: PlanState) -> None:
    """The card shows this plan from now on, whether it is posted for that or changes."""
    key = scope.ctx.next_key("card")
    asked = fingerprint("card", *_reads(plan))
    intent: Entry[CardIntended] | None = scope.ctx.read_back(key, asked)
    if intent is None:
        scope.ctx.begin_step(key)
        began = CardIntended(condition=plan.condition, steps=plan.steps, title=plan.title, fingerprint=asked)
        intent = await scope.execution.append(began, key)
    if not scope.ctx.read_back(part_key(key, SPEECH_RECEIPT)):
        await _end(scope, intent, _put)


async def settle_plan_card(scope: Scope, intent: Entry[CardIntended]) -> None:
    """Its turn shows it no more: it is recorded whether it stands in Slack."""
    await _end(scope, intent, _find)


async def _end(scope: Scope, intent: Entry[CardIntended], look: Look) -> None:
    ts, why = None, UNSEEN
    try:
        ts = await look(scope, intent)
    except (CardRefused, PostRefused) as refusal:
        why = str(refusal)
    except PostFailed as failure:
        if len(scope.execution.failed_attempts) < PATIENT:
            raise
        why = str(failure)
    plan = intent.event
    receipt: CardShown | CardFailed = CardFailed(why=why)
    if ts:
        receipt = CardShown(ts=ts, condition=plan.condition, steps=plan.steps, title=plan.title)
    key = part_key(intent.key, SPEECH_RECEIPT)
    await scope.execution.append(receipt, key, cause=intent.seq, closes=[intent.seq])


async def _find(scope: Scope, *intents: Entry[CardIntended]) -> str | None:
    """The ts of the message that one of these has posted or changed."""
    own = await own_messages_since(scope, intents[0])
    return ts_of_key(own, [intent.key for intent in intents])


async def _put(scope: Scope, intent: Entry[CardIntended]) -> str:
    """Bring it about that the card shows this; its ts. Raises SpeechFailed, CardRefused."""
    journal, speaker, thread = scope.journal, scope.speaker, scope.thread
    came = _came_here(scope)
    shown = journal.thread_entries(thread, CardShown, since=came)
    ts, since = None, came
    if shown:
        ts, since = shown[-1].event.ts, shown[-1].seq
    doubtful = _doubtful(scope, intent, since)
    if doubtful:
        ts = await _find(scope, *doubtful) or ts
    elif ts and _reads(shown[-1].event) == _reads(intent.event):
        return ts
    if ts:
        try:
            return await speaker.show_card(thread, ts, intent.event, intent.key, scope.hold)
        except CardDeleted:
            if len({entry.event.ts for entry in shown}) >= MOST:
                raise
    return await speaker.show_card(thread, None, intent.event, intent.key, scope.hold)


def _reads(plan: PlanState) -> tuple[Any, ...]:
    """What a card of this plan shows."""
    return plan.heading, plan.steps


def _doubtful(scope: Scope, intent: Entry[CardIntended], since: int) -> Sequence[Entry[CardIntended]]:
    """What was to be shown since then, and nobody knows whether Slack has it; also this, if it is not new."""
    begun = scope.journal.thread_entries(scope.thread, CardIntended, since=since)
    return [one for one in begun if one.seq != intent.seq or intent.seq < scope.execution.epoch]


def _came_here(scope: Scope) -> int:
    """The seq with which the thread came into the process that it is in."""
    came, process = 0, ""
    for transition in scope.journal.thread_entries(scope.thread, ProcessChanged):
        if transition.event.to != process:
            came, process = transition.seq, transition.event.to
    return came
