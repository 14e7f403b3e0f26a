"""What an action is before a run has it: one definition serves every run, the help and the docs.

The registry holds definitions; a run binds them to itself as `daemon.ism.Action`s.

A definition bound to where it was chosen, as an `Action` of `run_ism`: shown, agreed to, recorded.

What an action would be given, as an owner reads it who has to agree: names and values, one a line.

It stands in a code block. Nothing in a value can end that, begin a line that reads like a name, or hide.

The context of an action that a run and open thought share: the owner's words, and what is new.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from pydantic import BaseModel, ConfigDict, model_validator

from daemon.engine.event import digest, fingerprint
from daemon.engine.exceptions import EngineError
from daemon.errors import describe_error
from daemon.ism import Action, ActionRefused, FinalMemory, FinishRun, RunContinuation, parse_process_return
from daemon.memory import Memory, WorkingMemory
from daemon.model import Role
from daemon.prompts.chooser import ISMResult
from daemon.prompts.elements import escape_tags, parse_labels
from daemon.prompts.prompt_catalogue import LABELS_TEXT
from daemon.turn.model_calls import Came, Schema
from daemon.turn.questions import Question, ask, two_buttons
from daemon.turn.turn import Turn

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


def _version(one: ActionDefinition) -> str:
    try:
        source = inspect.getsource(one.perform)
    except (OSError, TypeError):  # it was made in no file, or is no function
        source = getattr(one.perform, "__qualname__", type(one.perform).__qualname__)
    return digest([one.description, one.schema, source])


class BaseActionContext:
    """The part of an ActionContext that is the same everywhere.

    The owner's words are those of the turn's begin, whatever the owner writes meanwhile. `shown` are the
    results of actions so far: one list for all that go on beside each other.
    """

    def __init__(self, turn: Turn, memory: WorkingMemory, shown: list[str] | None = None) -> None:
        self.turn = turn
        self.memory = memory
        self._shown = [] if shown is None else shown
        self._labels = parse_labels(turn.text(LABELS_TEXT))

    def prompt(self, name: str, **words: str) -> str:
        """A text of the owner's, filled; `name` (the soul's) is known."""
        return self.turn.prompt(name, **words)

    def label(self, meaning: str) -> str:
        """The owner's short words for it (prompts/labels.md); where there are none, the meaning itself."""
        return self._labels.get(meaning, meaning)

    def is_new(self, text: str) -> bool:
        """True if neither a result of an action here nor a memory holds this text; from now on one does."""
        told = escape_tags(text)
        is_remembered = any(told in one.content for one in self.memory.memories)
        if is_remembered or any(text in one for one in self._shown):
            return False
        self._shown.append(text)
        return True


FENCE = "```"


TICK = "\u02cb"
"""What stands for a backtick, which would end the block: it looks like one."""


BEGINNING, END = 400, 200
"""Of a long value so many characters are shown from its beginning, and so many up to its end."""


def arguments_for_approval(run: ActionContext, given: Mapping[str, Any]) -> str:
    """All names and values in a code block; where one is shortened, where the whole stands. Empty: none."""
    if not given:
        return ""
    shown = "\n".join(_named(run, given))
    block = f"{FENCE}\n{shown}\n{FENCE}"
    if _is_long(given):
        block += "\n" + run.prompt("prompts/sentences/left_out")
    return block


def _named(run: ActionContext, given: Mapping[str, Any]) -> Iterator[str]:
    for name, value in given.items():
        yield from _lines(run, _safe(name.replace("_", " ")) + ":", value)


def _lines(run: ActionContext, name: str, value: Any) -> Iterator[str]:
    """A value after its name: on the same line, or on lines of their own that are marked as its own."""
    has_lines = isinstance(value, str) and len(value.splitlines()) > 1
    if has_lines or isinstance(value, Mapping | list):
        yield name
        for line in _inside(run, value):
            yield f"  {line}"
    else:
        yield f"{name} {_shortened_text(run, _word(run, value))}"


def _inside(run: ActionContext, value: Any) -> Iterator[str]:
    """The lines of a value that has several."""
    match value:
        case Mapping():
            yield from _named(run, value)
        case list():
            for one in value:
                yield from _lines(run, "-", one)
        case _:
            for line in _shortened_text(run, value).splitlines():
                yield f"| {line}"


def _word(run: ActionContext, value: Any) -> str:
    """A value that is no list as people write it; what is empty is seen to be."""
    match value:
        case True:
            return run.label("yes")
        case False:
            return run.label("no")
        case None:
            return run.label("none")
    return str(value) or '""'


def _shortened_text(run: ActionContext, text: str) -> str:
    """A text with its middle left out where it is long, and how much that is."""
    left_out = len(text) - BEGINNING - END
    if left_out > 0:
        text = f"{text[:BEGINNING]} [… {left_out:,} {run.label('characters')} …] {text[-END:]}"
    return "\n".join(_safe(line) for line in text.splitlines())


