"""Working memory: what one model call sees, as an immutable sequence of memories in regions.

Built by recall, extended by processes, turned into a request by claude/. Vocabulary of Open Souls.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

CORE = "core"


FORM = "form"
"""What follows the core: what the soul can do, and how it answers. A chooser of actions is not shown it."""


DEFAULT = "default"


TICK = (
    "llm_recent_responses",
    "process_log",
    "records",
    "notes",
    "settings",
    "llm_memory",
    "anti_stagnation",
)
"""The contexts of a tick of the inner life, in the order in which they are numbered."""


TRAILING = ("person", "playbook", "findings", *TICK, "mood", "time", "instruction")
"""Regions that change from call to call; they stand after the conversation, in this order."""


BEGINNING = "beginning"
"""The region of the first words of the answer, for models that go on from those."""


ORDER = (CORE, FORM, DEFAULT, *TRAILING, BEGINNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing remembered. `seq` is the entry it comes from; a trailing memory comes from none.

    Where nobody waited until that entry was on disk, `key` names it.
    """

    role: Literal["system", "user", "assistant"]
    content: str
    name: str = ""
    region: str = DEFAULT
    seq: int | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """What one model call sees: `core`, `form` (system), `default` (the conversation), then what trails."""

    memories: tuple[Memory, ...] = ()

    def with_memory(self, *more: Memory) -> WorkingMemory:
        """This memory and these, at its end."""
        return replace(self, memories=self.memories + more)

    def heard_since(self, before: WorkingMemory) -> tuple[Memory, ...]:
        """What the conversation has got more than this earlier one, which it grew from."""
        return self.conversation[len(before.conversation) :]

    def with_region(self, region: str, content: str) -> WorkingMemory:
        """A trailing region replaced by this text; an empty text takes it away."""
        if region not in TRAILING:
            raise ValueError(f"{region!r} is not a trailing region; choose from {', '.join(TRAILING)}")
        memories = [memory for memory in self.memories if memory.region != region]
        if content:
            memories.append(Memory(role="user", content=content, region=region))
        return working_memory(memories)

    def without(self, region: str) -> WorkingMemory:
        """This memory without a region."""
        return working_memory(memory for memory in self.memories if memory.region != region)

    def with_beginning(self, words: str) -> WorkingMemory:
        """This memory, and the words with which the answer is to begin."""
        rest = [memory for memory in self.memories if memory.region != BEGINNING]
        if words:
            rest.append(Memory(role="assistant", content=words, region=BEGINNING))
        return working_memory(rest)

    def of(self, *regions: str) -> tuple[Memory, ...]:
        """The memories of these regions, regions in the fixed order, memories in their own."""
        found: list[Memory] = []
        for region in ORDER:
            if region in regions:
                found += [memory for memory in self.memories if memory.region == region]
        return tuple(found)

    @property
    def system(self) -> tuple[Memory, ...]:
        """What stands in the system prompt."""
        return self.of(CORE, FORM)

    @property
    def conversation(self) -> tuple[Memory, ...]:
        """What lasts: the messages that the next call sees again."""
        return self.of(DEFAULT)

    @property
    def trailing(self) -> str:
        """What changes from call to call, as one text."""
        return "\n\n".join(m.content for m in self.of(*TRAILING))

    @property
    def beginning(self) -> str:
        """The words with which the answer is to begin; empty: any."""
        return "".join(m.content for m in self.of(BEGINNING))

    @property
    def seqs(self) -> tuple[int, ...]:
        """The entries that the conversation comes from, in order."""
        return tuple(m.seq for m in self.conversation if m.seq is not None)


def working_memory(memories: Iterable[Memory]) -> WorkingMemory:
    """A working memory of these."""
    return WorkingMemory(tuple(memories))
