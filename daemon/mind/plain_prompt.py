"""A conversation as it is shown to a model in plain mode: turns of words, without our frames and sections.

A pure function of the working memory, so that what a model saw can be shown again. Each memory looks the same
in every later prompt.
"""

from __future__ import annotations

import re
from dataclasses import replace

from daemon.memory import DEFAULT, Memory, WorkingMemory, working_memory
from daemon.mind.answer import PLAIN_CALL
from daemon.mind.sections import split_sections
from daemon.mind.tags import PRIVATE_TAGS, SAY_TAG, SECTION_NAMES, UNSUFFIXED_TAGS, SectionTags

MESSAGE = re.compile(
    r'<message from="(?P<name>[^"<>]*)"(?: owner="yes")?>\n(?P<text>.*)\n</message>', re.DOTALL
)
"""A message of which nothing is told but who said it: its frame can go."""
MARKED = re.compile(rf"<(?:{'|'.join(SECTION_NAMES)})-(?P<suffix>\w+)>")
"""The first tag of a remembered answer whose tags have a suffix."""
CONTROL = re.compile(r"<(?=\|[\w ]{1,40}\|?>|\uff5c|/?s>|<SYS>>|</SYS>>)|\[(?=/?INST\])")
"""The beginning of words of people that would be a control token of a model, and end their turn."""
ROLE = re.compile(r"^(?=[ \t]*(?:system|assistant|user|human)[ \t]*:)", re.IGNORECASE | re.MULTILINE)
"""The beginning of a line that would pose as another turn."""


def memory_as_shown(name: str, memory: WorkingMemory) -> WorkingMemory:
    """Return what a call of this name shows of a memory."""
    if name == PLAIN_CALL:
        return as_plain_turns(memory)
    return memory


def as_plain_turns(memory: WorkingMemory) -> WorkingMemory:
    """Return the memory as plain turns: what the soul only thought is left out.

    Once a second person has spoken, their names stand before what people say.
    """
    shown: list[Memory] = []
    names = set[str]()
    for one in memory.memories:
        if one.region != DEFAULT:
            shown.append(one)
            continue
        content = spoken_in_answer(one.content) if one.role == "assistant" else _heard(one.content, names)
        if content.strip():
            shown.append(replace(one, content=content))
    return _note_first(working_memory(shown))


def _note_first(memory: WorkingMemory) -> WorkingMemory:
    """Move the note before the newest words of people: a small model answers what stands last."""
    shown = [*memory.conversation]
    place = len(shown)
    while place and shown[place - 1].role == "user":
        place -= 1
    if memory.trailing:
        shown.insert(place, Memory(role="user", content=memory.trailing))
    beginning = memory.beginning
    return working_memory([*memory.system, *shown]).with_beginning(beginning)


def spoken_in_answer(answer: str) -> str:
    """Return what was said in an earlier answer, without its other sections."""
    marked = MARKED.search(answer)
    tags = SectionTags(suffix=marked["suffix"]) if marked else UNSUFFIXED_TAGS
    parsed = split_sections(answer, SECTION_NAMES, PRIVATE_TAGS, tags)
    if SAY_TAG in parsed.text:
        return parsed.section_text(SAY_TAG).strip()
    return parsed.text_outside.strip()


def _heard(content: str, names: set[str]) -> str:
    """Return a message as its words; what has another frame keeps it. Adds who spoke to `names`."""
    message = MESSAGE.fullmatch(content)
    if message is None:
        return content
    names.add(message["name"])
    words = ROLE.sub("> ", CONTROL.sub(lambda found: f"{found[0]} ", message["text"]))
    if len(names) > 1:
        return f"{message['name']}: {words}"
    return words
