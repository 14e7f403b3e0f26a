"""Actions written as functions: the docstring is the description, typed parameters are the arguments.

The daemon supplies the parameters with a name of GIVEN (docs/FIRST_ACTION.md).
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, NewType, Protocol, get_args, get_origin, get_type_hints, overload

from pydantic import BaseModel, Field, TypeAdapter, create_model
from pydantic.errors import PydanticUserError

from daemon.actions.action import (
    ActionArguments,
    ActionContext,
    ActionDefinition,
    BoundedNumbers,
    Outcome,
    Perform,
    RunContext,
)
from daemon.documents.document import Document
from daemon.ism import FinishRun, RecurseFunction, RunContinuation, settle_outcome
from daemon.knowledge.search import MessageSearch
from daemon.memory import WorkingMemory
from daemon.ports import Library
from daemon.prompts.chooser import ISMResult
from daemon.prompts.prompt_catalogue import Placeholders, are_prompt_texts
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from daemon.turn.turn import Turn


class SourceProvider(Protocol):
    """Source of documents. Raises DocumentError with a text for people."""

    async def files(self, thread: str, names: Sequence[str], until: float) -> Sequence[Document]:
        """Return files shared in a conversation until then (Unix time), by name or all."""

    async def thread(self, thread: str, until: float) -> Sequence[Document]:
        """Return a conversation's messages until then; the parts are named by permalink."""

    async def channel(
        self, thread: str, name: str, days: int, until: float, askers: Sequence[str]
    ) -> Sequence[Document]:
        """Return the last `days` of a channel, by default this one.

        Another channel must be public here, with all `askers` as members.
        """


Function = Callable[..., Awaitable[Outcome]]


Expert = NewType("Expert", bool)


class Say(Protocol):
    """Function that says a text to people, once."""

    async def __call__(self, text: str) -> None: ...


GIVEN: Mapping[str, tuple[object, ...]] = {
    "run": (ActionContext, RunContext),
    "turn": (Turn,),
    "memory": (WorkingMemory,),
    "say": (Say,),
    "recurse": (RecurseFunction,),
    "memories": (MessageSearch,),
    "library": (Library, Library | None),
    "shelf": (SourceProvider,),
    "expert": (Expert,),
    "soul_home": (Path,),
}
"""Supplied parameters by name, with the types that they may have."""


WITH_STEPS = frozenset({"run", "turn", "say", "recurse"})
"""Parameters of an action that records steps; any other action is one recorded step."""


NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")


VARIADIC = frozenset({Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD, Parameter.POSITIONAL_ONLY})


class InvalidAction(ValueError):
    """A function that cannot be an action; the text gives reason and advice."""

    recorded_name = "Misshapen"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDependencies:
    """Dependencies of actions; an action without one of its own is not offered."""

    memories: MessageSearch | None = None
    library: Library | None = None
    shelf: SourceProvider | None = None
    expert: Expert = Expert(False)
    soul_home: Path | None = None


NOTHING = ActionDependencies()


