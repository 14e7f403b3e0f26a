"""Sums up a long conversation, when nobody waits: the journal stays whole, but less of it is in sight."""

from __future__ import annotations

from daemon.kinds import ContextCleared
from daemon.memory import WorkingMemory, working_memory
from daemon.mind.afterthoughts import SUMMARIZING
from daemon.mind.asking import quiet
from daemon.mind.steps import summarize
from daemon.mind.wording import SOUL, fill, name_of
from daemon.process import MentalProcess, Turn, Words


async def summarizes_conversation(turn: Turn) -> WorkingMemory:
    """One call over the older part; its last entry, the summary, stands for that from the next turn on."""
    last = turn.params["last"]
    seqs = [memory.seq for memory in turn.memory.conversation]
    if last in seqs:  # else it was summed up meanwhile
        older = turn.memory.conversation[: seqs.index(last) + 1]
        asked = fill(turn.text("prompts/summarize"), name=name_of(turn.text(SOUL)))
        memory = working_memory(older)
        _, text = await summarize(turn, memory, asked, name="sum-up", ask=quiet(turn))
        if text:
            await turn.once(ContextCleared(text=text, last=last))
    return working_memory(())


PROCESS = MentalProcess(
    name=SUMMARIZING,
    run=summarizes_conversation,
    called="a conversation has become long",
    texts={"prompts/summarize": Words({"name"})},
)
