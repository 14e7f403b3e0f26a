"""Catalogue of the owner's texts and playbooks, and texts made from them.

Each instruction to a model and each fixed sentence to a person is a text, named by its path without .md; a
process declares its own. Made texts describe abilities and the answer form; they are recorded, and the same
in every call.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from string import Template
from typing import Annotated, Any, Protocol

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from daemon.engine.event import storable_text
from daemon.prompts.chooser import CHOOSING, chooser_text_faults
from daemon.prompts.elements import (
    STEPS_BY_NAME,
    CognitiveStep,
    Mood,
    fill_placeholders,
    parse_labels,
    parse_list_lines,
    parse_moods,
    soul_name_in,
)
from daemon.settings.limits import Limits
from daemon.settings.parse import read_duration

PLAYBOOK_FOLDER = "playbooks/"


FRONT = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$\n?(.*)\Z", re.DOTALL | re.MULTILINE)


PLAYBOOK_NAME = re.compile(r"[a-z][a-z0-9_]*")


LINES = "where lines of the form `name: …` belong"


SHAPES = {
    "string_type": "where a text belongs: put it in quotes if it holds a colon",
    "string_too_short": "where a text belongs",
    "list_type": "where a list belongs: put each on a line of its own, after `- `",
    "too_short": "where at least one belongs",
    "int_parsing": "where a whole number belongs",
    "float_parsing": "where a number belongs",
    "dict_type": LINES,
    "model_type": LINES,
}
"""Messages for values of a wrong type, by pydantic's error type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Playbook:
    """Choices that a process leaves to the soul.

    `loops` is the most rounds (None: the default). `transitions` are reasons by process; `then` is the next
    process. `when` tells the model when to enter.
    """

    name: str
    goal: str
    actions: tuple[str, ...]
    rules: tuple[str, ...] = ()
    loops: int | None = None
    limits: Limits
    transitions: Mapping[str, str]
    then: str = "conversation"
    when: str = ""
    words: str = ""

    @property
    def tools(self) -> Sequence[str]:
        """Names of tools, and patterns of them, among the actions: `github.*`."""
        return [name for name in self.actions if "." in name]  # no other names have a dot

    @property
    def text(self) -> str:
        rules = "\n".join(f"- {rule}" for rule in self.rules)
        return f"{rules}\n\n{self.words}".strip("\n")


@functools.lru_cache
def parse_playbook(name: str, text: str) -> Playbook:
    """Parse a playbook. Raises ValueError with faults and advice.

    Cached, since parsing takes milliseconds in each turn.
    """
    if not PLAYBOOK_NAME.fullmatch(name):
        raise ValueError("its name is that of a process: use a-z, 0-9 and _ alone, a letter first")
    parts = FRONT.match(text)
    if parts is None:
        raise ValueError("it does not begin with front matter: lines like `goal: …` between two lines `---`")
    try:
        front = _FrontMatter.model_validate(_read(parts[1]))
    except ValidationError as error:
        raise ValueError("; ".join(map(_said, error.errors()))) from None
    problems = list(_contradictions(name, front))
    if problems:
        raise ValueError("; ".join(problems))
    limits = front.limits
    return Playbook(
        name=name,
        goal=front.goal,
        actions=tuple(front.actions),
        rules=tuple(front.rules),
        loops=limits.loops,
        limits=Limits(calls=limits.calls, tokens=limits.tokens, usd=limits.usd, seconds=limits.time),
        transitions=front.transitions,
        then=front.then,
        when=front.when,
        words=parts[2].strip(),
    )


def _seconds(given: object) -> float:
    return read_duration(str(given))


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, str_min_length=1)


class _LimitsForm(_StrictModel):
    loops: int | None = Field(default=None, ge=1, le=50)
    calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    time: Annotated[float, BeforeValidator(_seconds), Field(gt=0)] | None = None


class _FrontMatter(_StrictModel):
    goal: str
    rules: list[str] = []
    actions: list[str] = Field(min_length=1)
    limits: _LimitsForm = Field(default_factory=_LimitsForm)
    transitions: dict[str, str] = {}
    then: str = "conversation"
    when: str = ""


