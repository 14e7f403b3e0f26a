"""At a bound: what people are told, and an owner who may let the soul go on. For pipeline and runs."""

from __future__ import annotations

from daemon.kinds import Limited
from daemon.limits import CONTINUE
from daemon.memory import WorkingMemory
from daemon.mind.recall import remember
from daemon.mind.wording import LABELS, fill, labels
from daemon.ports import Choice
from daemon.process import Answer, Question, Turn

DAY = Limited(resets="day", bound="money")
"""The bound of the whole day's budget."""


async def consent(turn: Turn, limited: Limited) -> Answer:
    """Ask the owners whether it may go on; its value is CONTINUE if so."""
    named = labels(turn.text(LABELS))
    bound = named.get(limited.bound, limited.bound)
    text = turn.text("prompts/sentences/over_budget")
    if limited.resets != "day":
        text = fill(turn.text("prompts/sentences/limit"), bound=bound, owner=f"<@{turn.deciders[0]}>")
    choices = (
        Choice(label=named.get("continue", "continue"), value=CONTINUE, style="primary"),
        Choice(label=named.get("stop", "stop"), value="stop", style="danger"),
    )
    owners = turn.deciders
    about = {"resets": limited.resets, "bound": limited.bound, "person": limited.person}
    question = Question(text=text.strip(), to=owners, owners=owners, choices=choices, about=about)
    return await turn.ask("limit-reached", question)


async def _first(turn: Turn, limited: Limited) -> bool:
    """Is this the first message here that meets this bound today, since an owner last let it go on?"""
    which = f"{limited.resets}:{limited.bound}:{limited.person}:{limited.consents}"
    day = int(turn.began_at // 86_400)
    return await turn.claim(f"limit:{turn.thread}:{which}:{day}")


async def at_bound(turn: Turn, memory: WorkingMemory, limited: Limited) -> tuple[WorkingMemory, bool]:
    """Someone waits for an answer that a bound stands in the way of: the memory then, and may it go on?"""
    if not turn.must_answer:
        return memory, False
    if turn.deciders and await _first(turn, limited):
        answered = await consent(turn, limited)
        return memory.with_memory(*answered.memories), answered.value == CONTINUE
    named = labels(turn.text(LABELS))
    bound = named.get(limited.bound, limited.bound)
    text = turn.text("prompts/sentences/over_budget").strip()
    if limited.resets != "day":
        text = fill(turn.text("prompts/sentences/limit_for_good"), bound=bound)
    spoken = await turn.say(text)
    return memory.with_memory(*map(remember, spoken)), False
