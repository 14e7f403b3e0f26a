"""Implicit Semantic Machine: a loop in which a model chooses actions until a goal is reached.

It knows only its arguments. Public names follow the seed.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from difflib import get_close_matches
from inspect import Parameter
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, ValidationError

from daemon.answers.choice import (
    DONE,
    ActionChoice,
    ChoiceUnreadable,
    ChosenAction,
    arguments_in_words,
    choice_schema,
    parse_choice,
)
from daemon.answers.repetition import RepetitionDetector, Seen
from daemon.engine.exceptions import EngineError
from daemon.errors import describe_error
from daemon.memory import WorkingMemory
from daemon.prompts.chooser import (
    CheckInterrupt,
    Chooser,
    ChooserPrompt,
    ChooserTexts,
    FunctionChooser,
    Interrupt,
    Invoke,
    ISMResult,
    PromptPart,
    RunInterruption,
    StopReason,
    await_result,
    fence_result,
    internal_log,
    result_element,
    validation_fault,
)
from daemon.prompts.elements import action_name_text, escape_tags, fill_placeholders
from daemon.prompts.prompt_catalogue import placeholder_names

__all__ = [
    "DONE",
    "Action",
    "ActionRefused",
    "Chooser",
    "ChooserPrompt",
    "ChooserTexts",
    "FinishRun",
    "ISMResult",
    "Interrupt",
    "Invoke",
    "PromptPart",
    "RecurseFunction",
    "RunContinuation",
    "RunInterruption",
    "StopReason",
    "run_ism",
]


log = logging.getLogger(__name__)


FORM = '[memory, process] or [memory, process, {"executeNow": True}]'


AT_ONCE = ("executeNow", "execute_now")
"""Spellings of the option that lets a process go to work within this turn."""


OPTIONS = (*AT_ONCE, "params")


WORKING_MEMORY_NAMES = ("workingMemory", "working_memory")


INTERNAL_MEMORY_NAMES = ("internalMemory", "internal_memory")


MEMORY_NAMES = (*WORKING_MEMORY_NAMES, *INTERNAL_MEMORY_NAMES)


REASKS = 3
"""Most repetitions of a prompt after unreadable answers."""


WORDING = ChooserTexts()


DESCRIBED = "<described>"
"""Beginning of what the makers of a tool wrote; the log does not quote it."""


MOST_SIMILAR = 5
"""Most similar names that the answer to an unknown one suggests."""


MOST_COMPARED, LONGEST_COMPARED = 1_000, 64
"""Most names that an unknown one is compared with, and most of its characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReturn:
    """A process to go over into, by name, with its memory: `[memory, process, {"executeNow": True}]`.

    The form is that of Open Souls, as the first example of the seed on the ISM has it.
    """

    to: str
    memory: Any = None
    execute_now: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)


def parse_process_return(returned: Sequence[Any]) -> ProcessReturn:
    """Read a returned list or tuple. Raises TypeError, which says what was expected and what was found."""
    if len(returned) not in (2, 3):
        raise TypeError(f"expected {FORM}, got {len(returned)} values")
    memory, process, *rest = returned
    options = rest[0] if rest and rest[0] is not None else {}
    if not isinstance(options, Mapping):
        raise TypeError(f"expected {FORM}, got a {type(options).__name__} where the options belong")
    unknown = [str(name) for name in options if name not in OPTIONS]
    if unknown:
        raise TypeError(f"there is no option {', '.join(unknown)}; there are {', '.join(OPTIONS)}")
    return ProcessReturn(
        to=process_name(process),
        memory=memory,
        execute_now=_read_execute_now(options),
        params=_params(options),
    )


def _read_execute_now(options: Mapping[str, Any]) -> bool:
    given = {name: options[name] for name in AT_ONCE if name in options}
    for name, value in given.items():
        if not isinstance(value, bool):
            raise TypeError(f"expected True or False for {name}, got a {type(value).__name__}")
    if len(set(given.values())) > 1:
        raise TypeError(f"{' and '.join(given)} contradict each other: write one of them")
    return any(given.values())


def _params(options: Mapping[str, Any]) -> Mapping[str, Any]:
    params = options.get("params") or {}
    if not isinstance(params, Mapping):
        raise TypeError(f"expected a dict for params, got a {type(params).__name__}")
    return dict(params)


@runtime_checkable
class NamedProcess(Protocol):
    """A mental process: its name, and the function that it runs."""

    @property
    def name(self) -> str:
        """The name by which others go over into it."""

    @property
    def run(self) -> Callable[..., Any]:
        """The function that it runs."""


