"""At a bound: what people are told, and an owner who may let the soul go on. For pipeline and runs."""

from __future__ import annotations

from dataclasses import replace

from daemon.engine.event import Entry
from daemon.kinds import LimitReached, ModelCall
from daemon.limits import CONTINUE
from daemon.memory import WorkingMemory
from daemon.mind.recall import recall_kept
from daemon.mind.wording import LABELS_TEXT, fill_prompt, parse_labels, two_buttons
from daemon.process import Answer, Question, Turn

DAY_LIMIT = LimitReached(resets="day", bound="money")
"""The bound of the whole day's budget."""


def limit_that_refused(call: Entry[ModelCall]) -> LimitReached:
    """The bound that did not let this call through."""
    return replace(DAY_LIMIT, final=call.event.is_beyond_budget == "never")


async def ask_owner_to_continue(turn: Turn, limited: LimitReached) -> Answer:
    """Ask the owners whether it may go on; its value is CONTINUE if so."""
    owners = turn.deciders
    question = Question(
        text=_told(turn, limited, "limit", owner=f"<@{owners[0]}>"),
        to=owners,
        owners=owners,
        choices=two_buttons(turn.text(LABELS_TEXT), CONTINUE, "stop"),
        about={"resets": limited.resets, "bound": limited.bound, "person": limited.person},
    )
    return await turn.ask("limit-reached", question)


def _told(turn: Turn, limited: LimitReached, sentence: str, **words: str) -> str:
    """What people read of it: of the day's budget always the same, of all others this sentence."""
    if limited.resets == "day":
        return fill_prompt(turn, "prompts/sentences/over_budget")
    bound = parse_labels(turn.text(LABELS_TEXT)).get(limited.bound, limited.bound)
    return fill_prompt(turn, f"prompts/sentences/{sentence}", bound=bound, **words)


async def _first(turn: Turn, limited: LimitReached) -> bool:
    """Is this the first message here that meets this bound today, since an owner last let it go on?"""
    day = int(turn.began_at // 86_400)
    return await turn.claim(f"limit:{turn.thread}:{limit_key(limited)}:{day}")


def limit_key(limited: LimitReached) -> str:
    """Part of a key: this bound of theirs, until an owner lets it go on."""
    return f"{limited.resets}:{limited.bound}:{limited.person}:{limited.consents}"


async def stop_at_limit(
    turn: Turn, memory: WorkingMemory, limited: LimitReached
) -> tuple[WorkingMemory, bool]:
    """Someone waits for an answer that a bound stands in the way of: the memory then, and may it go on?"""
    if not turn.must_answer:
        return memory, False
    if turn.deciders and not limited.final and await _first(turn, limited):
        answered = await ask_owner_to_continue(turn, limited)
        return memory.with_memory(*answered.memories), answered.value == CONTINUE
    spoken = await turn.say(_told(turn, limited, "limit_for_good"))
    return memory.with_memory(*recall_kept(spoken, turn.tag_suffix)), False