class _TextYamlLoader(yaml.BaseLoader):
    """YAML loader that keeps values as text and refuses repeated keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        twice = _twice(str(key.value) for key, _ in node.value)
        if twice:
            raise ValueError(f"it says `{twice[0]}` twice: take one away")
        return super().construct_mapping(node, deep)


def _twice(names: Iterable[str]) -> Sequence[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _read(front: str) -> Any:
    try:
        found = yaml.load(front, _TextYamlLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        where = "its front matter"
        if mark:  # the text above the front matter contains `---`
            where = f"line {mark.line + 2} of it"
        raise ValueError(
            f"{where} cannot be read ({problem}): put a text that holds a colon in quotes"
        ) from None
    if isinstance(found, dict):
        return {key: value for key, value in found.items() if value != ""}
    return found or {}


def _said(error: Mapping[str, Any]) -> str:
    key = ".".join(part for part in error["loc"] if isinstance(part, str))
    where = "its front matter"
    if key:
        where = f"`{key}`"
    match error["type"]:
        case "missing":
            return f"{where} is missing: write a line `{key}: …`"
        case "extra_forbidden" if len(error["loc"]) == 1:
            return f"{where} is not known here: write one of {', '.join(_FrontMatter.model_fields)}"
        case "extra_forbidden":
            return f"{where} is not known here: write one of {', '.join(_LimitsForm.model_fields)}"
        case "value_error":
            return f"{where} {error['ctx']['error']}"
    if error["type"] in SHAPES:
        return f"{where} holds something else {SHAPES[error['type']]}"
    return f"{where} cannot be used: {error['msg'].replace('Input', 'it')}"


def _contradictions(name: str, front: _FrontMatter) -> Iterator[str]:
    for action in _twice(front.actions):
        yield f"the action {action} stands there twice: take one away"
    if name in front.transitions:
        yield f"it has a transition to itself: take `{name}` out of `transitions`"


SOUL_TEXT = "soul"


SYSTEM_TEXT = "prompts/system"


MOODS_TEXT = "prompts/moods"


ABILITIES_TEXT = "prompts/abilities"
"""Text on abilities; a prompt uses the lines that apply."""


FORM_TEXT = "prompts/form"


ALLOWED_TEXT = "prompts/allowed"
"""Text that names the processes to choose from."""


LABELS_TEXT = "prompts/labels"


REMINDED_TEXT = "prompts/reminded"
"""Text on a reminder, in place of speakers; older executions treat it as a message."""


WHEN_FOLDER = "prompts/when/"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAction:
    """An action that the owner has added: its name, its description, and the playbooks that offer it."""

    name: str
    about: str
    playbooks: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Placeholders:
    """The placeholders that a text of the owner may have, and one that it must have, or one of several.

    `may` is None for a text that is taken as it is, `$` and all.
    """

    may: Collection[str] | None = ()
    must: str | Sequence[str] = ""

    @property
    def needed(self) -> Sequence[str]:
        """The placeholders of which it must have one; empty if it need not."""
        if isinstance(self.must, str):
            return [self.must] if self.must else []
        return self.must


AS_IS = Placeholders(None)


PLAIN = Placeholders()


NAMED = Placeholders({"name"})


SECTION = Placeholders({"tag", "name", "verb", "moods", "processes", "reasons", "ways"}, "tag")


FUSED = Placeholders({"tags", "allowed", "sections", "guidance", "name"}, ("tags", "sections"))
"""Placeholders of texts that ask for sections: by name or, in older texts, explained."""


SERVED_TEXT = "prompts/served"
"""Text for clients of the soul's MCP server. No turn reads it, so no journal holds it."""