def process_name(process: object) -> str:
    """Return the name of a process that is given by name, as a function, a module or a MentalProcess.

    Raises TypeError for anything else.
    """
    name = ""
    if isinstance(process, str):
        name = process.strip()
    elif inspect.ismodule(process):
        name = _name_in(process) or process.__name__.rpartition(".")[2]
    elif isinstance(process, NamedProcess) and not inspect.isclass(process):
        name = process.name
    elif callable(process) and not inspect.isclass(process):
        name = _name_of_function(process)
    if not name:
        kind = type(process).__name__
        raise TypeError(f"expected a process (its name, function or module), got a {kind}: write {FORM}")
    return name


def _name_in(module: object) -> str:
    """Return the name of the process that stands in this module; empty if none does."""
    process = getattr(module, "PROCESS", None)
    if isinstance(process, NamedProcess):
        return process.name
    return ""


def _name_of_function(function: Callable[..., Any]) -> str:
    """Return the name of the process that runs this function; its own name where no process does."""
    module = inspect.getmodule(function) or inspect.getmodule(type(function))
    process = getattr(module, "PROCESS", None)
    if isinstance(process, NamedProcess):
        run = process.run
        if function is run or function is getattr(run, "func", None):  # `func` of a functools.partial
            return process.name
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else ""


@dataclass(frozen=True, slots=True)
class RunContinuation:
    """Return value of a handler whose run goes on; None keeps a memory. Awaiting it does nothing."""

    working: str | WorkingMemory | None = None
    internal: tuple[str, ...] = ()

    def __await__(self) -> Generator[None, None, RunContinuation]:
        yield from ()
        return self


@dataclass(frozen=True, slots=True)
class FinalMemory:
    """Working memory of a handler that ends the run with it."""

    memory: str


class RecurseFunction:
    """`recurse` of the seed's first example: `return recurse({"workingMemory": memory, "internalMemory":
    memory})`.

    Keyword and positional memories work, too. `asked` is the last result.
    """

    def __init__(self) -> None:
        self.asked: RunContinuation | None = None

    def __call__(self, *memories: Any, **named: Any) -> RunContinuation:
        """Return the request to continue the run. Raises TypeError for an invalid memory."""
        given = dict(named)
        if len(memories) == 1 and isinstance(memories[0], Mapping):
            given |= memories[0]
        else:
            given |= dict(zip(("workingMemory", "internalMemory"), memories, strict=False))
        unknown = [str(name) for name in given if name not in MEMORY_NAMES]
        if unknown or len(memories) > 2:
            got = ", ".join(unknown) or f"{len(memories)} values"
            raise TypeError(f"recurse takes workingMemory and internalMemory, not {got}")
        self.asked = RunContinuation(
            _working(_first(given, WORKING_MEMORY_NAMES)),
            tuple(_internal(_first(given, INTERNAL_MEMORY_NAMES))),
        )
        return self.asked


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((given[name] for name in names if given.get(name) is not None), None)


def _working(memory: object) -> str | WorkingMemory | None:
    if memory is None or isinstance(memory, str | WorkingMemory):
        return memory
    raise TypeError(f"expected a text or a WorkingMemory as workingMemory, got a {type(memory).__name__}")


def _internal(memory: object) -> list[str]:
    if memory is None:
        return []
    if isinstance(memory, str | WorkingMemory):
        return [memory_as_text(memory)]
    if isinstance(memory, list | tuple) and all(isinstance(line, str) for line in memory):
        return [*memory]
    raise TypeError(
        f"expected lines, a text or a WorkingMemory as internalMemory, got a {type(memory).__name__}"
    )


def memory_as_text(memory: str | WorkingMemory) -> str:
    if isinstance(memory, str):
        return memory
    return "\n\n".join(one.content for one in memory.conversation)


def added_memory(before: str | WorkingMemory, now: str | WorkingMemory) -> tuple[str, bool]:
    """Return the text that `now` adds to `before`, and True; if `now` has another beginning, all of `now`,
    and False.
    """
    old, new = memory_as_text(before), memory_as_text(now)
    if new.startswith(old):
        return new.removeprefix(old).strip(), True
    return new.strip(), False


