"""The plan of a conversation as one card in Slack: a message that changes in place and is not said again.

It lasts for as long as its thread stays in a process. What it shows is known from the journal; what a kill
or a refusal leaves in doubt is looked for in Slack. A card is a nicety: no turn fails for it for long.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from daemon.engine.event import Entry, fingerprint, part_key
from daemon.errors import CardDeleted, CardRefused, PostFailed, PostRefused
from daemon.kinds import CardFailed, CardIntended, CardShown, PlanChanged, PlanState, ProcessChanged
from daemon.turn.history import plans_of_train
from daemon.turn.input_policy import THINKING_PROCESS, last_message_seq
from daemon.turn.speech import SPEECH_RECEIPT, own_messages_since, ts_of_key
from daemon.turn.turn import Turn

PATIENT = 2
"""Failures of a turn, some seconds, after which it goes on without this change of its card."""


MOST = 2
"""Cards while a thread stays in a process: one, and another where people delete that."""


UNSEEN = "it was interrupted before Slack had it"


Look = Callable[[Turn, Entry[CardIntended]], Awaitable[str | None]]


async def show_plan(turn: Turn, plan: PlanState) -> None:
    """Show this plan as a card: posted at first, then changed in place while the thread is in this process.

    Never raises for a refusal of Slack. Not for parallel steps; without effect in a branch.
    """
    if turn.addressed:
        await _put_plan_card(turn, plan)


def open_plan_steps(turn: Turn) -> Sequence[str]:
    """Return the steps of this thread's plan that were open as this execution began."""
    plan = turn.journal.latest_of_kind(turn.thread, PlanChanged, before=turn.began_seq)
    if plan is None:
        return ()
    is_over = plan.seq < last_message_seq(turn.journal, turn.root, turn.began_seq)
    if is_over and turn.past.process != THINKING_PROCESS:
        return ()
    return plan.event.open_steps


def plans_so_far(turn: Turn) -> Sequence[PlanChanged]:
    """Return the plans since this thread began to think in the open, in order, as this execution began."""
    return plans_of_train(turn.journal, turn.thread, turn.began_seq)


async def _put_plan_card(turn: Turn, plan: PlanState) -> None:
    """The card shows this plan from now on, whether it is posted for that or changes."""
    key = turn.ctx.next_key("card")
    asked = fingerprint("card", *_reads(plan))
    intent: Entry[CardIntended] | None = turn.ctx.read_back(key, asked)
    if intent is None:
        turn.ctx.begin_step(key)
        began = CardIntended(condition=plan.condition, steps=plan.steps, title=plan.title, fingerprint=asked)
        intent = await turn.execution.append(began, key)
    if not turn.ctx.read_back(part_key(key, SPEECH_RECEIPT)):
        await _end(turn, intent, _put)


async def settle_plan_card(turn: Turn, intent: Entry[CardIntended]) -> None:
    """Its turn shows it no more: it is recorded whether it stands in Slack."""
    await _end(turn, intent, _find)


async def _end(turn: Turn, intent: Entry[CardIntended], look: Look) -> None:
    ts, why = None, UNSEEN
    try:
        ts = await look(turn, intent)
    except (CardRefused, PostRefused) as refusal:
        why = str(refusal)
    except PostFailed as failure:
        if len(turn.execution.failed_attempts) < PATIENT:
            raise
        why = str(failure)
    plan = intent.event
    receipt: CardShown | CardFailed = CardFailed(why=why)
    if ts:
        receipt = CardShown(ts=ts, condition=plan.condition, steps=plan.steps, title=plan.title)
    key = part_key(intent.key, SPEECH_RECEIPT)
    await turn.execution.append(receipt, key, cause=intent.seq, closes=[intent.seq])


async def _find(turn: Turn, *intents: Entry[CardIntended]) -> str | None:
    """The ts of the message that one of these has posted or changed."""
    own = await own_messages_since(turn, intents[0])
    return ts_of_key(own, [intent.key for intent in intents])


async def _put(turn: Turn, intent: Entry[CardIntended]) -> str:
    """Bring it about that the card shows this; its ts. Raises SpeechFailed, CardRefused."""
    journal, speaker, thread = turn.journal, turn.speaker, turn.thread
    came = _came_here(turn)
    shown = journal.thread_entries(thread, CardShown, since=came)
    ts, since = None, came
    if shown:
        ts, since = shown[-1].event.ts, shown[-1].seq
    doubtful = _doubtful(turn, intent, since)
    if doubtful:
        ts = await _find(turn, *doubtful) or ts
    elif ts and _reads(shown[-1].event) == _reads(intent.event):
        return ts
    if ts:
        try:
            return await speaker.show_card(thread, ts, intent.event, intent.key, turn.check_lease)
        except CardDeleted:
            if len({entry.event.ts for entry in shown}) >= MOST:
                raise
    return await speaker.show_card(thread, None, intent.event, intent.key, turn.check_lease)


def _reads(plan: PlanState) -> tuple[Any, ...]:
    """What a card of this plan shows."""
    return plan.heading, plan.steps


def _doubtful(turn: Turn, intent: Entry[CardIntended], since: int) -> Sequence[Entry[CardIntended]]:
    """What was to be shown since then, and nobody knows whether Slack has it; also this, if it is not new."""
    begun = turn.journal.thread_entries(turn.thread, CardIntended, since=since)
    return [one for one in begun if one.seq != intent.seq or intent.seq < turn.execution.epoch]


def _came_here(turn: Turn) -> int:
    """The seq with which the thread came into the process that it is in."""
    came, process = 0, ""
    for transition in turn.journal.thread_entries(turn.thread, ProcessChanged):
        if transition.event.to != process:
            came, process = transition.seq, transition.event.to
    return came
