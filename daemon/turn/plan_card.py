"""Plan card of a conversation: one Slack message, edited in place.

A card belongs to its thread's stay in a process. Its failure ends no turn.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from daemon.engine.event import Entry, fingerprint, part_key
from daemon.errors import CardDeleted, CardRefused, PostFailed, PostRefused
from daemon.kinds import CardFailed, CardIntended, CardShown, PlanChanged, PlanState, ProcessChanged
from daemon.turn.history import plans_of_train
from daemon.turn.input_policy import DELIBERATION_PROCESS, last_message_seq
from daemon.turn.speech import SPEECH_RECEIPT, own_messages_since, ts_of_key
from daemon.turn.turn import Turn

MOST_FAILED_ATTEMPTS = 2
"""Failed attempts of a turn after which a change of the card is skipped."""


MOST_CARDS = 2
"""Most cards in one stay of the thread in a process: another replaces a deleted one."""


UNSEEN_REASON = "it was interrupted before Slack had it"


CardSearch = Callable[[Turn, Entry[CardIntended]], Awaitable[str | None]]


async def show_plan(turn: Turn, plan: PlanState) -> None:
    """Post the plan as a card, or change the card of this stay in the process.

    Raises nothing for a refusal of Slack. Must not be called in parallel contexts; does nothing in a branch.
    """
    if turn.addressed:
        await _put_plan_card(turn, plan)


def open_plan_steps(turn: Turn) -> Sequence[str]:
    """Return the steps of this thread's plan that were open as this execution began."""
    plan = turn.journal.latest_of_kind(turn.thread, PlanChanged, before=turn.began_seq)
    if plan is None:
        return ()
    is_over = plan.seq < last_message_seq(turn.journal, turn.root, turn.began_seq)
    if is_over and turn.past.process != DELIBERATION_PROCESS:
        return ()
    return plan.event.open_steps


def plans_so_far(turn: Turn) -> Sequence[PlanChanged]:
    """Return the plans since this thread began to think in the open, in order, as this execution began."""
    return plans_of_train(turn.journal, turn.thread, turn.began_seq)


async def _put_plan_card(turn: Turn, plan: PlanState) -> None:
    key = turn.ctx.next_key("card")
    asked = fingerprint("card", *_visible_parts(plan))
    intent: Entry[CardIntended] | None = turn.ctx.read_back(key, asked)
    if intent is None:
        turn.ctx.begin_step(key)
        began = CardIntended(condition=plan.condition, steps=plan.steps, title=plan.title, fingerprint=asked)
        intent = await turn.execution.append(began, key)
    if not turn.ctx.read_back(part_key(key, SPEECH_RECEIPT)):
        await _record_outcome(turn, intent, _put)


async def settle_plan_card(turn: Turn, intent: Entry[CardIntended]) -> None:
    """Record whether the card's last change is in Slack; its turn has ended."""
    await _record_outcome(turn, intent, _find)


async def _record_outcome(turn: Turn, intent: Entry[CardIntended], look: CardSearch) -> None:
    ts, why = None, UNSEEN_REASON
    try:
        ts = await look(turn, intent)
    except (CardRefused, PostRefused) as refusal:
        why = str(refusal)
    except PostFailed as failure:
        if len(turn.execution.failed_attempts) < MOST_FAILED_ATTEMPTS:
            raise
        why = str(failure)
    plan = intent.event
    receipt: CardShown | CardFailed = CardFailed(why=why)
    if ts:
        receipt = CardShown(ts=ts, condition=plan.condition, steps=plan.steps, title=plan.title)
    key = part_key(intent.key, SPEECH_RECEIPT)
    await turn.execution.append(receipt, key, cause=intent.seq, closes=[intent.seq])


async def _find(turn: Turn, *intents: Entry[CardIntended]) -> str | None:
    own = await own_messages_since(turn, intents[0])
    return ts_of_key(own, [intent.key for intent in intents])


async def _put(turn: Turn, intent: Entry[CardIntended]) -> str:
    journal, speaker, thread = turn.journal, turn.speaker, turn.thread
    began = _process_began(turn)
    shown = journal.thread_entries(thread, CardShown, since=began)
    ts, since = None, began
    if shown:
        ts, since = shown[-1].event.ts, shown[-1].seq
    doubtful = _doubtful(turn, intent, since)
    if doubtful:
        ts = await _find(turn, *doubtful) or ts
    elif ts and _visible_parts(shown[-1].event) == _visible_parts(intent.event):
        return ts
    if ts:
        try:
            return await speaker.show_card(thread, ts, intent.event, intent.key, turn.check_lease)
        except CardDeleted:
            if len({entry.event.ts for entry in shown}) >= MOST_CARDS:
                raise
    return await speaker.show_card(thread, None, intent.event, intent.key, turn.check_lease)


def _visible_parts(plan: PlanState) -> tuple[Any, ...]:
    return plan.heading, plan.steps


def _doubtful(turn: Turn, intent: Entry[CardIntended], since: int) -> Sequence[Entry[CardIntended]]:
    begun = turn.journal.thread_entries(turn.thread, CardIntended, since=since)
    return [one for one in begun if one.seq != intent.seq or intent.seq < turn.execution.epoch]


def _process_began(turn: Turn) -> int:
    began, process = 0, ""
    for transition in turn.journal.thread_entries(turn.thread, ProcessChanged):
        if transition.event.to != process:
            began, process = transition.seq, transition.event.to
    return began
