"""Sums up a long conversation, or what was said in a DM, when nobody waits: the journal stays whole, but less
of it is in sight.
"""

from __future__ import annotations

from daemon.kinds import ContextCleared, Gathered
from daemon.memory import WorkingMemory, working_memory
from daemon.mind.afterthoughts import SUMMARIZING
from daemon.mind.asking import quiet
from daemon.mind.steps import summarize
from daemon.mind.wording import SOUL, fill, name_of
from daemon.process import MentalProcess, Turn, Words


async def summarizes_conversation(turn: Turn) -> WorkingMemory:
    """One call over the older part; its last entry, the summary, stands for that from the next turn on."""
    last, in_dm = turn.params["last"], "dm" in turn.params
    conversation = turn.said_in_dm() if in_dm else turn.memory.conversation
    seqs = [memory.seq for memory in conversation]
    if last in seqs:  # else it was summed up meanwhile
        older = conversation[: seqs.index(last) + 1]
        asked = fill(turn.text("prompts/summarize"), name=name_of(turn.text(SOUL)))
        memory = working_memory(older)
        made_of = tuple(memory.seq for memory in older if memory.seq) if in_dm else ()
        if in_dm:
            await turn.once(Gathered(seqs=made_of))
        _, text = await summarize(turn, memory, asked, name="sum-up", ask=quiet(turn))
        if text:
            await turn.once(ContextCleared(text=text, last=last, seqs=made_of))
    return working_memory(())


PROCESS = MentalProcess(
    name=SUMMARIZING,
    run=summarizes_conversation,
    called="a conversation has become long",
    texts={"prompts/summarize": Words({"name"})},
)