WORDING: dict[str, Placeholders] = {
    SOUL_TEXT: AS_IS,
    SYSTEM_TEXT: AS_IS,
    MOODS_TEXT: AS_IS,
    ABILITIES_TEXT: Placeholders({"actions", "servers", "name"}),
    FORM_TEXT: Placeholders({"sections", "moods", "mood", "process", "name"}, "sections"),
    ALLOWED_TEXT: Placeholders({"tag", "processes", "name"}, "processes"),
    f"{PLAYBOOK_FOLDER}expert": AS_IS,
    "prompts/person": Placeholders({"names", "place", "name"}),
    REMINDED_TEXT: Placeholders({"names", "place", "name"}, "names"),
    "prompts/known": Placeholders({"person", "notes"}, "notes"),
    "prompts/mood": Placeholders({"mood", "name"}),
    "prompts/time": Placeholders({"weekday", "date", "time"}),
    "prompts/pipeline": FUSED,
    "prompts/plain": FUSED,
    "prompts/plain_mode/system": Placeholders({"character", "name", "weekday", "date"}, "character"),
    "prompts/plain_mode/note": Placeholders(
        {"names", "place", "weekday", "date", "time", "known", "guidance", "name"}, "guidance"
    ),
    "prompts/plain_mode/known": Placeholders({"person", "notes", "name"}, "notes"),
    "prompts/plain_mode/again": NAMED,
    "prompts/plain_mode/words": AS_IS,
    "prompts/silence": NAMED,
    "prompts/interrupted": Placeholders({"log"}, "log"),
    LABELS_TEXT: AS_IS,
    CHOOSING: AS_IS,
    "prompts/notes": Placeholders({"findings", "name"}, "findings"),
    "prompts/think": NAMED,
    "prompts/judge": Placeholders({"goal", "name"}),
    "prompts/conclude": NAMED,
    "prompts/unfinished": NAMED,
    "prompts/reminder": Placeholders({"text"}, "text"),
    "prompts/tools/find": Placeholders({"tools", "name"}, "tools"),
    "prompts/look_up/schema": AS_IS,
    "prompts/look_up/sections": AS_IS,
    "prompts/look_up/images": AS_IS,
    "prompts/look_up/speed": AS_IS,
    "prompts/trace": Placeholders({"processes", "actions", "calls", "tokens", "cost"}),
    "prompts/sentences/trace_link": Placeholders({"link"}, "link"),
    "prompts/inner/commands": Placeholders({"help"}, "help"),
    "prompts/inner/compare": Placeholders({"before", "now"}, "now"),
    "prompts/inner/reflex/rephrase": Placeholders({"repeated"}, "repeated"),
    "prompts/inner/reflex/flashback": Placeholders({"repeated", "id", "when"}, "id"),
    "prompts/inner/reflex/switch": Placeholders({"repeated", "id", "task"}, "id"),
    "prompts/inner/reflex/neighbour": Placeholders({"repeated", "neighbour"}, "neighbour"),
    "prompts/inner/reflex/owner": Placeholders({"repeated", "owner"}, "owner"),
    "prompts/inner/reflex/pause": Placeholders({"repeated", "minutes"}),
    **{step.prompt: SECTION for step in STEPS_BY_NAME.values()},
    "prompts/sentences/unreachable": PLAIN,
    "prompts/sentences/account": PLAIN,
    "prompts/sentences/still_thinking": NAMED,
    "prompts/sentences/waiting": NAMED,
    "prompts/sentences/over_budget": PLAIN,
    "prompts/sentences/lost_words": PLAIN,
    "prompts/sentences/half_said": PLAIN,
    "prompts/sentences/too_long": PLAIN,
    "prompts/sentences/unsayable": PLAIN,
    "prompts/sentences/failed": PLAIN,
    "prompts/sentences/cut": PLAIN,
    "prompts/sentences/changed": PLAIN,
    "prompts/sentences/stopped": PLAIN,
    "prompts/sentences/parked": PLAIN,
    "prompts/sentences/nothing_traced": PLAIN,
    "prompts/sentences/limit": Placeholders({"bound", "owner"}),
    "prompts/sentences/limit_for_good": Placeholders({"bound"}),
    "prompts/sentences/approve": Placeholders({"action", "args", "owner"}),
    "prompts/sentences/approve_tool": Placeholders({"approver", "tool", "server", "asker", "args"}, "args"),
    "prompts/sentences/approve_again": PLAIN,
    "prompts/sentences/tool_asks": Placeholders({"person", "tool", "server", "asks"}, "asks"),
    "prompts/sentences/tool_asks_page": Placeholders({"person", "tool", "server", "asks"}, "asks"),
    "prompts/sentences/secret_wanted": Placeholders({"tool", "field"}, "tool"),
    "prompts/sentences/request_declined": Placeholders({"tool", "why"}, "why"),
    "prompts/sentences/left_out": PLAIN,
    "prompts/sentences/escalated": Placeholders({"owner"}),
    "prompts/sentences/escalated_to_nobody": PLAIN,
    "prompts/sentences/long_result": Placeholders({"document", "characters"}, "document"),
    "prompts/sentences/outcome_unknown": Placeholders({"tool"}, "tool"),
}