@dataclass(frozen=True, slots=True)
class Action:
    """Action for the model to choose. Raises ValueError for a reserved name.

    `await handler(prompt_context, internal_log)`, plus `args=` if declared, returns None, a str (a finding),
    ISMResult, FinishRun, a WorkingMemory (ends the run), or `[memory, process, {"executeNow": True}]`. The
    chooser sees lines added to `internal_log`. `terminal` ends the run; `exclusive` runs alone.

    A handler with a third argument, or `recurse`, continues the run only by `recurse(…)`.

    `by_others`: strangers wrote name, description and arguments, which are shown as material. Without
    `listed`, no prompt shows the action, but it can be chosen. Without `logs_result`, the log does not quote
    its results.
    """

    name: str
    description: str
    handler: Callable[..., Any]
    _: KW_ONLY
    args: type[BaseModel] | None = None
    terminal: bool = False
    exclusive: bool = False
    by_others: bool = False
    listed: bool = True
    logs_result: bool = True

    def __post_init__(self) -> None:
        if self.name.strip().casefold() in ("", DONE.casefold()):
            raise ValueError(f"an action cannot be named {self.name!r}: {DONE} is how a run ends")


@dataclass(frozen=True, slots=True)
class FinishRun:
    """Return value of a handler that ends the run, perhaps with a response."""

    response: str | None = None


class ActionRefused(Exception):
    """Refusal of an action, with the reason for the chooser; handlers may raise it."""

    recorded_name = "Refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionOutcome:
    """Outcome of an action; the chooser sees `note`. `ok`: it was carried out.

    `next` is the process of a transition; `memory` the new working memory, if any; `internal` are lines for
    the log.
    """

    note: str
    ok: bool = True
    end: StopReason | None = None
    response: str | None = None
    next: ProcessReturn | None = None
    memory: str | WorkingMemory | None = None
    internal: tuple[str, ...] = ()


async def carry_out_action(
    action: Action, given: object, memory: str | WorkingMemory, lines: list[str], wording: ChooserTexts
) -> ActionOutcome:
    """Carry out an action; `lines` are the run's log.

    The chooser sees exceptions as notes, except ActionRefused, EngineErrors and BaseExceptions.
    """
    before = len(lines)
    recurse = RecurseFunction()
    try:
        arguments = _arguments(action, given, wording)
        places, names = _recursing(action.handler, recurse)
        returned = await await_result(action.handler(memory, lines, *places, **names, **arguments))
        if places or names:
            returned = settle_outcome(returned, recurse)
        outcome = _as_outcome(returned, action, memory)
    except (ActionRefused, EngineError):
        raise
    except Exception as error:
        if isinstance(error, ExceptionGroup) and error.subgroup(EngineError):
            raise
        log.warning(
            "The action %s raised %s; the chooser is told.", action.name, type(error).__name__, exc_info=True
        )
        text = fill_placeholders(wording.raised, error=fence_result(describe_error(error, wording.label)))
        outcome = ActionOutcome(note=text, ok=False)
    lines += _new_lines(outcome, memory, lines)
    shown = lines[before:]
    if outcome.note:
        lines.append(f"{action.name}: {outcome.note if action.logs_result else wording.quiet}")
        shown.append(outcome.note)
    note = "\n".join(line for line in shown if line)
    return replace(outcome, note=result_element(action.name, note or wording.quiet))


def settle_outcome(returned: object, recurse: RecurseFunction) -> object:
    """Return what a handler with `recurse` returned; None without a call of `recurse` ends the run."""
    if returned is None:
        return recurse.asked or FinishRun()
    if isinstance(returned, str):
        return FinalMemory(returned)
    return returned


def _as_outcome(returned: object, action: Action, memory: str | WorkingMemory) -> ActionOutcome:
    end: StopReason | None = None
    if action.terminal:
        end = "finished"
    match returned:
        case None:
            return ActionOutcome(note="", end=end)
        case RunContinuation(working=working, internal=internal):
            return ActionOutcome(note=_news(memory, working), memory=working, internal=internal)
        case (WorkingMemory() as left) | FinalMemory(memory=left):
            return ActionOutcome(note=_news(memory, left), end="finished", memory=left)
        case FinishRun(response=response):
            return ActionOutcome(note=str(response or ""), end="finished", response=response)
        case ISMResult(response=response, next_process=process):
            if not process:
                return ActionOutcome(note=str(response or ""), end=end, response=response)
            to = ProcessReturn(
                to=process_name(process), execute_now=returned.execute_now, params=returned.params
            )
            return ActionOutcome(note=str(response or ""), end="transition", response=response, next=to)
        case list() | tuple():
            to = parse_process_return(returned)
            return ActionOutcome(note="", end="transition", next=to, memory=_memory(to.memory))
    return ActionOutcome(note=str(returned), end=end)


