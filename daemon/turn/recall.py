"""Working memory made from journal entries: a pure function, so that the page can show what a model saw.

In plain mode, frames and sections are removed. A prompt that is too long keeps its first and newest memories
and the ends of long ones; omissions come in large steps, so that later prompts begin alike.
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
    clean_name_text,
    cut_middle,
    escape_tags,
    in_element,
    make_element,
    message_element,
)

Count = Callable[[str], int]
"""Function that returns an upper bound of a text's tokens."""


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
"""Lengths in characters to which memories may be cut; the largest that suffices is used."""


NEWEST = 2


BESIDE = 0.7
"""Share of the room for memories that must stay."""


STEP = 4
"""Divisor of the room; memories are left out in steps of that size."""


CUTTABLE = frozenset(TRAILING) - {"instruction"}


def plan_shortening(
    memory: WorkingMemory, over: int, essential: Set[int], count: Count, *, model: str, refused: bool
) -> PromptShortened | None:
    """Return the omissions that save `over` tokens; None if impossible.

    `essential` are indexes of memories that may only be cut.
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
    return any(one.region == DEFAULT or one.region in CUTTABLE for one in memory.memories)


def _must_stay(conversation: Sequence[Memory], essential: Set[int]) -> Set[int]:
    places = range(len(conversation))
    return {*places[:1], *places[-NEWEST:], *essential}


def _longest(staying: Sequence[tuple[Memory, int]], room: int) -> int | None:
    for longest in LENGTHS:
        if sum(_cost(one, cost, longest) for one, cost in staying) <= room:
            return longest
    return None


def _cost(memory: Memory, cost: int, longest: int) -> int:
    return min(cost, cost * longest // max(len(memory.content), 1) + 1)


def _gone(places: Sequence[int], costs: Sequence[int], room: int, step: int) -> Sequence[int]:
    over = sum(costs) - room
    if over <= 0:
        return ()
    least = -(-over // max(step, 1)) * max(step, 1)
    for number, upto in enumerate(accumulate(costs), 1):
        if upto >= least:
            return places[:number]
    return places


def shorten_memory(memory: WorkingMemory, made: PromptShortened, mark: Memory) -> WorkingMemory:
    """Return the shortened memory, with the note `mark` after its first item."""
    kept = [one for place, one in enumerate(memory.conversation) if place not in {*made.left_out}]
    beside = [one for one in memory.memories if one.region in TRAILING]
    whole = working_memory([*memory.system, *kept[:1], mark, *kept[1:], *beside])
    return cut_memories(whole, made.longest, CUTTABLE)


def cut_memories(memory: WorkingMemory, longest: int, beside: Collection[str] = ()) -> WorkingMemory:
    """Cut the middle of memories longer than `longest`, in the conversation and the regions `beside`."""
    if not longest:
        return memory
    cuttable = {DEFAULT, *beside}
    return working_memory(
        replace(one, content=cut_middle(one.content, longest)) if one.region in cuttable else one
        for one in memory.memories
    )


DIALOGUE_ALONE_CALL = "plainly"


PLAIN_CALL = "plain"


SPOKEN_CALLS = frozenset({"pipeline", DIALOGUE_ALONE_CALL})
"""Calls whose dialogue is spoken; answers to other calls are thoughts."""


DELIBERATE = "deliberate"


FINAL = "-response>"
"""End of the final answer's tag, which begins with the soul's name."""


OPEN_BLOCK = re.compile(r"\s*(?P<run>`{3,}|~{3,})[ \t]*\w*[ \t]*\n(?P<body>.*)", re.DOTALL)


FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*$", re.MULTILINE)


BEGINS = re.compile(rf"\s*<\s*(?:{'|'.join(SECTION_NAMES)})\b", re.IGNORECASE)


LAST_MARK = re.compile(r".*</[\w-]+\s*>", re.DOTALL)


MONOLOGUE = "internal_monologue"


class PipelineAnswer:
    """An answer of a model: a pure function of its arguments.

    `suffix` is the tag suffix in memory, by default the call's; `private` are the private words so far. An
    `echo` repeats our instructions and is discarded.
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
        """True if memory keeps the answer as written, not as posted."""
        self._echo = echo
        self.too_long = call.event.is_too_long
        self._private = private
        self._sections = _parsed(call.event.text, self._tags)
        self._json: Mapping[str, str] | None = None
        if SAY_TAG not in self._sections.text:
            self._json = parse_json_sections(self._sections.text_outside)

    @cached_property
    def repeats_private_words(self) -> bool:
        """True if the answer repeats private thoughts word for word."""
        return self._private is not None and self._private.are_in(self._words)

    @property
    def is_usable(self) -> bool:
        goes_in_circles = self.is_unfinished and self.call.event.stop_reason == REPEATING
        return self.call.event.is_usable and not (goes_in_circles or self.repeats_private_words or self._echo)

    @property
    def continues_after_end(self) -> bool:
        """True if the model wrote on after the answer's end."""
        event = self.call.event
        closed = event.stop_reason == ENDED and self.is_usable and self._ended(event.text) != event.text
        return closed or self._sections.repeats

    @property
    def is_unfinished(self) -> bool:
        """True if the dialogue was cut for length."""
        return self.outcome == "cut" and (self._sections.is_open(SAY_TAG) or not self._has_dialogue)

    @property
    def _has_dialogue(self) -> bool:
        return SAY_TAG in self._texts

    @property
    def _texts(self) -> Mapping[str, str]:
        return {**self._sections.text, **(self._json or {})}

    @property
    def _words(self) -> str:
        if self.is_untagged:
            return self._sections.text_outside
        return self.received_dialogue

    @property
    def received_dialogue(self) -> str:
        """Dialogue as received, even if incomplete."""
        return spoken_part(self._texts.get(SAY_TAG, "")).strip()

    @property
    def speakable_dialogue(self) -> str | None:
        """Words to say; None without dialogue or if the answer ends in a thought.

        In a call without private sections, text outside of sections is said, too.
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
            return None  # the dialogue is part of a thought
        return self.received_dialogue

    @property
    def _plainly(self) -> str:
        if not self.is_usable or self._sections.may_lack_words:
            return ""
        if self._has_dialogue or self._json is not None:
            return self.received_dialogue
        return self._sections.text_outside.strip()

    @property
    def text_outside(self) -> str:
        return self._sections.text_outside

    @property
    def is_untagged(self) -> bool:
        """True if only dialogue was asked for and came without tags."""
        return self.call.event.name == DIALOGUE_ALONE_CALL and not self._has_dialogue

    @property
    def monologue(self) -> str:
        return self._texts.get(ASIDE_TAG, self._sections.text_outside).strip()

    @property
    def remembered_text(self) -> str:
        """Answer as memory keeps it, without sections not asked for."""
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
        end = LAST_MARK.match(text)
        if end and self.call.event.stop_reason in (ENDED, REPEATING):
            return end[0]
        return text

    @property
    def values(self) -> Mapping[str, str]:
        """Results of the cognitive steps, by the step's name."""
        found = self._texts
        return {step.name: found[step.tag].strip() for step in STEPS_BY_NAME.values() if step.tag in found}


