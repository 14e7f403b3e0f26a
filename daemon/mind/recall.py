"""Recall: journal entries to working memory. A pure function of the entries.

Turns begin with it; the console uses it to show again what a model call saw.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from daemon.engine.erasing import Forgotten
from daemon.engine.event import Entry, only
from daemon.engine.keys import parent_of
from daemon.engine.kinds import Spawned
from daemon.kinds import (
    Answered,
    CellRan,
    ContextCleared,
    InnerMessage,
    Log,
    ModelCall,
    Observed,
    PromptShortened,
    ReadingBegan,
    RunTold,
    Said,
    SelfCall,
    Spoken,
    SystemMessage,
    Text,
    Timer,
)
from daemon.memory import CORE, Memory, WorkingMemory, working_memory
from daemon.mind.answer import ALOUD, DELIBERATE, MONOLOGUE, Answer
from daemon.mind.marks import HTML
from daemon.mind.payloads import NAMES, element
from daemon.mind.plain_prompt import as_asked
from daemon.mind.private_words import without_private
from daemon.mind.sections import spoken, without_thoughts
from daemon.mind.shortening import cut_to
from daemon.mind.tags import SAY, TAGS, SectionTags

NAME_LENGTH = 40
MARKED = rf"(?:{'|'.join(TAGS)})(?:-\w{{1,4}})?"
"""A tag of a section, perhaps with a suffix."""
OURS = "|".join((MARKED, *NAMES))
FENCE = re.compile(
    rf"""
    <(?=[^\w<]*(?:message|reminder|context\W?cleared|notes|result))
  | <(?=[^\w<]*(?:{OURS})(?:\s+[\w.:-]+\s*=[^<>]*|[\s/]*)>)
  | <(?=/?(?P<name>[^\W\d][\w.-]*(?::[\w.-]+)?)(?:[\s/>]|\Z))
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Where what somebody wrote would begin or end a frame, or anything else that has a meaning as a tag.

