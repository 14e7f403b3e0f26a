"""Recall: journal entries to working memory. A pure function of the entries.

Turns begin with it; the console uses it to show again what a model call saw.

A model's answer to a pipeline: the recorded call, and what its sections say.

A conversation as it is shown to a model in plain mode: turns of words, without our frames and sections.

A pure function of the working memory, so that what a model saw can be shown again. Each memory looks the same
in every later prompt.

What of a memory a model is shown that cannot take all: its beginning, its end, and both ends of the rest.

Pure. What is left out is chosen in large steps, so that the prompts of the next calls begin alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import Any, cast

from daemon.answers.plain_answer import FENCED_JSON, parse_json_sections, spoken_part
from daemon.answers.private_words import PrivateWords, without_private_sections
from daemon.answers.speech_gate import SpeechGate, split_sections, spoken_text, strip_thoughts
from daemon.engine.event import Entry, of_kind, parent_of
from daemon.engine.kinds import EntriesForgotten, ThreadSpawned
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
from daemon.memory import CORE, DEFAULT, TRAILING, Memory, WorkingMemory, working_memory
from daemon.model import ENDED, REPEATING
from daemon.prompts.elements import (
    ASIDE_TAG,
    PRIVATE_TAGS,
    SAY_TAG,
    SECTION_NAMES,
    STEPS_BY_NAME,
    UNSUFFIXED_TAGS,
    SectionTags,
    _message,
    clean_name_text,
    cut_middle,
    escape_tags,
    in_element,
    make_element,
)

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


DIALOGUE_ALONE_CALL = "plainly"


PLAIN_CALL = "plain"
"""The name of calls that ask for words without sections: what came of them is remembered as it was said."""


SPOKEN_CALLS = frozenset({"pipeline", DIALOGUE_ALONE_CALL})
"""The names of calls whose dialogue is spoken; all others are thoughts, whatever stands in them."""


DELIBERATE = "deliberate"
"""The name of calls in open thought, whose final answer is spoken."""


FINAL = "-response>"
"""How the tag ends in which a final answer of open thought stands, whatever the soul is called."""


OPEN_BLOCK = re.compile(r"\s*(?P<run>`{3,}|~{3,})[ \t]*\w*[ \t]*\n(?P<body>.*)", re.DOTALL)
"""An answer that begins with a block of code."""


FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*$", re.MULTILINE)


BEGINS = re.compile(rf"\s*<\s*(?:{'|'.join(SECTION_NAMES)})\b", re.IGNORECASE)
"""The beginning of a block of code that is an answer in sections."""


LAST_MARK = re.compile(r".*</[\w-]+\s*>", re.DOTALL)
"""All up to the last mark that closes something."""


MONOLOGUE = "internal_monologue"
"""The name of a call that asks for nothing but this."""


class PipelineAnswer:
    """One answer of a model: a pure function of the call's entry and of these arguments.

    `suffix` is that of the tags where it is remembered; without one it is that of the call. `private` is what
    was private when it was asked for. `echo`: it repeats an instruction of ours, and nothing of it is
    said or remembered.
    """

    def __init__(
        self,
        call: Entry[ModelCall],
        suffix: str = "",
        *,
        private: PrivateWords | None = None,
        echo: bool = False,
    ) -> None:
        self.call = call
        self._tags = SectionTags(suffix=suffix or call.event.suffix)
        self.outcome = call.event.outcome
        self.remembered = True
        """True if it is remembered as it was written, and not by the messages that said it."""
        self._echo = echo
        self.too_long = call.event.is_too_long
        self._private = private
        self._sections = _parsed(call.event.text, self._tags)
        self._json: Mapping[str, str] | None = None
        """What its sections say, where it is written in JSON in place of them."""
        if SAY_TAG not in self._sections.text:
            self._json = parse_json_sections(self._sections.text_outside)

    @cached_property
    def repeats_private_words(self) -> bool:
        """True if it says again what the soul thought earlier, word for word."""
        return self._private is not None and self._private.are_in(self._words)

    @property
    def is_usable(self) -> bool:
        """True if the model answered, in words that can be used."""
        goes_in_circles = self.is_unfinished and self.call.event.stop_reason == REPEATING
        return self.call.event.is_usable and not (goes_in_circles or self.repeats_private_words or self._echo)

    @property
    def continues_after_end(self) -> bool:
        """True if it began again, or had to be closed, after its end."""
        event = self.call.event
        closed = event.stop_reason == ENDED and self.is_usable and self._ended(event.text) != event.text
        return closed or self._sections.repeats

    @property
    def is_unfinished(self) -> bool:
        """Is its dialogue cut, because the whole was too long?"""
        return self.outcome == "cut" and (self._sections.is_open(SAY_TAG) or not self._has_dialogue)

    @property
    def _has_dialogue(self) -> bool:
        return SAY_TAG in self._texts

    @property
    def _texts(self) -> Mapping[str, str]:
        """What stands in each section."""
        return {**self._sections.text, **(self._json or {})}

    @property
    def _words(self) -> str:
        """All that could be said of it."""
        if self.is_untagged:
            return self._sections.text_outside
        return self.received_dialogue

    @property
    def received_dialogue(self) -> str:
        """The dialogue that came, also of an answer that broke off."""
        return spoken_part(self._texts.get(SAY_TAG, "")).strip()

    @property
    def speakable_dialogue(self) -> str | None:
        """What may be said of it: the dialogue; None where there is no such section, or it ends in a thought.

        Where nothing private was asked, what stands in no section is dialogue, too.
        """
        if self.call.event.name in (DIALOGUE_ALONE_CALL, PLAIN_CALL):
            return self._plainly
        if (
            not self.is_usable
            or not self._has_dialogue
            or self._sections.ends_in_open_thought
            or self._sections.may_lack_words
        ):
            return None
        if self._texts[SAY_TAG].strip() and not self.received_dialogue:
            return None  # all that is marked as speech is a thought
        return self.received_dialogue

    @property
    def _plainly(self) -> str:
        """The dialogue, or what stands in no section; nothing, where a sentence may lack a part."""
        if not self.is_usable or self._sections.may_lack_words:
            return ""
        if self._has_dialogue or self._json is not None:
            return self.received_dialogue
        return self._sections.text_outside.strip()

    @property
    def text_outside(self) -> str:
        """The text that stands in no section."""
        return self._sections.text_outside

    @property
    def is_untagged(self) -> bool:
        """True if the dialogue alone was asked for, and came without the mark of its section."""
        return self.call.event.name == DIALOGUE_ALONE_CALL and not self._has_dialogue

    @property
    def monologue(self) -> str:
        """The monologue, or what stands in no section: where nothing but a monologue was asked."""
        return self._texts.get(ASIDE_TAG, self._sections.text_outside).strip()

    @property
    def remembered_text(self) -> str:
        """The answer as it is remembered: without foreign thoughts, and what was said in its section."""
        if self.call.event.name == MONOLOGUE:
            return self._tags.wrapped(ASIDE_TAG, self.monologue)
        if self.is_untagged:
            return self._tags.wrapped(SAY_TAG, self._plainly)
        if self._json is not None:
            return "".join(self._tags.wrapped(name, text) for name, text in self._texts.items())
        if self._sections.foreign or self._sections.repeats or self._tags.suffix:
            return self._ended(self._sections.own_text)
        return self._ended(self.call.event.text)

    def _ended(self, text: str) -> str:
        """This without the beginning of what was not wanted any more."""
        end = LAST_MARK.match(text)
        if end and self.call.event.stop_reason in (ENDED, REPEATING):
            return end[0]
        return text

    @property
    def values(self) -> Mapping[str, str]:
        """What each step came to, by its name."""
        found = self._texts
        return {step.name: found[step.tag].strip() for step in STEPS_BY_NAME.values() if step.tag in found}


def _parsed(text: str, tags: SectionTags) -> SpeechGate:
    """The sections of an answer; where all of it is one block of code, those in it."""
    parsed = split_sections(text, SECTION_NAMES, PRIVATE_TAGS, tags)
    if parsed.text:
        return parsed
    body = _in_one_block(text)
    within = split_sections(body, SECTION_NAMES, PRIVATE_TAGS, tags)
    is_answer = BEGINS.match(body) or not within.text.keys().isdisjoint(PRIVATE_TAGS)
    if SAY_TAG in within.text and is_answer and not FENCE_LINE.search(within.text_outside):
        return within
    return parsed


def _in_one_block(text: str) -> str:
    """Return the body of an answer that is one block of code, closed or not; empty for any other."""
    closed = FENCED_JSON.fullmatch(text)
    if closed:
        return closed["body"]
    found = OPEN_BLOCK.fullmatch(text)
    if found and not FENCE_LINE.search(found["body"]):
        return found["body"]
    return ""


def is_spoken(call: Entry[ModelCall]) -> bool:
    """Was what the model answered said, and not only thought?"""
    if call.event.name == DELIBERATE:
        return FINAL in call.event.text
    return call.event.name in SPOKEN_CALLS and bool(PipelineAnswer(call).speakable_dialogue)


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
