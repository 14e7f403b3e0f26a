"""Playbooks: what the soul is to reach in a process, by which rules, and what it may choose to do there.

A playbook is a file of the owner's, `playbooks/{process}.md`: front matter, then free words to the soul.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from daemon.limits import Limits
from daemon.setting import read_duration

PLAYBOOK_FOLDER = "playbooks/"
"""How the names of playbooks begin, as texts of the owner."""
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
"""What is said of a value that has the wrong shape, by pydantic's word for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Playbook:
    """What a process lets the soul decide.

    `loops`: how many rounds, None for the usual number. `transitions`: other process to when to go there.
    `then`: the process after the run. `when` one goes there: a sentence for the model.
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
    def text(self) -> str:
        """The rules and the words, as the model reads them."""
        rules = "\n".join(f"- {rule}" for rule in self.rules)
        return f"{rules}\n\n{self.words}".strip("\n")


@functools.lru_cache
def parse_playbook(name: str, text: str) -> Playbook:
    """The playbook of this process; raises ValueError with what is wrong and what to do, in a sentence.

    It is asked for in each turn, and to read one takes some milliseconds.
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
    """YAML in which every value is a text (no "no" that means false), and no key stands twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        twice = _twice(str(key.value) for key, _ in node.value)
        if twice:
            raise ValueError(f"it says `{twice[0]}` twice: take one away")
        return super().construct_mapping(node, deep)


def _twice(names: Iterable[str]) -> Sequence[str]:
    """Those of these names that stand there more than once."""
    return [name for name, times in Counter(names).items() if times > 1]


def _read(front: str) -> Any:
    """The front matter as texts, lists and mappings; a key with nothing after it is not there."""
    try:
        found = yaml.load(front, _TextYamlLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        where = "its front matter"
        if mark:  # counted as in the file, where a line `---` stands above
            where = f"line {mark.line + 2} of it"
        raise ValueError(
            f"{where} cannot be read ({problem}): put a text that holds a colon in quotes"
        ) from None
    if isinstance(found, dict):
        return {key: value for key, value in found.items() if value != ""}
    return found or {}


def _said(error: Mapping[str, Any]) -> str:
    """A sentence of pydantic's, for the owner; without the value, since logs and `/healthz` show it."""
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
    """What no single value says wrong."""
    for action in _twice(front.actions):
        yield f"the action {action} stands there twice: take one away"
    if name in front.transitions:
        yield f"it has a transition to itself: take `{name}` out of `transitions`"