The soul's own tag and the actions have any name; those of HTML alone mean nothing, as they are written there.
"""


def remember(entry: Entry[Any], suffix: str = "") -> Memory:
    """Return an entry as the model sees it, with this suffix in the tags of sections.

    What people wrote is fenced: it is never the owner's word.
    """
    if entry.forgotten:
        return _forgotten(entry.forgotten)
    seq = entry.seq
    match entry.event:
        case Forgotten():
            return _forgotten(seq)
        case Text(text=text):
            sha = entry.key.removeprefix("text:")
            marked = SectionTags(suffix=suffix).marked(text)
            return Memory(role="system", content=marked, name=sha, region=CORE, seq=seq)
        case ModelCall() | Spoken():
            return Memory(role="assistant", content=_own_words(entry, suffix), seq=seq)
        case Said() as said:
            return Memory(role="user", content=_said(said), name=said.name, seq=seq)
    return Memory(role="user", content=_told(entry), seq=seq)


def _own_words(entry: Entry[ModelCall | Spoken], suffix: str) -> str:
    """What the soul thought or said."""
    event = entry.event
    if isinstance(event, Spoken):
        tags = SectionTags(suffix=suffix)
        return f"{tags.opening(SAY)}{event.text}{tags.closing(SAY)}"
    if event.reading or event.name == DELIBERATE:
        return without_thoughts(event.text)
    if event.name in (*ALOUD, MONOLOGUE):
        return Answer(cast(Entry[ModelCall], entry), suffix).remembered_text
    return spoken(event.text)


def _told(entry: Entry[Any]) -> str:
    """What the soul is told that nobody said to it."""
    match entry.event:
        case ContextCleared(text="", kept=kept):
            return element("context-cleared", kept_messages=kept)
        case ContextCleared(text=text):
            return framed("context-cleared", text)
        case PromptShortened(left_out=left_out):
            return element("context-cleared", reason="no room", left_out=len(left_out))
        case Observed(text=text):
            return fenced(text)
        case ReadingBegan(question=question, shape=shape):
            return f"{framed('question', question)}\n{framed('shape', shape)}"
        case CellRan(text=text):
            return framed("observation", text)
        case SelfCall():  # its words stand in the answer that it is part of
            return ""
        case InnerMessage() as message:
            return _from_within(message)
        case Spawned(thread=thread):
            parent = parent_of(thread)
            return element("thread-spawned", assigned_id=thread, parent_id=parent)
        case Answered(text=text) | RunTold(text=text) | Log(text=text) | SystemMessage(text=text):
            return text
    raise TypeError(f"nobody remembers an entry of the kind {entry.kind}")


def remember_answer(answer: Answer) -> Memory:
    """How an answer whose sections are known looks to the model later."""
    return Memory(role="assistant", content=answer.remembered_text, seq=answer.call.seq)


def _forgotten(seq: int) -> Memory:
    """What stands for words that are gone: all that were forgotten at once are one memory."""
    return Memory(role="user", content=element("context-cleared", reason="forgotten"), seq=seq)


def recall(kept: Iterable[Entry[Any]], suffix: str = "") -> tuple[Memory, ...]:
    """Return what ended turns chose to keep, in their order, with this suffix in the tags of sections."""
    return tuple(remember(entry, suffix) for entry in kept)


def seen_by(
    call: Entry[ModelCall], text: Callable[[str], Entry[Text]], at: Callable[[int], Entry[Any]]
) -> WorkingMemory:
    """What a model call saw: its texts by hash, its conversation by seq, and its trailing text."""
    core = [text(sha) for sha in call.event.texts]
    conversation = [at(seq) for seq in conversation_of(call.event, at)]
    memory = working_memory(recall([*core, *conversation], call.event.suffix))
    for shortened in only(PromptShortened, conversation):
        memory = cut_to(memory, shortened.event.longest)
    if not call.event.private:
        memory = without_private(memory)
    memory = memory.with_region("instruction", call.event.trailing)
    return as_asked(call.event.name, memory.with_beginning(call.event.beginning))


def conversation_of(call: ModelCall, at: Callable[[int], Entry[Any]]) -> Iterator[int]:
    """The entries that the conversation of a model call is made of, in order."""
    for stretch in call.stretches:
        yield from at(stretch).event.seqs
    yield from call.seqs


def listed(names: Iterable[str]) -> str:
    """Names for a sentence, each once: Alice, or Alice and Bob."""
    *most, last = dict.fromkeys(map(plain, names))
    if not most:
        return last
    return f"{', '.join(most)} and {last}"


def plain(name: str) -> str:
    """A name that somebody chose, as it may stand in a sentence of the owner's: short, without a tag."""
    return re.sub(r'[<>"\s]+', " ", name).strip()[:NAME_LENGTH]


def fenced(text: str) -> str:
    """What somebody wrote, or what was made of it, so that it cannot pose as anything else."""
    return FENCE.sub(_fence, text)


def shortened(text: str, most: int) -> str:
    """No more of it than so many characters."""
    if len(text) <= most:
        return text
    return f"{text[:most]} […]"


def framed(tag: str, text: str, **attributes: str) -> str:
    """What somebody wrote, in a frame of ours."""
    begun = element(tag, **attributes).removesuffix("/>")
    return f"{begun}>\n{fenced(text)}\n</{tag}>"


def _fence(found: re.Match[str]) -> str:
    name = found["name"] or ""
    if name in HTML and name.isalpha():
        return "<"
    return "&lt;"


def _from_within(message: InnerMessage) -> str:
    """What the core says it says itself; what any other thread or action says stands in a frame."""
    if not message.sender:
        return message.text
    return _message(message.sender, message.text, status=message.status)


def _said(said: Said) -> str:
    text = said.text
    for file in said.files:
        text += f"\n[file, only its name can be seen: {file.name}]"
    if isinstance(said, Timer) and said.is_reminder:
        return framed("reminder", text, **{"for": plain(said.name)})
    owner = "yes" if said.owner else ""
    return _message(plain(said.name), text, owner=owner, note=said.note)


def _message(sender: str, text: str, **about: str) -> str:
    """A message in its frame, which says this about it, where there is anything to say."""
    attributes = "".join(f' {name}="{value}"' for name, value in about.items() if value)
    return f'<message from="{sender}"{attributes}>\n{fenced(text)}\n</message>'
