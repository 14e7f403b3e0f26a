"""At a bound: what people are told, and an owner who may let the soul go on. For pipeline and runs."""

from __future__ import annotations

from dataclasses import replace

from daemon.engine.event import Entry
from daemon.kinds import Limited, ModelCall
from daemon.limits import CONTINUE
from daemon.memory import WorkingMemory
from daemon.mind.recall import recall
from daemon.mind.wording import LABELS, buttons, labels, worded
from daemon.process import Answer, Question, Turn

DAY = Limited(resets="day", bound="money")
"""The bound of the whole day's budget."""


def day_of(call: Entry[ModelCall]) -> Limited:
    """The bound that did not let this call through."""
    return replace(DAY, final=call.event.is_beyond_budget == "never")


async def consent(turn: Turn, limited: Limited) -> Answer:
    """Ask the owners whether it may go on; its value is CONTINUE if so."""
    owners = turn.deciders
    question = Question(
        text=_told(turn, limited, "limit", owner=f"<@{owners[0]}>"),
        to=owners,
        owners=owners,
        choices=buttons(turn.text(LABELS), CONTINUE, "stop"),
        about={"resets": limited.resets, "bound": limited.bound, "person": limited.person},
    )
    return await turn.ask("limit-reached", question)


def _told(turn: Turn, limited: Limited, sentence: str, **words: str) -> str:
    """What people read of it: of the day's budget always the same, of all others this sentence."""
    if limited.resets == "day":
        return worded(turn, "prompts/sentences/over_budget")
    bound = labels(turn.text(LABELS)).get(limited.bound, limited.bound)
    return worded(turn, f"prompts/sentences/{sentence}", bound=bound, **words)


async def _first(turn: Turn, limited: Limited) -> bool:
    """Is this the first message here that meets this bound today, since an owner last let it go on?"""
    day = int(turn.began_at // 86_400)
    return await turn.claim(f"limit:{turn.thread}:{named(limited)}:{day}")


def named(limited: Limited) -> str:
    """Part of a key: this bound of theirs, until an owner lets it go on."""
    return f"{limited.resets}:{limited.bound}:{limited.person}:{limited.consents}"


async def at_bound(turn: Turn, memory: WorkingMemory, limited: Limited) -> tuple[WorkingMemory, bool]:
    """Someone waits for an answer that a bound stands in the way of: the memory then, and may it go on?"""
    if not turn.must_answer:
        return memory, False
    if turn.deciders and not limited.final and await _first(turn, limited):
        answered = await consent(turn, limited)
        return memory.with_memory(*answered.memories), answered.value == CONTINUE
    spoken = await turn.say(_told(turn, limited, "limit_for_good"))
    return memory.with_memory(*recall(spoken, turn.tag_suffix)), False