@dataclass(frozen=True, kw_only=True)
class ActionFunction:
    """A function as an action; further fields as in ActionDefinition.

    `effect` follows from the parameters if None. `texts`: owner's texts needed, by path. No slots, since
    cached properties need a dict.
    """

    function: Function
    name: str
    repeatable: bool
    approval: bool = False
    terminal: bool = False
    exclusive: bool = False
    effect: bool | None = None
    playbooks: Sequence[str] = ()
    texts: Mapping[str, Placeholders] = field(default_factory=dict)

    @functools.cached_property
    def faults(self) -> Sequence[str]:
        return tuple(self._faults())

    def _faults(self) -> Iterator[str]:
        if not NAME.fullmatch(self.name):
            yield f"{self.name} is no name for an action: use a-z, A-Z and 0-9, a letter first"
        if not inspect.iscoroutinefunction(self.function):
            yield "it does not wait: write `async def`"
        if not self.description:
            yield "it is not described: give it a docstring, a sentence by which the model chooses it"
        try:
            parameters = self._parameters
        except (NameError, TypeError, SyntaxError) as error:
            yield f"its types cannot be read ({error}): import what they name, not under TYPE_CHECKING"
            return
        for one in parameters:
            fault = _fault(one)
            if fault:
                yield fault
        fault = self._fault_of_return()
        if fault:
            yield fault
        if isinstance(self.playbooks, str):
            yield f'`playbooks` is a text where a list belongs: write `playbooks=["{self.playbooks}"]`'
        if not are_prompt_texts(self.texts):
            yield 'its `texts` name no `Placeholders`: write `texts={"prompts/…": Placeholders()}`'

    def _fault_of_return(self) -> str:
        kept: list[type] = [str, NoneType]
        if not self._is_one_step:
            kept += [ISMResult, FinishRun, RunContinuation, WorkingMemory, list, tuple, Sequence]
        returned = get_type_hints(self.function).get("return")
        kinds: Sequence[Any] = [returned]
        if isinstance(returned, UnionType):
            kinds = get_args(returned)
        for kind in kinds:
            named = get_origin(kind) or kind
            if named is object and not self._is_one_step:  # the value is checked when the action runs
                continue
            if isinstance(named, type) and not issubclass(named, tuple(kept)):
                return f"it returns a {inspect.formatannotation(returned)}, and {self._what_is_kept}"
        return ""

    @property
    def _what_is_kept(self) -> str:
        if self._is_one_step:
            return "only a text is kept: write `-> str`, and return a str"
        return (
            "a run takes a text, its memory, `recurse()` or `[memory, process]`: write `-> str`,"
            " `-> WorkingMemory`, `-> RunContinuation` or `-> list[object]`"
        )

    @property
    def _is_one_step(self) -> bool:
        if self.effect is not None:
            return self.effect
        return not self._given.keys() & WITH_STEPS

    @property
    def _is_for_runs_alone(self) -> bool:
        return bool(self._given.keys() & {"say", "recurse"}) or self._given.get("run") is RunContext

    @functools.cached_property
    def _parameters(self) -> Sequence[Parameter]:
        return _parameters(self.function)

    @functools.cached_property
    def _given(self) -> Mapping[str, object]:
        return {one.name: one.annotation for one in self._parameters if one.name in GIVEN}

    @functools.cached_property
    def _arguments(self) -> Sequence[Parameter]:
        return [one for one in self._parameters if one.name not in GIVEN]

    @property
    def _model_argument(self) -> Parameter | None:
        """The only argument, if it is a pydantic model: its fields are then the arguments."""
        if len(self._arguments) != 1:
            return None
        [only] = self._arguments
        if isinstance(only.annotation, type) and issubclass(only.annotation, BaseModel):
            return only
        return None

    @functools.cached_property
    def _form(self) -> type[BaseModel] | None:
        if self._model_argument:
            own: type[BaseModel] = self._model_argument.annotation
            return create_model(own.__name__, __base__=(own, BoundedNumbers), __doc__=own.__doc__)
        if not self._arguments:
            return None
        fields: dict[str, Any] = {}
        for one in self._arguments:
            default = one.default
            if default is one.empty:
                default = ...
            fields[one.name] = (_described(one.annotation), default)
        return create_model(self.name, __base__=ActionArguments, **fields)

    @property
    def description(self) -> str:
        """First paragraph of the docstring."""
        text = inspect.getdoc(self.function) or ""
        paragraph, _, _ = text.partition("\n\n")
        return " ".join(paragraph.split())

    def works_with(self, means: ActionDependencies) -> bool:
        return not any(_is_missing(one, means) for one in self._parameters)

    def definition(self, means: ActionDependencies = NOTHING) -> ActionDefinition:
        """Return the definition. Raises InvalidAction."""
        if self.faults:
            raise InvalidAction("; ".join(self.faults))
        return ActionDefinition(
            name=self.name,
            description=self.description,
            perform=self._perform(means),
            args=self._form,
            repeatable=self.repeatable,
            approval=self.approval,
            terminal=self.terminal,
            exclusive=self.exclusive,
            effect=self._is_one_step,
            in_the_open=not self._is_for_runs_alone,
            playbooks=tuple(self.playbooks),
        )

    def _perform(self, means: ActionDependencies) -> Perform:
        """Return a function that supplies the parameters; its source is that of the wrapped function."""

        @functools.wraps(self.function)
        async def perform(run: ActionContext, args: BaseModel | None) -> Outcome:
            values = {name: _value_of(name, run, means) for name in self._given}
            if self._model_argument:
                values[self._model_argument.name] = args
            elif args:
                values |= dict(args)
            outcome: Any = await self.function(**values)
            recurse = values.get("recurse")
            if isinstance(recurse, RecurseFunction):
                outcome = settle_outcome(outcome, recurse)
            return outcome  # type: ignore[no-any-return]

        return perform


