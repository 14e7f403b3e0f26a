"""Recall: journal entries to working memory. A pure function of the entries.

Turns begin with it; the console uses it to show again what a model call saw.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from daemon.engine.erasing import EntriesForgotten
from daemon.engine.event import Entry, of_kind
from daemon.engine.keys import parent_of
from daemon.engine.kinds import ThreadSpawned
from daemon.kinds import (
    ActionObserved,
    CellRan,
    ContextCleared,
    InternalMessage,
    ModelCall,
    PersonMessage,
    PromptShortened,
    PromptVersion,
    QuestionAnswered,
    ReadingBegan,
    ReminderFired,
    RestartLog,
    RunMessage,
    SelfCall,
    SpeechFinished,
    SystemMessage,
)
from daemon.memory import CORE, Memory, WorkingMemory, working_memory
from daemon.mind.answer import DELIBERATE, MONOLOGUE, SPOKEN_CALLS, PipelineAnswer
from daemon.mind.marks import HTML_TAGS
from daemon.mind.payloads import PAYLOAD_NAMES, make_element
from daemon.mind.plain_prompt import memory_as_shown
from daemon.mind.private_words import without_private_sections
from daemon.mind.sections import spoken_text, strip_thoughts
from daemon.mind.shortening import cut_memories
from daemon.mind.tags import SAY_TAG, SECTION_NAMES, SectionTags

NAME_LENGTH = 40
MARKED = rf"(?:{'|'.join(SECTION_NAMES)})(?:-\w{{1,4}})?"
"""A tag of a section, perhaps with a suffix."""
OUR_TAG_PATTERN = "|".join((MARKED, *PAYLOAD_NAMES))
FENCE = re.compile(
    rf"""
    <(?=[^\w<]*(?:message|reminder|context\W?cleared|notes|result))
  | <(?=[^\w<]*(?:{OUR_TAG_PATTERN})(?:\s+[\w.:-]+\s*=[^<>]*|[\s/]*)>)
  | <(?=/?(?P<name>[^\W\d][\w.-]*(?::[\w.-]+)?)(?:[\s/>]|\Z))
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Where what somebody wrote would begin or end a frame, or anything else that has a meaning as a tag.

