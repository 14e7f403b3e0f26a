"""The Implicit Semantic Machine: a loop in which a model chooses among actions until its goal is reached.

A leaf: it talks only to what it is given. daemon/actions/ binds the actions, mental processes run it. The
public names, and what they mean, are those of the seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from daemon.memory import WorkingMemory
from daemon.mind.acting import (
    Action,
    ActionOutcome,
    ActionRefused,
    FinishRun,
    ISMResult,
    PromptPart,
    StopReason,
    action_introduction,
    carry_out_action,
)
from daemon.mind.choice import DONE, ActionChoice, ChoiceUnreadable, ChosenAction, parse_choice
from daemon.mind.chooser import (
    CheckInterrupt,
    Chooser,
    ChooserPrompt,
    FunctionChooser,
    Interrupt,
    Invoke,
    RunInterruption,
    internal_log,
)
from daemon.mind.choosing import ChooserTexts, fence_result
from daemon.mind.recall import clean_name_text
from daemon.mind.recurse import RecurseFunction, RunContinuation, added_memory, memory_as_text
from daemon.mind.schemas import choice_schema
from daemon.mind.stagnation import RepetitionDetector, Seen
from daemon.mind.wording import fill_placeholders, placeholder_names
from daemon.process import ProcessReturn

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

REASKS = 3
WORDING = ChooserTexts()


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
    """Let a model choose actions until the goal is reached, an action ends the run, or a bound does.

    `check_interrupt` is asked before each choice, when the model has answered, before each action and before
    DONE; it belongs to a function, since a Chooser says itself what came. More context makes what is left of
    a choice stale: it is not carried out, and the chooser is asked again with it. An answer that cannot be
    read is asked for again, three times at the most.

    Raises ValueError where two actions share a name, TypeError where `invoke_llm` is neither a Chooser nor an
    async function to a str, what the callables raise, and of what handlers raise only EngineErrors and what
    is no Exception: all else the chooser is told.
    """
    run = _RunLoop(
        context=prompt_context,
        memory=prompt_context,
        actions=_by_name(actions),
        schema=choice_schema(
            {action.name: action.args for action in actions},
            described="schema"
            in placeholder_names(wording.arguments),  # else the prompt itself describes them
        ),
        chooser=_chooser(invoke_llm, check_interrupt),
        rounds=max_loops,
        wording=wording,
        most_actions=most_actions,
    )
    run.introduce(goal, playbook)
    return await run.run_rounds()


def _chooser(invoke_llm: Invoke | Chooser, check_interrupt: CheckInterrupt | None) -> Chooser:
    """Who chooses. Raises TypeError for a Chooser that would not ask the function it is given."""
    if not isinstance(invoke_llm, Chooser):
        return FunctionChooser(invoke_llm, check_interrupt)
    if check_interrupt:
        raise TypeError("a Chooser says itself what interrupts the run: check_interrupt would not be asked")
    return invoke_llm


def _by_name(actions: Sequence[Action]) -> Mapping[str, Action]:
    """The actions by their names. Raises ValueError where two have the same one."""
    named: dict[str, Action] = {}
    for action in actions:
        if action.name in named:
            raise ValueError(f"two actions of one run are named {action.name}")
        named[action.name] = action
    return named


@dataclass(slots=True, kw_only=True)
class _RunLoop:
    """One run: what it is given, what its chooser was told so far, and what came of it."""

    context: str
    """The beginning of each prompt."""
    memory: str | WorkingMemory
    """The working memory that the actions are given, and may change."""
    actions: Mapping[str, Action]
    schema: Mapping[str, Any]
    chooser: Chooser
    rounds: int
    wording: ChooserTexts
    most_actions: int
    done: int = 0
    """The rounds since it began, or was last let go on."""
    loops: int = 0
    calls: int = 0
    parts: list[PromptPart] = field(default_factory=list)
    news: list[PromptPart] = field(default_factory=list)
    """What came since the chooser was last told."""
    log: list[str] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    next: ProcessReturn | None = None
    """The process to go over into."""
    stagnation: RepetitionDetector = field(default_factory=RepetitionDetector)

    def introduce(self, goal: str, playbook: str) -> None:
        """The chooser is told first what is to be reached, by which rules, and what it may choose."""
        listed = "\n".join(action_introduction(action, self.wording) for action in self.actions.values())
        self.append_to_prompt(
            fill_placeholders(self.wording.head, goal=goal, playbook=playbook, actions=listed)
        )

    async def run_rounds(self) -> ISMResult:
        """Round after round, until one ends the run, and its chooser does not let it go on."""
        while True:
            reason = await self.run_round()
            if reason is None:
                continue
            result = self.result(reason)
            if not await self.chooser.may_continue(result):
                return result
            self.done = 0

    async def run_round(self) -> StopReason | None:
        """Ask for a choice, carry it out, tell what came of it; why the run ends here, if it does."""
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
        came = await self.carry_out_choice(choice)
        notes = [one.note for one in came if one.note]
        end = came[-1].end
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
        """Has someone stopped the run? More context is kept for the next prompt."""
        came = await self.chooser.interrupt()
        self.news += [part for part in came.parts if part.text]
        return came.stopped

    def append_to_prompt(self, text: str = "") -> None:
        """This, then what came meanwhile, is in the next prompt."""
        if text:
            self.parts.append(PromptPart("user", text))
        if self.news:
            self.stagnation.reset()
            self.parts += self.news
            self.news.clear()

    async def choose(self) -> ActionChoice | StopReason:
        """What the chooser wants done next, or why the run ends."""
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
        """What the chooser is shown now."""
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
        """Do what was chosen, each once, in order, then DONE, until one of them ends the run."""
        once = choice.without_repeats()
        came: list[ActionOutcome] = []
        for chosen in once[: self.most_actions]:
            one = await self.carry_out(chosen, alone=len(once) == 1)
            came.append(one)
            if one.end:
                return came
        left = [chosen.name for chosen in once[self.most_actions :]]
        if left:
            came.append(
                self.observe_refusal(
                    ", ".join(left), fill_placeholders(self.wording.too_many, most=self.most_actions)
                )
            )
        for name in choice.repeated_names():
            note = fill_placeholders(self.wording.twice, name=clean_name_text(name))
            came.append(ActionOutcome(note=note))
        if choice.ends_run:
            came.append(await self.end_by_done(came))
        return came

    async def carry_out(self, chosen: ChosenAction, *, alone: bool) -> ActionOutcome:
        """Carry it out, unless something stands in the way."""
        overtaken = await self.is_overtaken(chosen.name)
        if overtaken:
            return overtaken
        try:
            action = self.available_action(chosen.name, alone=alone)
            came = await carry_out_action(action, chosen.args, self.memory, self.log, self.wording)
        except ActionRefused as refused:
            return self.observe_refusal(chosen.name, str(refused))
        if came.response is not None:
            self.responses.append(came.response)
        if came.memory is not None:
            self.remember(came.memory)
        self.next = came.next
        return came

    def remember(self, memory: str | WorkingMemory) -> None:
        """Keep the working memory that an action left.

        The chooser is told what it added as what came of the action; where the memory does not begin with
        what was there, the prompts begin with all of it.
        """
        _, grown = added_memory(self.memory, memory)
        if not grown:
            self.context = memory_as_text(memory)
        self.memory = memory

    async def is_overtaken(self, name: str) -> ActionOutcome | None:
        """It is not carried out where the run was stopped, or something new came first."""
        if await self.is_stopped():
            return self.observe_refusal(name, self.wording.stopped, end="interrupted")
        if self.news:
            return self.observe_refusal(name, self.wording.stale)
        return None

    def available_action(self, name: str, *, alone: bool) -> Action:
        """The action of this name. Raises Refused where it cannot be carried out now."""
        action = self.actions.get(name)
        if action is None:
            raise ActionRefused(
                fill_placeholders(self.wording.unknown, names=", ".join(sorted(self.actions)))
            )
        if action.exclusive and not alone:
            raise ActionRefused(self.wording.exclusive)
        return action

    def observe_refusal(self, name: str, reason: str, *, end: StopReason | None = None) -> ActionOutcome:
        """It is not carried out, for this reason."""
        note = fill_placeholders(self.wording.not_run, name=clean_name_text(name), reason=reason)
        self.log.append(note)
        return ActionOutcome(note=note, ok=False, end=end)

    async def end_by_done(self, beside: Sequence[ActionOutcome]) -> ActionOutcome:
        """DONE, unless something stands in the way, or what was chosen beside it was not carried out."""
        overtaken = await self.is_overtaken(DONE)
        if overtaken:
            return overtaken
        if not all(one.ok for one in beside):
            return self.observe_refusal(DONE, self.wording.undone)
        return ActionOutcome(note="", end="done")

    def is_repeating(self, choice: ActionChoice, notes: Sequence[str]) -> Seen:
        """Does the run go round in circles: the same chosen again, and the same come of it?"""
        chosen = [one.identity for one in choice.without_repeats()]
        return self.stagnation.observe_round("\n".join([*chosen, *notes]))

    def result(self, reason: StopReason) -> ISMResult:
        """What the run came to."""
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
