"""Working memory of a model call: immutable memories in regions, named as in Open Souls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

CORE = "core"

FORM = "form"
"""Region with abilities and answer form; hidden from a chooser of actions."""

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
"""Regions with the numbered contexts of an inner-life tick."""

TRAILING = ("person", "playbook", "findings", *TICK, "tools", "mood", "time", "instruction")
"""Regions after the conversation, in order; they change between calls."""

BEGINNING = "beginning"
"""Region with the first words of the answer, for models that can continue them."""

ORDER = (CORE, FORM, DEFAULT, *TRAILING, BEGINNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Item of a working memory. `seq` is None in trailing regions; `key` is that of an
    entry not yet on disk.
    """

    role: Literal["system", "user", "assistant"]
    content: str
    name: str = ""
    region: str = DEFAULT
    seq: int | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    memories: tuple[Memory, ...] = ()

    def with_memory(self, *more: Memory) -> WorkingMemory:
        return replace(self, memories=self.memories + more)

    def heard_since(self, before: WorkingMemory) -> tuple[Memory, ...]:
        return self.conversation[len(before.conversation) :]

    def with_region(self, region: str, content: str) -> WorkingMemory:
        """Replace a trailing region; an empty `content` removes it."""
        if region not in TRAILING:
            raise ValueError(f"{region!r} is not a trailing region; choose from {', '.join(TRAILING)}")
        memories = [memory for memory in self.memories if memory.region != region]
        if content:
            memories.append(Memory(role="user", content=content, region=region))
        return working_memory(memories)

    def without(self, region: str) -> WorkingMemory:
        return working_memory(memory for memory in self.memories if memory.region != region)

    def with_beginning(self, words: str) -> WorkingMemory:
        rest = [memory for memory in self.memories if memory.region != BEGINNING]
        if words:
            rest.append(Memory(role="assistant", content=words, region=BEGINNING))
        return working_memory(rest)

    def of(self, *regions: str) -> tuple[Memory, ...]:
        found: list[Memory] = []
        for region in ORDER:
            if region in regions:
                found += [memory for memory in self.memories if memory.region == region]
        return tuple(found)

    @property
    def system(self) -> tuple[Memory, ...]:
        return self.of(CORE, FORM)

    @property
    def conversation(self) -> tuple[Memory, ...]:
        return self.of(DEFAULT)

    @property
    def trailing(self) -> str:
        return "\n\n".join(m.content for m in self.of(*TRAILING))

    @property
    def beginning(self) -> str:
        """Words with which the answer must begin, if any."""
        return "".join(m.content for m in self.of(BEGINNING))

    @property
    def seqs(self) -> tuple[int, ...]:
        return tuple(m.seq for m in self.conversation if m.seq is not None)


def working_memory(memories: Iterable[Memory]) -> WorkingMemory:
    return WorkingMemory(tuple(memories))
