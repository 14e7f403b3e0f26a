"""Sums up a long conversation, or what was said in a DM, when nobody waits: the journal stays whole, but less
of it is in sight.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemon.kinds import ContextCleared, Gathered
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.mind.afterthoughts import SUMMARIZING
from daemon.mind.asking_model import quiet
from daemon.mind.steps import summarize
from daemon.mind.wording import worded
from daemon.process import MentalProcess, Turn, Words


async def summarizes_conversation(turn: Turn) -> WorkingMemory:
    """One call over the older part; its last entry, the summary, stands for that from the next turn on."""
    nothing = working_memory(())
    in_dm, last = "dm" in turn.params, turn.params["last"]
    conversation: Sequence[Memory] = turn.memory.conversation
    if in_dm:
        conversation = turn.said_in_dm()
    seqs = [memory.seq for memory in conversation]
    if last not in seqs:
        return nothing  # it was summed up meanwhile
    memory = working_memory(conversation[: seqs.index(last) + 1])
    made_of: tuple[int, ...] = ()
    if in_dm:
        made_of = memory.seqs
        await turn.once(Gathered(seqs=made_of))
    words = worded(turn, "prompts/summarize")
    _, text = await summarize(turn, memory, words, name="sum-up", ask=quiet(turn))
    if text:
        await turn.once(ContextCleared(text=text, last=last, seqs=made_of))
    return nothing


PROCESS = MentalProcess(
    name=SUMMARIZING,
    run=summarizes_conversation,
    called="a conversation has become long",
    texts={"prompts/summarize": Words({"name"})},
)