@overload
def action(function: Function, /) -> ActionFunction: ...


@overload
def action(
    *,
    name: str = "",
    repeatable: bool | None = None,
    approval: bool = False,
    terminal: bool = False,
    exclusive: bool = False,
    effect: bool | None = None,
    playbooks: Sequence[str] = (),
    texts: Mapping[str, Placeholders] = ...,
) -> Callable[[Function], ActionFunction]: ...


def action(
    function: Function | None = None, /, *, name: str = "", repeatable: bool | None = None, **how: Any
) -> ActionFunction | Callable[[Function], ActionFunction]:
    """Make an action; by default `look_up_deploys` is named `LookUpDeploys`.

    An action that needs approval is not repeatable by default.
    """

    def made(function: Function) -> ActionFunction:
        called = name or function.__name__.title().replace("_", "")
        again = repeatable
        if again is None:
            again = not how.get("approval")
        return ActionFunction(function=function, name=called, repeatable=again, **how)

    if function is None:
        return made
    return made(function)


def _parameters(function: Function) -> Sequence[Parameter]:
    types = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    return [one.replace(annotation=types.get(one.name, one.empty)) for one in signature.parameters.values()]


def _fault(parameter: Parameter) -> str:
    if parameter.kind in VARIADIC:
        return f"it takes `{parameter}`: write each argument with a name and a type of its own"
    name = parameter.name
    if name in GIVEN:
        types = GIVEN[name]
        if parameter.annotation in types:
            return ""
        named = " or ".join(inspect.formatannotation(kind) for kind in types)
        return f"`{name}` is what the daemon gives it: write `{name}: {named}`, or name it otherwise"
    if parameter.annotation is parameter.empty:
        return f"its argument `{name}` has no type: write `{name}: str`, or what it is"
    if name.startswith("_") or hasattr(ActionArguments, name):
        return f"no argument can be named `{name}`: give it another name"
    try:
        TypeAdapter(parameter.annotation).json_schema()
    except PydanticUserError:
        kind = inspect.formatannotation(parameter.annotation)
        return (
            f"no model can write a {kind}, as its argument `{name}` is: take a str, int, float or bool, a"
            " list of them, a Literal or a pydantic model"
        )
    return ""


def _is_missing(parameter: Parameter, means: ActionDependencies) -> bool:
    if not hasattr(means, parameter.name) or parameter.default is not parameter.empty:
        return False
    return getattr(means, parameter.name) is None


def _described(annotation: Any) -> Any:
    if get_origin(annotation) is not Annotated:
        return annotation
    parts = [*get_args(annotation)]
    for place, part in enumerate(parts):
        if isinstance(part, str):
            parts[place] = Field(description=part)
    annotated: Any = Annotated
    return annotated[tuple(parts)]


def _value_of(name: str, run: ActionContext, means: ActionDependencies) -> object:
    match name:
        case "run":
            return run
        case "turn":
            return run.turn
        case "memory":
            return run.memory
        case "say":
            return functools.partial(_say, run)
        case "recurse":
            return RecurseFunction()
    return getattr(means, name)


async def _say(run: ActionContext, text: str) -> None:
    spoken = await say(run.turn, text, answers=False)
    run.add_memories(map(entry_as_memory, spoken), news=False)