def _no_faults(_one: Playbook | str, _playbooks: Collection[str]) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCatalogue:
    """Required texts, by name; a text in `defaults` needs no file."""

    texts: Mapping[str, Placeholders] = field(default_factory=WORDING.copy)
    defaults: Mapping[str, str] = field(default_factory=dict)
    book_faults: Callable[[Playbook, Collection[str]], Iterable[str]] = _no_faults
    """Function that returns unknown names in a playbook, given the names of all playbooks."""
    ability_faults: Callable[[str, Collection[str]], Iterable[str]] = _no_faults
    """The same for the text on abilities."""

    @property
    def prompts(self) -> Sequence[str]:
        return [name for name in self.texts if not name.startswith(PLAYBOOK_FOLDER)]

    @property
    def playbooks(self) -> Sequence[str]:
        return [name for name in self.texts if name.startswith(PLAYBOOK_FOLDER)]

    def fault(self, name: str, text: str) -> str | None:
        """Return a sentence for the owner on an unusable text, else None."""
        if not text.strip():
            return "it is empty: write it, or put it back"
        if name.startswith(PLAYBOOK_FOLDER):
            return _playbook_fault(name.removeprefix(PLAYBOOK_FOLDER), text)
        if name == MOODS_TEXT and not parse_moods(text):
            return "it has no line of the form `- mood: thinks | says | is thinking…`"
        if name == CHOOSING:
            return "; ".join(chooser_text_faults(text)) or None
        return _template_fault(Template(text), self.texts.get(name, AS_IS))

    def misfit(self, name: str, text: str, playbooks: Collection[str]) -> str | None:
        """Return a sentence on unknown names in a usable text, else None."""
        if name == ABILITIES_TEXT:
            return "; ".join(self.ability_faults(text, playbooks)) or None
        if not name.startswith(PLAYBOOK_FOLDER):
            return None
        book = parse_playbook(name.removeprefix(PLAYBOOK_FOLDER), text)
        return "; ".join(self.book_faults(book, playbooks)) or None


def are_prompt_texts(needed: object) -> bool:
    return isinstance(needed, Mapping) and all(isinstance(words, Placeholders) for words in needed.values())


def _playbook_fault(name: str, text: str) -> str | None:
    try:
        parse_playbook(name, text)
    except ValueError as error:
        return str(error)
    return None


def _template_fault(template: Template, words: Placeholders) -> str | None:
    if words.may is None:
        return None
    if not template.is_valid():
        return "it has a `$` that begins no placeholder (write `$$` for a dollar sign)"
    used = set(template.get_identifiers())
    strange = sorted(used.difference(words.may))
    if strange:
        known = [f"${word}" for word in sorted(words.may)]
        return f"it uses ${', $'.join(strange)}; it may use: {', '.join(known) or 'none'}"
    if words.must and used.isdisjoint(words.needed):
        lacks = " or ".join(f"${word}" for word in words.needed)
        return f"it lacks {lacks}, without which it asks for nothing"
    return None


class OwnerTextSource(Protocol):
    """Source of the owner's texts: a turn, as of its begin, or the daemon, as of now."""

    def text(self, name: str) -> str: ...


def process_reason(soul: OwnerTextSource, source: str) -> str:
    """Return when to enter a process, by its playbook or its own text."""
    if source.startswith(PLAYBOOK_FOLDER):
        return parse_playbook(source.removeprefix(PLAYBOOK_FOLDER), soul.text(source)).when
    return fill_prompt(soul, source)


