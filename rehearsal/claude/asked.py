"""Requests parsed as any model would read them: sections, choices and speakers.

Independent of any prompt's wording.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import chain
from operator import attrgetter
from typing import Any
from unicodedata import combining, normalize

from rehearsal.claude.keepsakes import AFTER, BEFORE, SELF, each_once, facts_in
from rehearsal.claude.matching import shared
from rehearsal.claude.prompt import Body, texts
from rehearsal.claude.task import OUTRIGHT, task_of
from rehearsal.claude.wished import ENOUGH, POLITELY, called, meant

RESULT = re.compile(r'<result of="([^"<>]+)">((?:(?!<result of=").)*?)</result>', re.S)
MENTIONED = re.compile(r"\bbetween\s+`?<([\w-]+)>`?\s+and\s+`?</\1>`?")
"""Tags mentioned, not requested."""
CODE = re.compile(r"`[^`\n]*`")
"""Code may mention tags without requesting them."""
TAG = re.compile(r"</?[A-Za-z][\w-]*>")
OPENING = re.compile(r"<([A-Za-z][\w-]*)>")
MESSAGE = re.compile(
    r"""<(\w+)[ ](?:from|name|author)="(?P<name>[^"<>]*)"[^<>]*>
    (?P<words>(?:(?!<\1[ ](?:from|name|author)=").)*?)</\1>""",
    re.S | re.X,
)
"""Like RESULT, stops at the next opening tag, to take linear time."""
EDITED = re.compile(r'^\W*<\w+ [^<>]*note="edited"')
NAMED = re.compile(r"\bYou are ([A-Z][\w'-]*(?: [A-Z][\w'-]*)*)")
PRESSED = re.compile(r"\[[^\n]+ chose “([^”\n]+)”\]")
THREAD = re.compile(r"sess-[0-9a-f]")
"""Prefix of senders that are threads."""
COLON = re.compile(
    r"""(?P<name>[^\W\d_][\w.'-]*(?:[ ][\w.'-]+){0,2}?)  # Alice, Alice B. Liddell
    (?:[ ]\([^)]*\))? (?:[ ](?:said|asked|wrote))? :\s+ (?P<words>.+)""",
    re.S | re.X,
)
LIST = r"[\w-]+(?:(?:\s*[,|/]\s*(?:or\s+)?|\s+or\s+)[\w-]+)+"
CHOICES = re.compile(
    rf"(?:one (?:\w+ )?of|either|choose|pick)[\s:]*(?:the following[\s:]*)?({LIST})|>\s*({LIST})\s*<", re.I
)
SPOKEN = re.compile(
    r"\b(say|says|said|saying|speak|speech|spoken|reply|answer|tell|respond|response|aloud)\b", re.I
)
PRIVATE = re.compile(
    r"\b(private|privately|nobody|no one|never|unsaid|hidden|think|thought|feels?|notices?|inner|aside)\b",
    re.I,
)
PROBLEM = "problem_solving"
ERRANDS = "errands"
OPEN_THOUGHT = "deliberation"
READING = "deep_reading"
TURNS = frozenset({"conversation", "closing", PROBLEM, OPEN_THOUGHT, READING})
"""Processes of every soul."""
ACTION = re.compile(r"(?<![\w@/.<-])(?:[A-Z][a-z0-9]+){2,}\b|(?<![\w@/.<-])[a-z0-9]+(?:_[a-z0-9]+)+\b")
OFFERED = re.compile(r"\b(?P<name>[A-Z][A-Za-z0-9]*) — (?P<about>[^;]*)")
"""Owner's action in the description of a process."""
SYSTEMS = re.compile(r"\bSystems there:\s*([^.;\n]*)")
"""Names of tool servers in the description of a process."""
NAMES_SECTIONS = re.compile(r"\bnote\b[^.]*\bnames\b[^.]*\bsections\b", re.I)
"""Says that a note names the sections: without one the answer has none."""
RESERVED = re.compile(rf"\b{OPEN_THOUGHT}: only\b", re.I)
"""Says that open thought needs an explicit request."""
NOTHING = re.compile(r"\(nothing[^()]*\)", re.I)
"""Placeholder for missing notes."""
NOTES = re.compile(r'<notes about="([^"<>]*)">\n(.*?)\n</notes>', re.S)
"""Notes about a person at the end of a request."""
USED = re.compile(rf"{POLITELY}(?:use|call|run)\s+[a-z]\w+", re.I)
DEED = re.compile(rf"{POLITELY}(?:order|book|buy)\b", re.I)
SIGNS = tuple(
    (re.compile(sign, re.I), re.compile(speaks_for, re.I))
    for sign, speaks_for in (
        (
            r"^problem.?solving$",
            r"\b(solve|find out|figure out|investigate|look (into|up)|help me with|what can (we|I) do"
            r"|broken|drips|dripping|leaks|leaking|does(n.t| not) work)\b"
            r"|^\W*(@\S+\s+)?(which|where|when|who)\b(?! (are|were|do|did|can|could|would|have) you\b)"
            rf"|{DEED.pattern}",
        ),
        (r"^closing$", r"^\W*(bye|goodbye|good night|see you|farewell)\b|\b(bye|that.s all|good night)\W*$"),
        (r"^stop", r"^\W*(stop|halt|cancel|enough|never ?mind)\b(?! \w+ing)"),
        (
            r"^(new|other|something.?new)",
            r"\b(something else|by the way|another (thing|question)|meanwhile)\b",
        ),
        (r"^yes$", rf"{SELF.pattern}|{BEFORE.pattern}|{AFTER.pattern}"),
        (r"^sardonic$", r"\b(print|delete|rename|rewrite|throw away)\b.*\b(all|every\w*|whole|entire)\b"),
        (r"^frustrated$", r"\b(useless|stupid|nonsense|rubbish|not again)\b"),
        (r"^engaged$", rf"\b(thanks?|thank you|lovely|wonderful|great|glad)\b|{SELF.pattern}"),
        (
            r"^focused$",
            r"\b(drips|dripping|broken|find out|look up|think (it|this) through|compare|which|why)\b",
        ),
    )
)
"""Patterns of choices, with words of a person that select them."""
USUAL = re.compile(r"conversation|more.*|no", re.I)
"""Default choices."""
ALIKE = 0.5
"""Minimum similarity, 0 to 1, of an edit to its original."""
BLANK = re.compile(r"\b(empty|optional|if any|leave (it )?out|omit|(?<!say )nothing)\b", re.I)
"""Says that a section may be empty; "say nothing" does not, since it is about another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSection:
    """Requested pair of tags with its description."""

    name: str
    about: str

    @property
    def choices(self) -> tuple[str, ...]:
        """Allowed words; empty for free text."""
        bare = re.sub(r"[`'\"“”]|\([^)]*\)", "", self.about)
        found = CHOICES.search(bare)
        if not found:
            return ()
        return tuple(re.findall(r"(?!or\b)[\w-]+", found[1] or found[2]))

    def chosen(self, words: str) -> str:
        """Return the choice for these words; "" for free text."""
        if not self.choices:
            return ""
        own = self._own_turn(words)
        if own:
            return own
        allowed = OUTRIGHT.search(words) or not RESERVED.search(self.about)
        if OPEN_THOUGHT in self.choices and allowed and task_of(words):
            return OPEN_THOUGHT
        return str(chosen(self.choices, words))

    def _own_turn(self, words: str) -> str:
        """Return the owner's process that fits these words.

        For a called action: PROBLEM, unless a process offers it. "" for other words.
        """
        if PROBLEM not in self.choices or OUTRIGHT.search(words):
            return ""
        if ERRANDS in self.choices and names_system(words, self._about(ERRANDS)):
            return ERRANDS
        where = self._offering(words)
        if where or DEED.search(words):
            return where
        own = [choice for choice in self.choices if choice not in (*TURNS, ERRANDS)]
        score = {choice: len(shared(words, f"{choice} {self._about(choice)}")) for choice in own}
        best = max(own, key=score.__getitem__, default="")
        if best and score[best]:
            return best
        return PROBLEM if ACTION.search(words) or USED.search(words) else ""

    def _offering(self, words: str) -> str:
        """Return the process with the action for these words."""
        described, place = dict[str, str](), dict[str, str]()
        for choice in self.choices:
            for found in OFFERED.finditer(self._about(choice)):
                described[found["name"]] = found["about"]
                place.setdefault(found["name"], choice)
        wish = called(words, described) or meant(words, described, enough=ENOUGH)
        return place[wish.name] if wish else ""

    def _about(self, choice: str) -> str:
        """Return a choice's description, from its colon to the next choice."""
        others = "|".join(map(re.escape, self.choices))
        found = re.search(rf"\b{re.escape(choice)}:\s(.*?)(?=\b(?:{others}):\s|$)", self.about, re.S)
        return found[1] if found else ""

    @property
    def may_be_blank(self) -> bool:
        return bool(BLANK.search(self.about))

    @property
    def speech(self) -> int:
        """Score of evidence that it is spoken."""
        return _speech(self.name, self.about)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonText:
    """Words of a person; the name may be empty."""

    name: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """Parsed request. `answers` are earlier answers, `found` are names and results of actions.

    `notes` are by person, `replaced` are edited messages, `pressed` is the last input if a button.
    """

    sections: tuple[TagSection, ...]
    schema: dict[str, Any] | None
    heard: tuple[PersonText, ...]
    answers: tuple[str, ...]
    found: tuple[tuple[str, str], ...]
    instruction: str
    notes: Mapping[str, tuple[str, ...]]
    pressed: str
    replaced: tuple[PersonText, ...] = ()

    @property
    def last(self) -> PersonText:
        return self.heard[-1] if self.heard else PersonText(name="", words="")

    @property
    def words(self) -> str:
        return self.last.words

    @property
    def person(self) -> str:
        return self.last.name

    @property
    def told(self) -> Sequence[str]:
        """Facts about the last speaker, from notes and their messages."""
        mine = [said.words for said in self.heard[:-1] if said.name == self.person]
        here = list(chain.from_iterable(map(facts_in, mine)))
        gone = list(chain.from_iterable(facts_in(said.words) for said in self.replaced))
        lines = [_said(note).words for note in self.notes.get(self.person, ())]
        noted = list(chain.from_iterable(facts_in(line) or [line] for line in lines))
        return [fact for fact in each_once([*here, *noted, *facts_in(self.words)]) if fact not in gone]


def names_system(words: str, about: str) -> bool:
    """True if these words name one of the systems that a description lists."""
    listed = SYSTEMS.search(about)
    systems = re.findall(r"[\w-]+", listed[1]) if listed else []
    said = set(re.findall(r"[\w-]+", without_accents(words).casefold()))
    return any(without_accents(system).casefold() in said for system in systems)


def without_accents(text: str) -> str:
    return "".join(one for one in normalize("NFD", text) if not combining(one))


def asked(body: Body) -> ModelRequest:
    system = "\n".join(texts(body.get("system")))
    turns: list[list[str]] = []
    answers: list[str] = []
    found: list[tuple[str, str]] = []
    for message in body["messages"]:
        said = texts(message["content"])
        if message["role"] == "assistant":
            answers += said
        elif message["role"] == "user":
            for text in said:
                found += [(name, words.strip()) for name, words in RESULT.findall(text)]
            turns.append([MENTIONED.sub("", RESULT.sub("", text)) for text in said])
    form = CODE.sub("", MENTIONED.sub("", system))
    instruction, turns[-1] = _split(turns[-1], _tags(form))
    heard, replaced = _heard(turns)
    held_to = (body.get("output_config") or {}).get("format") or {}
    return ModelRequest(
        sections=tuple(_wanted(instruction, form)),
        schema=held_to.get("schema"),
        heard=tuple(_without_calls(heard, system)),
        answers=tuple(answers),
        found=tuple(found),
        instruction=instruction,
        notes=_notes(texts(body["messages"][-1]["content"])),
        pressed=_pressed(turns[-1]),
        replaced=tuple(_without_calls(replaced, system)),
    )


def sections(text: str) -> list[TagSection]:
    """Return the pairs of tags in their order, each with its paragraphs."""
    names = _tags(text)
    openings = [found for found in OPENING.finditer(text) if found[1] in names]
    starts = [_start(text, found.start(), openings) for found in openings]
    ends = [*starts, len(text)][1:]
    about = defaultdict[str, list[str]](list)
    for found, start, end in zip(openings, starts, ends, strict=True):
        paragraph, _, _ = text[start:end].partition("\n\n")
        about[found[1]].append(paragraph)
    return [TagSection(name=name, about="\n".join(about[name])) for name in names]


def _wanted(instruction: str, form: str) -> list[TagSection]:
    """Return the sections that an instruction explains or names."""
    if _tags(instruction):
        return sections(instruction)
    named = dict.fromkeys(OPENING.findall(instruction))
    if not named and NAMES_SECTIONS.search(form):
        return []
    if not named:
        return sections(form)
    return [
        TagSection(name=name, about=f"{_line(name, instruction)}\n{_explained(name, form)}")
        for name in named
        if f"</{name}>" in form
    ]


def _line(name: str, instruction: str) -> str:
    found = re.search(rf"^<{re.escape(name)}>:(.*)$", instruction.replace(" <", "\n<"), re.M)
    return found[1] if found else ""


def _explained(name: str, form: str) -> str:
    found = re.search(rf"^<({re.escape(name)})>[^\n]*?</\1>(.*?)(?=^<[\w-]+>|\n\n|\Z)", form, re.M | re.S)
    return found[2] if found else ""


def spoken(among: Sequence[TagSection]) -> TagSection | None:
    """Return the section most described as speech, else the last free text."""
    free = [section for section in among if not section.choices]
    return max(reversed(free), key=attrgetter("speech"), default=None)


def is_spoken(name: str, about: str) -> bool:
    return _speech(name, about) > 0


def chosen(choices: Sequence[Any], words: str) -> Any:
    """Return the choice that the words suggest, the usual one, one they name, or the first."""
    for sign, speaks_for in SIGNS:
        led = [choice for choice in choices if sign.search(str(choice))]
        if led and speaks_for.search(words):
            return led[0]
    for choice in choices:
        if USUAL.fullmatch(str(choice)):
            return choice
    for choice in choices:
        if re.search(rf"\b{re.escape(str(choice))}\b", words, re.I):
            return choice
    return choices[0]


def _speech(name: str, about: str) -> int:
    own = name.replace("_", " ").replace("-", " ")
    for_it = len(SPOKEN.findall(about)) + 3 * len(SPOKEN.findall(own))
    against = len(PRIVATE.findall(about)) + 3 * len(PRIVATE.findall(own))
    return for_it - 2 * against


def _tags(text: str) -> list[str]:
    """Return the names of tags both opened and closed."""
    return [name for name in dict.fromkeys(OPENING.findall(text)) if f"</{name}>" in text]


def _start(text: str, at: int, openings: Sequence[re.Match[str]]) -> int:
    """Return where a tag's description starts."""
    line = text.rfind("\n", 0, at) + 1
    for other in openings:
        if line <= other.start() < at:
            return at
    return line


def _split(turn: Sequence[str], form: Collection[str]) -> tuple[str, list[str]]:
    """Return a turn's instruction and earlier texts."""
    if len(turn) == 1:
        return _split_text(turn[0], form)
    if _asks(turn[-1], form):
        return turn[-1], list(turn[:-1])
    return "", list(turn)


def _asks(text: str, form: Collection[str]) -> bool:
    """True if a text explains tags, or names some of the form."""
    return bool(_tags(text)) or not set(OPENING.findall(text)).isdisjoint(form)


def _split_text(text: str, form: Collection[str]) -> tuple[str, list[str]]:
    """Split one text at the first paragraph that names tags."""
    if _asks(MESSAGE.sub("", text), form):
        parts = re.split(r"\n{2,}", text)
        for place, part in enumerate(parts):
            if _asks(part, form):
                return "\n\n".join(parts[place:]), parts[:place] or [TAG.sub("", text)]
    return "", [text]


def _notes(last: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    notes = {}
    for person, text in NOTES.findall("\n".join(last)):
        lines = [line.strip().removeprefix("- ") for line in text.split("\n")]
        notes[person] = tuple(line for line in lines if line and not NOTHING.fullmatch(line))
    return notes


def _pressed(turn: Sequence[str]) -> str:
    for text in reversed(turn):
        found = PRESSED.fullmatch(text)
        if found:
            return found[1]
    return ""


def _heard(turns: Iterable[Sequence[str]]) -> tuple[list[PersonText], list[PersonText]]:
    """Return current messages, and replaced versions.

    If some have names, the rest are notes to the model.
    """
    every = list(chain.from_iterable(turns))
    marked = [text for text in every if MESSAGE.search(text)]
    heard = [(_said(text), EDITED.search(text) is not None) for text in marked or every]
    named = [(said, edited) for said, edited in heard if said.name]
    return _as_edited([(said, edited) for said, edited in named or heard if not THREAD.match(said.name)])


def _as_edited(heard: Sequence[tuple[PersonText, bool]]) -> tuple[list[PersonText], list[PersonText]]:
    """Let each edit (True) replace the most similar message of its author."""
    said = list[PersonText]()
    replaced = list[PersonText]()
    for one, is_edit in heard:
        before = [other for other in said if other.name == one.name]
        if is_edit and before:
            nearest = max(before, key=lambda other: _likeness(other, one))
            if _likeness(nearest, one) >= ALIKE:
                said.remove(nearest)
                replaced.append(nearest)
        said.append(one)
    return said, replaced


def _likeness(one: PersonText, other: PersonText) -> float:
    return SequenceMatcher(None, one.words.casefold(), other.words.casefold()).ratio()


def _without_calls(heard: list[PersonText], system: str) -> list[PersonText]:
    """Remove the soul's name from the start of messages."""
    named = NAMED.search(system)
    if not named:
        return heard
    call = re.compile(rf"^@?{re.escape(named[1])}\b[,:!]?\s+")
    return [replace(said, words=call.sub("", said.words)) for said in heard]


def _said(text: str) -> PersonText:
    found = MESSAGE.search(text) or COLON.fullmatch(text.strip())
    if not found:
        return PersonText(name="", words=text.strip())
    return PersonText(name=found["name"], words=found["words"].strip().strip('"“”'))
