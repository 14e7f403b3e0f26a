"""Recall: journal entries to working memory. A pure function of the entries.

Turns begin with it; the console uses it to show again what a model call saw.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from daemon.engine.erasing import Forgotten
from daemon.engine.event import Entry
from daemon.engine.kinds import Spawned
from daemon.kinds import (
    Answered,
    CellRan,
    ContextCleared,
    InnerMessage,
    Log,
    ModelCall,
    Observed,
    ReadingBegan,
    RunTold,
    Said,
    SelfCall,
    Spoken,
    SystemMessage,
    Text,
)
from daemon.memory import CORE, Memory, WorkingMemory, working_memory
from daemon.mind.answer import ALOUD, DELIBERATE, MONOLOGUE, Answer
from daemon.mind.marks import HTML
from daemon.mind.payloads import PARTS, ROOTS, SYSTEM, element
from daemon.mind.sections import spoken, without_thoughts
from daemon.mind.tags import SAY, TAGS

NAME_LENGTH = 40
OURS = "|".join((*TAGS, *ROOTS, *PARTS.values(), *SYSTEM))
FENCE = re.compile(
    rf"""
    <(?=[^\w<]*(?:message|context\W?cleared|notes|result))
  | <(?=[^\w<]*(?:{OURS})(?:\s+[\w.:-]+\s*=[^<>]*|[\s/]*)>)
  | <(?=/?(?P<name>[^\W\d][\w.-]*(?::[\w.-]+)?)(?:[\s/>]|\Z))
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Where what somebody wrote would begin or end a frame, or anything else that has a meaning as a tag.

The soul's own tag and the actions have any name; those of HTML alone mean nothing, as they are written there.
"""


def remember(entry: Entry[Any]) -> Memory:
    """How an entry looks to the model. What people wrote is fenced: it is never the owner's word."""
    if entry.forgotten:
        return _forgotten(entry.forgotten)
    match entry.event:
        case Forgotten():
            return _forgotten(entry.seq)
        case Text(text=text):
            sha = entry.key.removeprefix("text:")
            return Memory(role="system", content=text, name=sha, region=CORE, seq=entry.seq)
        case ModelCall(name=name, text=text, reading=reading) if reading or name == DELIBERATE:
            return Memory(role="assistant", content=without_thoughts(text), seq=entry.seq)
        case ModelCall(name=name, text=text):
            if name in (*ALOUD, MONOLOGUE):
                return remember_answer(Answer(entry))
            return Memory(role="assistant", content=spoken(text), seq=entry.seq)
        case Spoken(text=text):
            return Memory(role="assistant", content=f"<{SAY}>{text}</{SAY}>", seq=entry.seq)
        case Said() as said:
            return Memory(role="user", content=_message(said), name=said.name, seq=entry.seq)
        case ContextCleared(text="", kept=kept):
            cleared = element("context-cleared", kept_messages=kept)
            return Memory(role="user", content=cleared, seq=entry.seq)
        case ContextCleared(text=text):
            summary = f"<context-cleared>\n{fenced(text)}\n</context-cleared>"
            return Memory(role="user", content=summary, seq=entry.seq)
        case Observed(text=text):
            return Memory(role="user", content=fenced(text), seq=entry.seq)
        case ReadingBegan(question=question, shape=shape):
            asked = f"<question>\n{fenced(question)}\n</question>\n<shape>\n{fenced(shape)}\n</shape>"
            return Memory(role="user", content=asked, seq=entry.seq)
        case CellRan(text=text):
            return Memory(
                role="user", content=f"<observation>\n{fenced(text)}\n</observation>", seq=entry.seq
            )
        case SelfCall():  # its words stand in the answer that it is part of
            return Memory(role="user", content="", seq=entry.seq)
        case InnerMessage() as message:
            return Memory(role="user", content=_from_within(message), seq=entry.seq)
        case Spawned(thread=thread):
            parent = thread.rpartition(".")[0]
            spawned = element("thread-spawned", assigned_id=thread, parent_id=parent)
            return Memory(role="user", content=spawned, seq=entry.seq)
        case Answered(text=text) | RunTold(text=text) | Log(text=text) | SystemMessage(text=text):
            return Memory(role="user", content=text, seq=entry.seq)
    raise TypeError(f"nobody remembers an entry of the kind {entry.kind}")


def remember_answer(answer: Answer) -> Memory:
    """How an answer whose sections are known looks to the model later."""
    return Memory(role="assistant", content=answer.kept, seq=answer.call.seq)


def _forgotten(seq: int) -> Memory:
    """What stands for words that are gone: all that were forgotten at once are one memory."""
    return Memory(role="user", content=element("context-cleared", reason="forgotten"), seq=seq)


def recall(kept: Iterable[Entry[Any]]) -> tuple[Memory, ...]:
    """What ended turns chose to keep, in the order in which they returned it."""
    return tuple(remember(entry) for entry in kept)


def seen_by(
    call: Entry[ModelCall], text: Callable[[str], Entry[Text]], at: Callable[[int], Entry[Any]]
) -> WorkingMemory:
    """What a model call saw: its texts by hash, its conversation by seq, and its trailing text."""
    core = [remember(text(sha)) for sha in call.event.texts]
    conversation = [remember(at(seq)) for seq in call.event.seqs]
    memory = working_memory([*core, *conversation])
    return memory.with_region("instruction", call.event.trailing)


def listed(names: Iterable[str]) -> str:
    """Names for a sentence, each once: Alice, or Alice and Bob."""
    *most, last = dict.fromkeys(map(plain, names))
    return f"{', '.join(most)} and {last}" if most else last


def plain(name: str) -> str:
    """A name that somebody chose, as it may stand in a sentence of the owner's: short, without a tag."""
    return re.sub(r'[<>"\s]+', " ", name).strip()[:NAME_LENGTH]


def fenced(text: str) -> str:
    """What somebody wrote, or what was made of it, so that it cannot pose as anything else."""
    return FENCE.sub(_fence, text)


def _fence(found: re.Match[str]) -> str:
    name = found["name"] or ""
    return "<" if name in HTML and name.isalpha() else "&lt;"


def _from_within(message: InnerMessage) -> str:
    """What the core says it says itself; what any other thread or action says stands in a frame."""
    if not message.sender:
        return message.text
    status = f' status="{message.status}"' if message.status else ""
    return f'<message from="{message.sender}"{status}>\n{fenced(message.text)}\n</message>'


def _message(said: Said) -> str:
    note = f' note="{said.note}"' if said.note else ""
    files = "".join(f"\n[file, only its name can be seen: {file.name}]" for file in said.files)
    return f'<message from="{plain(said.name)}"{note}>\n{fenced(said.text + files)}\n</message>'