def fill_prompt(soul: OwnerTextSource, name: str, **words: str) -> str:
    """Return an owner's text, filled; `name` is the soul's."""
    return fill_placeholders(soul.text(name), name=soul_name_in(soul.text(SOUL_TEXT)), **words)


def placeholder_names(text: str) -> Collection[str]:
    return Template(text).get_identifiers()


def split_by_headings(text: str) -> dict[str, str]:
    """Split a text at its lines `## heading`; text before them is a note."""
    _, *parts = f"\n{text}".split("\n## ")
    named = [part.partition("\n") for part in parts]
    return {name.strip(): words.strip() for name, _, words in named}


@functools.lru_cache
def parse_process_words(text: str) -> Mapping[str, Sequence[str]]:
    """Return words by process from lines `- process: words, other words`; other lines are notes."""
    found = {}
    for name, words in parse_list_lines(text):
        known = [" ".join(word.casefold().split()) for word in words.split(",") if word.strip()]
        if known:
            found[name] = known
    return found


MADE_TEXTS = (f"made/{ABILITIES_TEXT}", f"made/{FORM_TEXT}")
"""Names of the made texts, in the order of the prompt."""


CONDITION = re.compile(r"^(?P<mark>[ \t]*[-*] )\[(?P<name>\w+)\][ \t]*")
"""Condition of a line: the name of a process or action that must exist."""


LONGEST = 200
"""Most characters of an action's description outside of its playbooks."""


OWN = "actions there"
"""Label of an owner's actions in other processes."""


SYSTEMS = "systems there"
"""Label of the servers whose tools a playbook offers."""


MOST_NAMED_SERVERS = 30


SHOWN = ("internal_monologue", "next_process", "external_dialogue", "emotional_state", "learned")


class SystemTextSource(OwnerTextSource, Protocol):
    """Source of the processes to explain: a turn, or the configuration."""

    @property
    def processes(self) -> Mapping[str, Sequence[str]]:
        """Processes to choose from, with texts; the first text tells when to enter."""

    @property
    def own_actions(self) -> Sequence[OwnAction]: ...
    @property
    def servers(self) -> Sequence[str]:
        """Names of the servers that have tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredBehaviour:
    """Owner's texts, with configured processes and actions.

    `at_once` are processes that start within the turn, some of which choose among `actions`.
    """

    texts: Mapping[str, str]
    processes: Mapping[str, Sequence[str]]
    at_once: Collection[str] = ()
    actions: Collection[str] = ()
    own_actions: Sequence[OwnAction] = ()
    servers: Sequence[str] = ()

    def text(self, name: str) -> str:
        return self.texts[name]

    def known_names(self) -> frozenset[str]:
        found = {*self.processes}
        for book in self._playbooks():
            found.update(one for one in book.actions if one in self.actions)
        return frozenset(found)

    def own_action_names(self) -> Sequence[str]:
        return [one.name for one in _offered(self.own_actions, [*self._playbooks()])]

    def _playbooks(self) -> Iterator[Playbook]:
        for name in self.processes:
            source = f"{PLAYBOOK_FOLDER}{name}"
            if name in self.at_once and source in self.texts:
                yield parse_playbook(name, self.texts[source])


def make_system_texts(soul: ConfiguredBehaviour) -> Mapping[str, str]:
    """Make the texts by name; none if the owner has no templates."""
    if ABILITIES_TEXT not in soul.texts or FORM_TEXT not in soul.texts:
        return {}
    made = (_abilities(soul), _form(soul))
    return dict(zip(MADE_TEXTS, map(storable_text, made), strict=True))


def _abilities(soul: ConfiguredBehaviour) -> str:
    own = ", ".join(soul.own_action_names())
    text = lines_that_apply(soul.text(ABILITIES_TEXT), soul.known_names(), own)
    name = soul_name_in(soul.text(SOUL_TEXT))
    return fill_placeholders(text, name=name, actions=own, servers=_server_names(soul.servers))


def _server_names(servers: Sequence[str]) -> str:
    named = ", ".join(servers[:MOST_NAMED_SERVERS])
    return f"{named}, …" if len(servers) > MOST_NAMED_SERVERS else named


def lines_that_apply(text: str, there: Collection[str], own: str) -> str:
    """Return the lines whose conditions hold, without the conditions; lines on `own` actions need at least
    one.
    """
    lines = []
    for line in text.splitlines():
        found = CONDITION.match(line)
        if found and found["name"] not in there:
            continue
        if own or "actions" not in placeholder_names(line):
            lines.append(CONDITION.sub(r"\g<mark>", line))
    return "\n".join(lines)


def condition_names(text: str) -> Sequence[str]:
    found = [CONDITION.match(line) for line in text.splitlines()]
    return list(dict.fromkeys(one["name"] for one in found if one))


def _form(soul: ConfiguredBehaviour) -> str:
    table = parse_moods(soul.text(MOODS_TEXT))
    usual = next(iter(table.values()))
    sections = [section_instruction(soul, STEPS_BY_NAME[name], usual) for name in SHOWN]
    manners = "; ".join(f"{mood.name} ({mood.thinks}, {mood.says})" for mood in table.values())
    return fill_prompt(
        soul,
        FORM_TEXT,
        sections="\n".join(sections),
        moods=manners,
        mood=usual.name,
        process=next(iter(soul.processes), "conversation"),
    )


def section_instruction(soul: SystemTextSource, step: CognitiveStep, mood: Mood) -> str:
    """Return the owner's instruction for a section."""
    verb = mood.says
    if step.private:
        verb = mood.thinks
    reasons: Sequence[str] = ()
    if step.name == "next_process":
        reasons = [*_reasons(soul)]
    return fill_prompt(
        soul,
        step.prompt,
        tag=step.tag,
        verb=verb,
        moods=", ".join(parse_moods(soul.text(MOODS_TEXT))),
        processes=", ".join(soul.processes),
        reasons=" ".join(reasons),
        ways="\n".join(f"- {reason}" for reason in reasons),
    )