def _memory(given: object) -> str | WorkingMemory | None:
    if given is None or isinstance(given, str | WorkingMemory):
        return given
    raise TypeError(f"expected a text or a WorkingMemory before the process, got a {type(given).__name__}")


def _news(before: str | WorkingMemory, now: str | WorkingMemory | None) -> str:
    if now is None:
        return ""
    return added_memory(before, now)[0]


def _new_lines(outcome: ActionOutcome, memory: str | WorkingMemory, lines: list[str]) -> list[str]:
    found = [added_memory(memory, line)[0] for line in outcome.internal if line not in lines]
    return [line for line in found if line and line != outcome.note]


def _recursing(
    handler: Callable[..., Any], recurse: RecurseFunction
) -> tuple[list[RecurseFunction], dict[str, RecurseFunction]]:
    try:
        parameters = [*inspect.signature(handler).parameters.values()]
    except (TypeError, ValueError):
        return [], {}
    if any(one.name == "recurse" and one.kind is not Parameter.POSITIONAL_ONLY for one in parameters):
        return [], {"recurse": recurse}
    needed = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    places = [one for one in parameters if one.kind in needed and one.default is one.empty]
    if len([one for one in places if one.name != "args"]) == 3:
        return [recurse], {}
    return [], {}


def list_actions(actions: Iterable[Action], wording: ChooserTexts) -> str:
    """Return a text with each listed action; those by others stand last, as material."""
    listed = [action for action in actions if action.listed]
    own = [action_introduction(action, wording) for action in listed if not action.by_others]
    tools = [tool_introduction(action, wording) for action in listed if action.by_others]
    if tools:
        tools.insert(0, wording.tools)
    return "\n".join([*own, *tools])


def tool_introduction(action: Action, wording: ChooserTexts) -> str:
    """Return an action's name, description and schema, in which nothing can end the elements around them."""
    schema = action.args.model_json_schema() if action.args else {}
    return fill_placeholders(
        wording.tool,
        name=action.name,
        description=escape_tags(" ".join(action.description.split())),
        schema=escape_tags(json.dumps(schema, ensure_ascii=False)),
    )


def action_introduction(action: Action, wording: ChooserTexts) -> str:
    text = fill_placeholders(wording.action, name=action.name, description=action.description)
    if action.exclusive and wording.alone:
        text += f" {wording.alone}"
    if action.args is None:
        return text
    schema = json.dumps(action.args.model_json_schema(), ensure_ascii=False)
    arguments = fill_placeholders(wording.arguments, arguments=arguments_in_words(action.args), schema=schema)
    return f"{text}\n{arguments}"


def _arguments(action: Action, given: object, wording: ChooserTexts) -> dict[str, BaseModel]:
    if action.args is None:
        return {}
    if given is None:
        given = {}
    try:
        return {"args": action.args.model_validate(given)}
    except ValidationError as error:
        fault = fence_result(validation_fault(error, "args"))
        if action.by_others:  # it quotes names and values of the schema
            fault = f"{DESCRIBED}{fault}</described>"
        raise ActionRefused(fill_placeholders(wording.bad_arguments, error=fault)) from None


async def run_ism(
    prompt_context: str,
    goal: str,
    playbook: str,
    actions: Sequence[Action],
    invoke_llm: Invoke | Chooser,
    max_loops: int = 5,
    check_interrupt: CheckInterrupt | None = None,
    *,
    wording: ChooserTexts = WORDING,
    most_actions: int = 5,
) -> ISMResult:
    """Let a model choose actions until the goal, an action or a limit ends the run.

    `check_interrupt` is called before and after each choice, and before each action and DONE. After new
    context, the rest of a choice is dropped and the chooser asked again; after an unreadable answer, up to
    three times.

    Raises ValueError for duplicate names, TypeError for an invalid `invoke_llm`, errors of the functions and,
    of handlers, EngineErrors and BaseExceptions.
    """
    run = _RunLoop(
        context=prompt_context,
        memory=prompt_context,
        actions=_by_name(actions),
        schema=choice_schema(
            {action.name: action.args for action in actions if action.listed},
            described="schema" in placeholder_names(wording.arguments),
            others=not all(action.listed for action in actions),
        ),
        chooser=_chooser(invoke_llm, check_interrupt),
        rounds=max_loops,
        wording=wording,
        most_actions=most_actions,
    )
    run.introduce(goal, playbook)
    return await run.run_rounds()


