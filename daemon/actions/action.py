"""What an action is before a run has it: one definition serves every run, the help and the docs.

The registry holds definitions; a run binds them to itself as `daemon.ism.Action`s.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from pydantic import BaseModel, ConfigDict, model_validator

from daemon.engine.event import digest
from daemon.ism import FinishRun, ISMResult, RunContinuation
from daemon.memory import Memory, WorkingMemory
from daemon.mind.asking_model import Came, Schema
from daemon.ports import Role
from daemon.process import Turn

TRANSITION_PREFIX = "To_"
"""What the name of a transition to another process, as an action, begins with."""
MOST_WHOLE = 2**53 - 1
"""The largest whole number that each reader of JSON takes exactly; the journal's database holds it, too."""
Outcome = str | ISMResult | FinishRun | RunContinuation | WorkingMemory | Sequence[Any] | None
"""What an action comes to: an observation to go on from, a response, a transition, or the run's end.

With `recurse` or `run` also what the seed's first example returns: `recurse(…)`, the working memory, which
ends the run, or `[memory, process, {"executeNow": True}]`.
"""


class ActionContext(Protocol):
    """What an action is given, wherever the soul has chosen it."""

    @property
    def turn(self) -> Turn:
        """The turn that it is part of, with its steps."""

    @property
    def memory(self) -> WorkingMemory:
        """The conversation, with all that was heard since."""

    async def is_interrupted(self) -> bool:
        """Has someone stopped it? Whatever else came meanwhile is in its memory afterwards."""

    def add_memories(self, memories: Iterable[Memory], *, news: bool = True) -> None:
        """This was said since: the conversation has it, and if it is news the chooser hears it next."""

    def prompt(self, name: str, **words: str) -> str:
        """A text of the owner's, filled; `name` (the soul's) is known."""

    def label(self, meaning: str) -> str:
        """The owner's short words for it (prompts/labels.md); where there are none, the meaning itself."""

    def show_status(self, meaning: str) -> None:
        """The status line says what it is at."""

    def report_finding(self, action: str, outcome: Outcome) -> None:
        """What an action came to, for whoever speaks in the end."""

    def is_new(self, text: str) -> bool:
        """True if neither a result of an action here nor a memory holds this text; from now on one does."""


class RunContext(ActionContext, Protocol):
    """What an action is given in a run of the ISM, and nowhere else."""

    @property
    def role(self) -> Role:
        """The model that this run thinks with."""

    @property
    def notes(self) -> str:
        """What the run has come to so far, as a text for the model; empty: nothing."""

    async def ask(
        self,
        name: str,
        memory: WorkingMemory,
        question: str,
        role: Role,
        schema: Schema | None = None,
        ends: Sequence[str] = (),
    ) -> Came:
        """How a cognitive step asks in a run: through outages and refusals; None where no answer came."""

    def report_told(self, memory: WorkingMemory, *, stopped: bool = False) -> None:
        """They were told what it came to, unless someone stopped that; this is the conversation now."""


Perform = Callable[[Any, Any], Awaitable[Any]]
"""Does it, and comes to an Outcome; a command of the inner life comes to a Done (inner/carrying_out.py).

The first argument is an ActionContext, or a Run where it is offered in runs alone, or a Tick for commands.
The second argument is an instance of `args`, or None where there are none.
"""


class BoundedNumbers(BaseModel):
    """A model whose whole numbers lie within ±MOST_WHOLE unless it names other limits, as its schema says."""

    @model_validator(mode="after")
    def _check_whole_numbers(self) -> Self:
        for place, number in _whole_numbers(self, ""):
            if abs(number) > MOST_WHOLE:
                raise ValueError(f"{place} should be between {-MOST_WHOLE} and {MOST_WHOLE}")
        return self

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return pydantic's schema of the model, with a limit for each whole number in it."""
        schema: dict[str, Any] = _with_limits(super().model_json_schema(*args, **kwargs))
        return schema


def _whole_numbers(value: object, place: str) -> Iterator[tuple[str, int]]:
    """Yield the whole numbers in the value of an argument, each with its path."""
    match value:
        case int():
            yield place, value
        case BaseModel() | Mapping():
            for name, inner in dict(value).items():
                yield from _whole_numbers(inner, f"{place}.{name}".removeprefix("."))
        case list() | tuple() | set() | frozenset():
            for inner in value:
                yield from _whole_numbers(inner, place)


def _with_limits(part: Any) -> Any:
    """Return a part of a JSON schema in which each whole number has a minimum and a maximum."""
    if isinstance(part, list):
        return [_with_limits(one) for one in part]
    if not isinstance(part, dict):
        return part
    made = {key: _with_limits(value) for key, value in part.items()}
    if made.get("type") == "integer" and not made.keys() & {"enum", "const"}:
        if not made.keys() & {"minimum", "exclusiveMinimum"}:
            made["minimum"] = -MOST_WHOLE
        if not made.keys() & {"maximum", "exclusiveMaximum"}:
            made["maximum"] = MOST_WHOLE
    return made


class ActionArguments(BoundedNumbers):
    """What the arguments of an action are made of: a text that is only blank counts as none; nan and inf,
    which no JSON holds, are refused."""

    model_config = ConfigDict(str_strip_whitespace=True, allow_inf_nan=False)


class StrictArguments(ActionArguments):
    """Arguments that are all known."""

    model_config = ConfigDict(extra="forbid")


class NoArguments(StrictArguments):
    """No arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDefinition:
    """A named thing that the soul may choose to do.

    `description` is for the model, one sentence. `repeatable`: may be done again where a crash left open
    what came of it. `approval`: an owner has to agree first. `terminal`: ends the run. `exclusive`: chosen
    alone. `effect`: it is one step, recorded as intent and observation, and comes to a text or None; else it
    consists of steps of its own. `in_the_open`: may it be called in open thought, too, where nobody speaks or
    decides by an action? `playbooks` offer it, though they do not name it. `inner`: it is a command of the
    inner life, and offered to nobody else.
    """

    name: str
    description: str
    perform: Perform
    args: type[BaseModel] | None = None
    repeatable: bool = True
    approval: bool = False
    terminal: bool = False
    exclusive: bool = False
    effect: bool = False
    in_the_open: bool = True
    playbooks: tuple[str, ...] = ()
    inner: bool = False

    version: str = field(init=False, default="")
    """Of one that needs approval: another one where what it says, takes or does is another."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of its arguments; empty where there are none."""
        if self.args is None:
            return {}
        return self.args.model_json_schema()

    def __post_init__(self) -> None:
        """Read its source now: what is edited later is not what this daemon does."""
        if self.approval:
            object.__setattr__(self, "version", _version(self))


def ids_in_words(ids: Iterable[int]) -> str:
    """Ids in a sentence, each once."""
    return ", ".join(map(str, dict.fromkeys(ids)))


def command(name: str, description: str, perform: Perform, args: type[ActionArguments]) -> ActionDefinition:
    """Define a command of the inner life."""
    return ActionDefinition(name=name, description=description, perform=perform, args=args, inner=True)


def _version(one: ActionDefinition) -> str:
    try:
        source = inspect.getsource(one.perform)
    except (OSError, TypeError):  # it was made in no file, or is no function
        source = getattr(one.perform, "__qualname__", type(one.perform).__qualname__)
    return digest([one.description, one.schema, source])