def _reasons(soul: SystemTextSource) -> Iterator[str]:
    for name, sources in soul.processes.items():
        for source in sources:
            when = process_reason(soul, source)
            if when:
                yield f"{name}: {when}{_own_actions(soul, sources)}{_systems(soul, sources)}"
                break


def _own_actions(soul: SystemTextSource, sources: Sequence[str]) -> str:
    """List the owner's actions, which the soul must know to reach them."""
    own = _offered(soul.own_actions, _books(soul, sources) if soul.own_actions else ())
    if not own:
        return ""
    told = "; ".join(f"{one.name} — {one.about[:LONGEST].rstrip(' .')}" for one in own)
    return f" {parse_labels(soul.text(LABELS_TEXT)).get(OWN, OWN)}: {told}."


def _systems(soul: SystemTextSource, sources: Sequence[str]) -> str:
    """List the servers whose tools are offered, which the soul must know to go there for them."""
    if not soul.servers:
        return ""
    patterns = [one for book in _books(soul, sources) for one in book.tools]
    there = [one for one in soul.servers if any(_may_name_tools_of(one, pattern) for pattern in patterns)]
    if not there:
        return ""
    label = parse_labels(soul.text(LABELS_TEXT)).get(SYSTEMS, SYSTEMS)
    return f" {label}: {_server_names(there)}."


def _may_name_tools_of(server: str, pattern: str) -> bool:
    return fnmatchcase(server, pattern.partition(".")[0])


def _books(soul: OwnerTextSource, sources: Sequence[str]) -> Sequence[Playbook]:
    return [
        parse_playbook(source.removeprefix(PLAYBOOK_FOLDER), soul.text(source))
        for source in sources
        if source.startswith(PLAYBOOK_FOLDER)
    ]


def _offered(actions: Sequence[OwnAction], books: Sequence[Playbook]) -> Sequence[OwnAction]:
    return [
        one
        for one in actions
        if any(one.name in book.actions or book.name in one.playbooks for book in books)
    ]