def _parsed(text: str, tags: SectionTags) -> SpeechGate:
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
    closed = FENCED_JSON.fullmatch(text)
    if closed:
        return closed["body"]
    found = OPEN_BLOCK.fullmatch(text)
    if found and not FENCE_LINE.search(found["body"]):
        return found["body"]
    return ""


def is_spoken(call: Entry[ModelCall]) -> bool:
    if call.event.name == DELIBERATE:
        return FINAL in call.event.text
    return call.event.name in SPOKEN_CALLS and bool(PipelineAnswer(call).speakable_dialogue)


MESSAGE = re.compile(
    r'<message from="(?P<name>[^"<>]*)"(?: owner="yes")?>\n(?P<text>.*)\n</message>', re.DOTALL
)
"""A message framed with its sender alone, so that its frame can be removed."""


MARKED = re.compile(rf"<(?:{'|'.join(SECTION_NAMES)})-(?P<suffix>\w+)>")


CONTROL = re.compile(r"<(?=\|[\w ]{1,40}\|?>|\uff5c|/?s>|<SYS>>|</SYS>>)|\[(?=/?INST\])")
"""Beginning of a model's control token, which would end a person's message."""


ROLE = re.compile(r"^(?=[ \t]*(?:system|assistant|user|human)[ \t]*:)", re.IGNORECASE | re.MULTILINE)
"""Beginning of a line that imitates another speaker's turn."""