The soul's own tag and the actions have any name; those of HTML alone mean nothing, as they are written there.
"""


def entry_as_memory(entry: Entry[Any], suffix: str = "") -> Memory:
    """Return an entry as the model sees it, with this suffix in the tags of sections.

    What people wrote is fenced: it is never the owner's word.
    """
    if entry.forgotten:
        return _forgotten(entry.forgotten)
    seq = entry.seq
    match entry.event:
        case EntriesForgotten():
            return _forgotten(seq)
        case PromptVersion(text=text):
            sha = entry.key.removeprefix("text:")
            marked = SectionTags(suffix=suffix).marked(text)
            return Memory(role="system", content=marked, name=sha, region=CORE, seq=seq)
        case ModelCall() | SpeechFinished():
            return Memory(role="assistant", content=_own_words(entry, suffix), seq=seq)
        case PersonMessage() as said:
            return Memory(role="user", content=_said(said), name=said.name, seq=seq)
    return Memory(role="user", content=_told(entry), seq=seq)


def _own_words(entry: Entry[ModelCall | SpeechFinished], suffix: str) -> str:
    """What the soul thought or said."""
    event = entry.event
    if isinstance(event, SpeechFinished):
        tags = SectionTags(suffix=suffix)
        return f"{tags.opening(SAY_TAG)}{event.text}{tags.closing(SAY_TAG)}"
    if event.reading or event.name == DELIBERATE:
        return strip_thoughts(event.text)
    if event.name in (*SPOKEN_CALLS, MONOLOGUE):
        return PipelineAnswer(cast(Entry[ModelCall], entry), suffix).remembered_text
    return spoken_text(event.text)


def _told(entry: Entry[Any]) -> str:
    """What the soul is told that nobody said to it."""
    match entry.event:
        case ContextCleared(text="", kept=kept):
            return make_element("context-cleared", kept_messages=kept)
        case ContextCleared(text=text):
            return in_element("context-cleared", text)
        case PromptShortened(left_out=left_out):
            return make_element("context-cleared", reason="no room", left_out=len(left_out))
        case ActionObserved(text=text):
            return escape_tags(text)
        case ReadingBegan(question=question, shape=shape):
            return f"{in_element('question', question)}\n{in_element('shape', shape)}"
        case CellRan(text=text):
            return in_element("observation", text)
        case SelfCall():  # its words stand in the answer that it is part of
            return ""
        case InternalMessage() as message:
            return _from_within(message)
        case ThreadSpawned(thread=thread):
            parent = parent_of(thread)
            return make_element("thread-spawned", assigned_id=thread, parent_id=parent)
        case (
            QuestionAnswered(text=text)
            | RunMessage(text=text)
            | RestartLog(text=text)
            | SystemMessage(text=text)
        ):
            return text
    raise TypeError(f"nobody remembers an entry of the kind {entry.kind}")


def answer_as_memory(answer: PipelineAnswer) -> Memory:
    """How an answer whose sections are known looks to the model later."""
    return Memory(role="assistant", content=answer.remembered_text, seq=answer.call.seq)


def _forgotten(seq: int) -> Memory:
    """What stands for words that are gone: all that were forgotten at once are one memory."""
    return Memory(role="user", content=make_element("context-cleared", reason="forgotten"), seq=seq)


def recall_kept(kept: Iterable[Entry[Any]], suffix: str = "") -> tuple[Memory, ...]:
    """Return what ended turns chose to keep, in their order, with this suffix in the tags of sections."""
    return tuple(entry_as_memory(entry, suffix) for entry in kept)


def memory_of_call(
    call: Entry[ModelCall], text: Callable[[str], Entry[PromptVersion]], at: Callable[[int], Entry[Any]]
) -> WorkingMemory:
    """What a model call saw: its texts by hash, its conversation by seq, and its trailing text."""
    core = [text(sha) for sha in call.event.texts]
    conversation = [at(seq) for seq in entries_of_call(call.event, at)]
    memory = working_memory(recall_kept([*core, *conversation], call.event.suffix))
    for shortened in of_kind(PromptShortened, conversation):
        memory = cut_memories(memory, shortened.event.longest)
    if not call.event.private:
        memory = without_private_sections(memory)
    memory = memory.with_region("instruction", call.event.trailing)
    return memory_as_shown(call.event.name, memory.with_beginning(call.event.beginning))


def entries_of_call(call: ModelCall, at: Callable[[int], Entry[Any]]) -> Iterator[int]:
    """The entries that the conversation of a model call is made of, in order."""
    for stretch in call.stretches:
        yield from at(stretch).event.seqs
    yield from call.seqs


def names_in_words(names: Iterable[str]) -> str:
    """Names for a sentence, each once: Alice, or Alice and Bob."""
    *most, last = dict.fromkeys(map(clean_name_text, names))
    if not most:
        return last
    return f"{', '.join(most)} and {last}"


def clean_name_text(name: str) -> str:
    """A name that somebody chose, as it may stand in a sentence of the owner's: short, without a tag."""
    return re.sub(r'[<>"\s]+', " ", name).strip()[:NAME_LENGTH]


def escape_tags(text: str) -> str:
    """What somebody wrote, or what was made of it, so that it cannot pose as anything else."""
    return FENCE.sub(_fence, text)


def truncate(text: str, most: int) -> str:
    """No more of it than so many characters."""
    if len(text) <= most:
        return text
    return f"{text[:most]} […]"


def in_element(tag: str, text: str, **attributes: str) -> str:
    """What somebody wrote, in a frame of ours."""
    begun = make_element(tag, **attributes).removesuffix("/>")
    return f"{begun}>\n{escape_tags(text)}\n</{tag}>"


def _fence(found: re.Match[str]) -> str:
    name = found["name"] or ""
    if name in HTML_TAGS and name.isalpha():
        return "<"
    return "&lt;"


def _from_within(message: InternalMessage) -> str:
    """What the core says it says itself; what any other thread or action says stands in a frame."""
    if not message.sender:
        return message.text
    return _message(message.sender, message.text, status=message.status)


def _said(said: PersonMessage) -> str:
    text = said.text
    for file in said.files:
        text += f"\n[file, only its name can be seen: {file.name}]"
    if isinstance(said, ReminderFired) and said.is_reminder:
        return in_element("reminder", text, **{"for": clean_name_text(said.name)})
    owner = "yes" if said.owner else ""
    return _message(clean_name_text(said.name), text, owner=owner, note=said.note)


def _message(sender: str, text: str, **about: str) -> str:
    """A message in its frame, which says this about it, where there is anything to say."""
    attributes = "".join(f' {name}="{value}"' for name, value in about.items() if value)
    return f'<message from="{sender}"{attributes}>\n{escape_tags(text)}\n</message>'