def _chooser(invoke_llm: Invoke | Chooser, check_interrupt: CheckInterrupt | None) -> Chooser:
    if not isinstance(invoke_llm, Chooser):
        return FunctionChooser(invoke_llm, check_interrupt)
    if check_interrupt:
        raise TypeError("a Chooser says itself what interrupts the run: check_interrupt would not be asked")
    return invoke_llm


def similar_names(name: str, known: Sequence[str]) -> list[str]:
    """Return the known names that are most like this one; none among too many, as it would take seconds."""
    if len(known) > MOST_COMPARED:
        return []
    return get_close_matches(name[:LONGEST_COMPARED], known, n=MOST_SIMILAR, cutoff=0.5)


def _by_name(actions: Sequence[Action]) -> Mapping[str, Action]:
    named: dict[str, Action] = {}
    for action in actions:
        if action.name in named:
            raise ValueError(f"two actions of one run are named {action.name}")
        named[action.name] = action
    return named


@dataclass(slots=True, kw_only=True)
class _RunLoop:
    context: str
    """Text with which each prompt begins."""
    memory: str | WorkingMemory
    actions: Mapping[str, Action]
    schema: Mapping[str, Any]
    chooser: Chooser
    rounds: int
    wording: ChooserTexts
    most_actions: int
    done: int = 0
    """Rounds since the begin or the last continuation."""
    loops: int = 0
    calls: int = 0
    parts: list[PromptPart] = field(default_factory=list)
    news: list[PromptPart] = field(default_factory=list)
    """Parts that no prompt has shown yet."""
    log: list[str] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    next: ProcessReturn | None = None
    stagnation: RepetitionDetector = field(default_factory=RepetitionDetector)

    def introduce(self, goal: str, playbook: str) -> None:
        listed = list_actions(self.actions.values(), self.wording)
        self.append_to_prompt(
            fill_placeholders(self.wording.head, goal=goal, playbook=playbook, actions=listed)
        )

    async def run_rounds(self) -> ISMResult:
        while True:
            reason = await self.run_round()
            if reason is None:
                continue
            result = self.result(reason)
            if not await self.chooser.may_continue(result):
                return result
            self.done = 0

    async def run_round(self) -> StopReason | None:
        """Run a round; return a reason if the run ends."""
        if await self.is_stopped():
            return "interrupted"
        self.append_to_prompt()
        if self.done >= self.rounds:
            return "loops"
        choice = await self.choose()
        if not isinstance(choice, ActionChoice):
            return choice
        self.log.append(f"Loop {self.loops}: chose {choice.names} — {choice.why}")
        self.done += 1
        self.loops += 1
        outcomes = await self.carry_out_choice(choice)
        notes = [one.note for one in outcomes if one.note]
        end = outcomes[-1].end
        if end is None:
            match self.is_repeating(choice, notes):
                case "nudge":
                    notes.append(self.wording.nudge)
                case "end":
                    end = "stagnation"
        if notes:
            self.append_to_prompt(fill_placeholders(self.wording.results, results="\n".join(notes)))
        return end

    async def is_stopped(self) -> bool:
        """Return True after a stop; keep new context for the next prompt."""
        interruption = await self.chooser.interrupt()
        self.news += [part for part in interruption.parts if part.text]
        return interruption.stopped

    def append_to_prompt(self, text: str = "") -> None:
        if text:
            self.parts.append(PromptPart("user", text))
        if self.news:
            self.stagnation.reset()
            self.parts += self.news
            self.news.clear()

    async def choose(self) -> ActionChoice | StopReason:
        """Return a choice, or the reason to end the run."""
        for _ in range(1 + REASKS):
            reason = await self.chooser.reached_limit()
            if reason:
                return reason
            reply = await self.chooser.choose(self.prompt())
            self.calls += 1
            if reply is None:
                return "refused"
            if reply.strip():
                self.parts.append(PromptPart("assistant", reply))
            if await self.is_stopped():
                return "interrupted"
            try:
                return parse_choice(reply).with_matched_names([*self.actions, DONE])
            except ChoiceUnreadable as error:
                self.log.append(f"Loop {self.loops}: not readable: {error}")
                self.append_to_prompt(fill_placeholders(self.wording.unread, error=fence_result(str(error))))
        return "failed"

    def prompt(self) -> ChooserPrompt:
        number = self.done + 1
        log = internal_log(self.log, self.wording)
        question = fill_placeholders(self.wording.question, round=number, rounds=self.rounds)
        return ChooserPrompt(
            context=self.context,
            parts=tuple(self.parts),
            question="\n\n".join(text for text in (log, question) if text),
            schema=self.schema,
            round=number,
            rounds=self.rounds,
            wording=self.wording,
        )

    async def carry_out_choice(self, choice: ActionChoice) -> list[ActionOutcome]:
        """Carry out the chosen actions in order, then DONE, until one ends the run."""
        once = choice.without_repeats()
        outcomes: list[ActionOutcome] = []
        for chosen in once[: self.most_actions]:
            one = await self.carry_out(chosen, alone=len(once) == 1)
            outcomes.append(one)
            if one.end:
                return outcomes
        left = [chosen.name for chosen in once[self.most_actions :]]
        if left:
            outcomes.append(
                self.observe_refusal(
                    ", ".join(left), fill_placeholders(self.wording.too_many, most=self.most_actions)
                )
            )
        for name in choice.repeated_names():
            note = fill_placeholders(self.wording.twice, name=action_name_text(name))
            outcomes.append(ActionOutcome(note=note))
        if choice.ends_run:
            outcomes.append(await self.end_by_done(outcomes))
        return outcomes

    async def carry_out(self, chosen: ChosenAction, *, alone: bool) -> ActionOutcome:
        overtaken = await self.is_overtaken(chosen.name)
        if overtaken:
            return overtaken
        try:
            action = self.available_action(chosen.name, alone=alone)
            outcome = await carry_out_action(action, chosen.args, self.memory, self.log, self.wording)
        except ActionRefused as refused:
            return self.observe_refusal(chosen.name, str(refused))
        if outcome.response is not None:
            self.responses.append(outcome.response)
        if outcome.memory is not None:
            self.remember(outcome.memory)
        self.next = outcome.next
        return outcome

    def remember(self, memory: str | WorkingMemory) -> None:
        """Keep the working memory that an action returned.

        If it does not begin with the old one, prompts begin with all of it.
        """
        _, grown = added_memory(self.memory, memory)
        if not grown:
            self.context = memory_as_text(memory)
        self.memory = memory

    async def is_overtaken(self, name: str) -> ActionOutcome | None:
        """Return a refusal of the action if there is a stop or new context."""
        if await self.is_stopped():
            return self.observe_refusal(name, self.wording.stopped, end="interrupted")
        if self.news:
            return self.observe_refusal(name, self.wording.stale)
        return None

    def available_action(self, name: str, *, alone: bool) -> Action:
        """Return the action. Raises ActionRefused if it is unknown, or exclusive and not `alone`."""
        action = self.actions.get(name)
        if action is None:
            names = [*self.listed_names(), *similar_names(name, self.unlisted_names())]
            raise ActionRefused(fill_placeholders(self.wording.unknown, names=", ".join(names)))
        if action.exclusive and not alone:
            raise ActionRefused(self.wording.exclusive)
        return action

    def listed_names(self) -> list[str]:
        return sorted(one.name for one in self.actions.values() if one.listed)

    def unlisted_names(self) -> list[str]:
        return [one.name for one in self.actions.values() if not one.listed]

    def observe_refusal(self, name: str, reason: str, *, end: StopReason | None = None) -> ActionOutcome:
        note = fill_placeholders(self.wording.not_run, name=action_name_text(name), reason=reason)
        self.log.append(note.partition(DESCRIBED)[0])
        return ActionOutcome(note=note, ok=False, end=end)

    async def end_by_done(self, beside: Sequence[ActionOutcome]) -> ActionOutcome:
        """End the run, unless there is a stop, new context or a failed action."""
        overtaken = await self.is_overtaken(DONE)
        if overtaken:
            return overtaken
        if not all(one.ok for one in beside):
            return self.observe_refusal(DONE, self.wording.undone)
        return ActionOutcome(note="", end="done")

    def is_repeating(self, choice: ActionChoice, notes: Sequence[str]) -> Seen:
        chosen = [one.identity for one in choice.without_repeats()]
        return self.stagnation.observe_round("\n".join([*chosen, *notes]))

    def result(self, reason: StopReason) -> ISMResult:
        last = None
        if self.responses:
            last = self.responses[-1]
        result = ISMResult(
            last,
            memory=self.memory,
            stop_reason=reason,
            responses=tuple(self.responses),
            loops=self.loops,
            calls=self.calls,
            log=tuple(self.log),
            parts=tuple(self.parts),
        )
        if self.next is None:
            return result
        to = self.next
        return replace(result, next_process=to.to, execute_now=to.execute_now, params=to.params)
