"""What of a memory a model is shown that cannot take all: its beginning, its end, and both ends of the rest.

Pure. What is left out is chosen in large steps, so that the prompts of the next calls begin alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import replace
from itertools import accumulate

from daemon.kinds import PromptShortened
from daemon.memory import DEFAULT, TRAILING, Memory, WorkingMemory, working_memory
from daemon.mind.observing import cut_middle

Count = Callable[[str], int]
"""How many tokens a text has, at the most."""
LENGTHS = (
    1 << 22,
    1 << 20,
    1 << 18,
    1 << 17,
    1 << 16,
    1 << 15,
    1 << 14,
    1 << 13,
    1 << 12,
    1 << 11,
    1 << 10,
    512,
    256,
)
"""Characters to which long memories are cut, of which the largest that will do is taken."""
NEWEST = 2
"""Memories at the end of a conversation that are never left out."""
BESIDE = 0.7
"""The part of the room that what must stay may take; the rest is for what was said before."""
STEP = 4
"""A quarter of the room at a time is left out."""
CUTTABLE = frozenset(TRAILING) - {"instruction"}
"""What trails a conversation and may be cut, too: all but what the model is asked to do."""


def plan_shortening(
    memory: WorkingMemory, over: int, essential: Set[int], count: Count, *, model: str, refused: bool
) -> PromptShortened | None:
    """What to leave out of this memory so that it has so many tokens less; None where that much cannot go.

    `essential` are places in the conversation of what may be cut, but not left out.
    """
    conversation = memory.conversation
    beside = [one for one in memory.memories if one.region in CUTTABLE]
    costs = [count(one.content) for one in (*conversation, *beside)]
    room = sum(costs) - over
    must = _must_stay(conversation, essential)
    staying = [(one, costs[place]) for place, one in enumerate(conversation) if place in must]
    staying += zip(beside, costs[len(conversation) :], strict=True)
    longest = _longest(staying, int(room * BESIDE))
    if longest is None:
        return None
    cut_costs = [_cost(one, cost, longest) for one, cost in zip(conversation, costs, strict=False)]
    left = room - sum(_cost(one, cost, longest) for one, cost in staying)
    may_go = [place for place in range(len(conversation)) if place not in must]
    gone = _gone(may_go, [cut_costs[place] for place in may_go], left, room // STEP)
    if all(len(one.content) <= longest for one in (*conversation, *beside)):
        longest = 0
    if not gone and not longest:
        return None
    return PromptShortened(model=model, left_out=tuple(gone), longest=longest, refused=refused)


def can_be_shortened(memory: WorkingMemory) -> bool:
    """Whether anything of it could be left out."""
    return any(one.region == DEFAULT or one.region in CUTTABLE for one in memory.memories)


def _must_stay(conversation: Sequence[Memory], essential: Set[int]) -> Set[int]:
    """The places of the first memory, which says what it is about, the newest, and what is essential."""
    places = range(len(conversation))
    return {*places[:1], *places[-NEWEST:], *essential}


def _longest(staying: Sequence[tuple[Memory, int]], room: int) -> int | None:
    """The largest length to which all of these are cut so that they have room."""
    for longest in LENGTHS:
        if sum(_cost(one, cost, longest) for one, cost in staying) <= room:
            return longest
    return None


def _cost(memory: Memory, cost: int, longest: int) -> int:
    """What is left of the tokens of a memory that is cut to this length."""
    return min(cost, cost * longest // max(len(memory.content), 1) + 1)


def _gone(places: Sequence[int], costs: Sequence[int], room: int, step: int) -> Sequence[int]:
    """The places that are left out, oldest first: as many as it takes, in whole steps."""
    over = sum(costs) - room
    if over <= 0:
        return ()
    least = -(-over // max(step, 1)) * max(step, 1)
    for number, upto in enumerate(accumulate(costs), 1):
        if upto >= least:
            return places[:number]
    return places


def shorten_memory(memory: WorkingMemory, made: PromptShortened, mark: Memory) -> WorkingMemory:
    """The memory as the model is shown it, with the mark that says so after the first of it."""
    kept = [one for place, one in enumerate(memory.conversation) if place not in {*made.left_out}]
    beside = [one for one in memory.memories if one.region in TRAILING]
    whole = working_memory([*memory.system, *kept[:1], mark, *kept[1:], *beside])
    return cut_memories(whole, made.longest, CUTTABLE)


def cut_memories(memory: WorkingMemory, longest: int, beside: Collection[str] = ()) -> WorkingMemory:
    """The conversation, and what stands `beside` it, without the middle of each memory that is longer."""
    if not longest:
        return memory
    cuttable = {DEFAULT, *beside}
    return working_memory(
        replace(one, content=cut_middle(one.content, longest)) if one.region in cuttable else one
        for one in memory.memories
    )