def memory_as_shown(name: str, memory: WorkingMemory) -> WorkingMemory:
    if name == PLAIN_CALL:
        return as_plain_turns(memory)
    return memory


def as_plain_turns(memory: WorkingMemory) -> WorkingMemory:
    """Return the memory as plain messages, without thoughts.

    Senders are named once there are two of them.
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
    """Move the note before the newest messages, since small models answer the last text."""
    shown = [*memory.conversation]
    place = len(shown)
    while place and shown[place - 1].role == "user":
        place -= 1
    if memory.trailing:
        shown.insert(place, Memory(role="user", content=memory.trailing))
    beginning = memory.beginning
    return working_memory([*memory.system, *shown]).with_beginning(beginning)


def spoken_in_answer(answer: str) -> str:
    marked = MARKED.search(answer)
    tags = SectionTags(suffix=marked["suffix"]) if marked else UNSUFFIXED_TAGS
    parsed = split_sections(answer, SECTION_NAMES, PRIVATE_TAGS, tags)
    if SAY_TAG in parsed.text:
        return parsed.section_text(SAY_TAG).strip()
    return parsed.text_outside.strip()


def _heard(content: str, names: set[str]) -> str:
    message = MESSAGE.fullmatch(content)
    if message is None:
        return content
    names.add(message["name"])
    words = ROLE.sub("> ", CONTROL.sub(lambda found: f"{found[0]} ", message["text"]))
    if len(names) > 1:
        return f"{message['name']}: {words}"
    return words


def entry_as_memory(entry: Entry[Any], suffix: str = "") -> Memory:
    """Return an entry as the model sees it, with the tag suffix.

    People's words are fenced, so that they never look like the owner's.
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
        case SelfCall():  # the model's answer contains the words
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
    return Memory(role="assistant", content=answer.remembered_text, seq=answer.call.seq)


def _forgotten(seq: int) -> Memory:
    return Memory(role="user", content=make_element("context-cleared", reason="forgotten"), seq=seq)


def recall_kept(kept: Iterable[Entry[Any]], suffix: str = "") -> tuple[Memory, ...]:
    return tuple(entry_as_memory(entry, suffix) for entry in kept)


def memory_of_call(
    call: Entry[ModelCall], text: Callable[[str], Entry[PromptVersion]], at: Callable[[int], Entry[Any]]
) -> WorkingMemory:
    """Return what a model call saw; `text` returns a text by its sha256, `at` an entry by its seq."""
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
    for stretch in call.stretches:
        yield from at(stretch).event.seqs
    yield from call.seqs


def _from_within(message: InternalMessage) -> str:
    if not message.sender:
        return message.text
    return message_element(message.sender, message.text, status=message.status)


def _said(said: PersonMessage) -> str:
    text = said.text
    for file in said.files:
        text += f"\n[file, only its name can be seen: {file.name}]"
    if isinstance(said, ReminderFired) and said.is_reminder:
        return in_element("reminder", text, **{"for": clean_name_text(said.name)})
    owner = "yes" if said.owner else ""
    return message_element(clean_name_text(said.name), text, owner=owner, note=said.note)