def _safe(line: str) -> str:
    """One line that ends no code block; what nobody could see in it is spelled out."""
    seen = ""
    for character in line.replace("`", TICK):
        if character.isprintable():
            seen += character
        else:
            seen += f"\\u{ord(character):04x}"
    return seen


def _is_long(value: Any) -> bool:
    """Is a text in it shortened?"""
    if isinstance(value, Mapping):
        value = [*value.values()]
    if isinstance(value, list):
        return any(_is_long(one) for one in value)
    return isinstance(value, str) and len(value) > BEGINNING + END


log = logging.getLogger(__name__)


def bind_action(run: ActionContext, one: ActionDefinition) -> Action:
    """The action, as it is carried out here."""
    agreed: set[str] = set()

    async def handle(_context: object, log: list[str], args: BaseModel | None = None) -> Outcome:
        run.show_status(one.name)
        given = dict[str, Any]()
        if args:
            given = args.model_dump(mode="json")
        if one.approval:
            await _agree(run, one, given, agreed)
        if one.effect:
            outcome: Outcome = await _recorded(run, one, given, args)
        else:
            outcome = _remembered(run, await one.perform(run, args), log)
        run.report_finding(one.name, outcome)
        return outcome

    return Action(
        one.name,
        one.description,
        handle,
        args=one.args,
        terminal=one.terminal,
        exclusive=one.exclusive,
    )


def _remembered(run: ActionContext, outcome: Any, log: list[str]) -> Outcome:
    """Return an action's outcome without its memories: the run hears, and its log gets, what is new in them.

    Raises TypeError for a list or tuple that names no process.
    """
    memory: object = None
    match outcome:
        case list() | tuple():
            to = parse_process_return(outcome)
            memory = to.memory
            outcome = ISMResult(next_process=to.to, execute_now=to.execute_now, params=to.params)
        case RunContinuation(working=memory, internal=lines):
            log += [line for line in lines if line not in log]
            outcome = RunContinuation()
        case WorkingMemory():
            memory, outcome = outcome, FinishRun()
        case FinalMemory(memory=found):
            outcome = FinishRun(found)
    if isinstance(memory, WorkingMemory):
        known = {*run.memory.memories}
        run.add_memories([one for one in memory.conversation if one not in known])
    return outcome  # type: ignore[no-any-return]


async def _recorded(
    run: ActionContext, one: ActionDefinition, given: dict[str, Any], args: BaseModel | None
) -> str:
    """Intent and observation; what goes wrong in it is observed, too."""

    async def do() -> str:
        try:
            return _text(one, await one.perform(run, args))
        except EngineError:
            raise
        except Exception as error:  # the action boundary: the chooser is told, the intent closed
            log.warning("The action %s went wrong.", one.name, exc_info=error)
            return f"{run.label('failed')}: {describe_error(error, run.label)}"

    if one.repeatable:
        observed = await run.turn.effect_soon(one.name, given, do)
        return observed.text
    entry = await run.turn.effect(one.name, given, do, repeatable=False)
    return entry.event.text


def _text(one: ActionDefinition, outcome: Outcome) -> str:
    """What is recorded of it. Raises TypeError for what would be lost: only its own steps could say it."""
    if outcome is None or isinstance(outcome, str):
        return outcome or ""
    kind = type(outcome).__name__
    raise TypeError(f"{one.name} returned a {kind}, and only a text is kept: it has to return a str")


async def _agree(run: ActionContext, one: ActionDefinition, given: dict[str, Any], agreed: set[str]) -> None:
    """An owner agrees. Raises Refused: nobody can, one declined, or there is something to hear first."""
    owners = run.turn.deciders
    this = fingerprint(given)
    if this in agreed:
        agreed.discard(this)  # one agreement, one deed
        return
    if not owners:
        raise ActionRefused(run.label("nobody can agree"))
    args, owner = arguments_for_approval(run, given), f"<@{owners[0]}>"
    question = Question(
        text=run.prompt("prompts/sentences/approve", action=one.name, args=args, owner=owner),
        to=owners,
        owners=owners,
        choices=two_buttons(run.turn.text(LABELS_TEXT), "approve", "decline"),
        about={"action": one.name, "version": one.version, "args": given},
    )
    answered = await ask(run.turn, "approval", question)
    run.add_memories(answered.memories)
    if answered.value != "approve":
        raise ActionRefused(run.label("declined"))
    before = run.memory
    if await run.is_interrupted():
        raise ActionRefused(run.label("stopped"))
    if answered.more or run.memory is not before:
        agreed.add(this)
        raise ActionRefused(run.label("hear first"))
