"""Run of a playbook in a turn: choices and findings become entries, prompts become working memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from daemon.actions.action import (
    TRANSITION_PREFIX,
    ActionDefinition,
    BaseActionContext,
    Outcome,
    RunContext,
    bind_action,
)
from daemon.actions.registry import ActionRegistry
from daemon.answers.speech_gate import split_sections
from daemon.engine.event import Entry
from daemon.ism import FinishRun, run_ism
from daemon.kinds import LimitReached, ModelCall, RunEnded, RunMessage
from daemon.memory import CORE, Memory, WorkingMemory
from daemon.mind.asking import (
    DAY_LIMIT,
    ask_owner_to_continue,
    limit_that_refused,
    with_situation,
    with_time,
)
from daemon.mind.interruptions import confirm_stop, look_for_interruption
from daemon.model import Role
from daemon.playbooks.built_in import tell_people
from daemon.prompts.chooser import (
    CHOOSING,
    Bound,
    Chooser,
    ChooserPrompt,
    ISMResult,
    PromptPart,
    RunInterruption,
    parse_chooser_texts,
    result_element,
)
from daemon.prompts.elements import PRIVATE_TAGS, SAY_TAG, SECTION_NAMES, SectionTags
from daemon.prompts.prompt_catalogue import PLAYBOOK_FOLDER, Playbook, parse_playbook
from daemon.settings.limits import CONTINUE
from daemon.turn.model_calls import MemoryAndCall, Schema, call_interruptibly
from daemon.turn.questions import withdraw_questions
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import show_status
from daemon.turn.turn import Process, Transition, Turn


@dataclass(frozen=True, slots=True)
class RecalledPart(PromptPart):
    """Part of a prompt that consists of recorded memories."""

    memories: tuple[Memory, ...]


class ChooserTranscript:
    """The chooser's messages after the conversation; they only grow, for the prompt cache."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._messages = list(turn.memory.conversation)
        self._kept = 0
        self._chose: Entry[ModelCall] | None = None
        self._news: list[RecalledPart] = []

    async def keep(self, parts: Sequence[PromptPart]) -> None:
        """Add those parts of the prompt that the transcript lacks."""
        for part in parts[self._kept :]:
            if isinstance(part, RecalledPart):
                self._messages += part.memories
            elif part.role == "assistant":
                assert self._chose is not None
                self._messages.append(entry_as_memory(self._chose))
            else:
                key, recorded = await self._turn.record_soon(RunMessage(text=part.text))
                self._messages.append(Memory(role="user", content=recorded.text, key=key))
        self._kept = len(parts)

    def prompt_for(self, question: str) -> WorkingMemory:
        memory = WorkingMemory((*self._turn.memory.of(CORE), *self._messages))
        return with_time(self._turn, memory).with_region("instruction", question)

    def add_answer(self, heard: Sequence[Memory], chose: Entry[ModelCall]) -> None:
        """Add to the transcript the messages that came during outages, and the chooser's answer."""
        self._messages += heard
        self._chose = chose

    def recall(self, memories: Sequence[Memory]) -> None:
        text = "\n".join(memory.content for memory in memories)
        self._news.append(RecalledPart("user", text, tuple(memories)))

    def take_news(self) -> tuple[RecalledPart, ...]:
        news = tuple(self._news)
        self._news.clear()
        return news


BOUNDS = frozenset({"loops", "calls", "tokens", "money", "time"})
"""Stop reasons that an owner can override."""


WELL = frozenset({"done", "finished"})
"""Stop reasons of a success."""


class PlaybookRun(BaseActionContext, Chooser):
    """Run of a playbook; both the chooser of its actions and their context."""

    def __init__(
        self,
        turn: Turn,
        playbook: Playbook,
        definitions: Sequence[ActionDefinition],
        loops: int,
        role: Role = "speak",
    ) -> None:
        super().__init__(turn, turn.memory)
        self.playbook = playbook
        self.role = role
        self._chooser: Role = "fast"
        if role == "expert":
            self._chooser = "expert"
        self._choosing = "choose"
        if any(one.by_others for one in definitions):  # arguments of tools may be long texts
            self._choosing = "choose_tool"
        self._loops = loops
        self.stopped = False
        self.spoke = False
        """True if people know the result."""
        self.definitions = definitions
        self._limit: LimitReached | None = None
        self._spent: LimitReached | None = None
        self._transcript = ChooserTranscript(turn)
        self._findings: list[str] = []
        self._round = ""
        """Number of the round, as text for the status."""

    async def run_to_end(self) -> ISMResult:
        return await run_ism(
            "",  # the transcript contains the conversation
            self.playbook.goal,
            self.playbook.text,
            [bind_action(self, one) for one in self.definitions],
            self,
            self._loops,
            wording=parse_chooser_texts(self.turn.text(CHOOSING)),
        )

    @property
    def notes(self) -> str:
        """Findings, fenced and in the owner's frame; empty if there are none."""
        if not self._findings:
            return ""
        return self.prompt("prompts/notes", findings="\n".join(self._findings))

    async def choose(self, prompt: ChooserPrompt) -> str | None:
        """Ask for a choice; return "" for an unusable answer, None if all models refused."""
        await self._transcript.keep(prompt.parts)
        self._round = f"{prompt.round}/{prompt.rounds}"
        self.show_status("choose")
        memory = self._transcript.prompt_for(prompt.question)
        heard, call = await self._call(self._choosing, memory, self._chooser, prompt.schema)
        self._transcript.add_answer(heard, call)
        self.add_memories(heard, news=False)
        chose = call.event
        if chose.outcome == "refused" or chose.is_too_long:
            return None
        if chose.is_usable:
            return chose.text
        return ""

    async def _call(
        self,
        name: str,
        memory: WorkingMemory,
        role: Role,
        schema: Schema | None = None,
        ends: Sequence[str] = (),
    ) -> tuple[tuple[Memory, ...], Entry[ModelCall]]:
        grown, call = await call_interruptibly(
            self.turn, name, memory, role, None, schema, stop_sequences=ends
        )
        if call.event.outcome == "over-budget":
            self._spent = limit_that_refused(call)
        heard = grown.heard_since(memory)
        if call.event.outcome == "refused" and role != "fallback":
            more, call = await self._call(name, grown, "fallback", schema, ends)
            heard += more
        return heard, call

    async def ask(
        self,
        name: str,
        memory: WorkingMemory,
        question: str,
        role: Role,
        schema: Schema | None = None,
        ends: Sequence[str] = (),
    ) -> MemoryAndCall:
        """Ask a cognitive step's question, with the findings, within the run's limits."""
        seen = with_situation(self.turn, memory).with_region("findings", self.notes)
        seen = seen.with_region("instruction", question)
        heard, call = await self._call(name, seen, role, schema, ends)
        self.add_memories(heard)
        memory = memory.with_memory(*heard)
        if call.event.is_usable:
            return memory, call
        return memory, None

    async def reached_limit(self) -> Bound | None:
        if self._spent:
            self._limit = self._spent
        else:
            self._limit = await self.turn.limit(self.playbook.limits)
        if self._limit is None:
            return None
        return cast(Bound, self._limit.bound)

    async def interrupt(self) -> RunInterruption:
        if await self.is_interrupted():
            return RunInterruption(stopped=True)
        return RunInterruption(parts=self._transcript.take_news())

    async def is_interrupted(self) -> bool:
        interruption = await look_for_interruption(self.turn, self.playbook.goal)
        self.stopped = self.stopped or interruption.stopped
        self.add_memories(interruption.memories)
        return self.stopped

    async def may_continue(self, result: ISMResult) -> bool:
        """Say the result to people, or at a limit ask an owner; return True to continue."""
        await self._transcript.keep(result.parts)
        reason = str(result.stop_reason)
        if self.stopped:
            reason = "interrupted"
        ended = RunEnded(reason=reason, loops=result.loops, calls=result.calls, log=result.log)
        await self.turn.record(ended)
        if self.stopped or result.next_process:
            return False
        await self._conclude(reason)
        limit = self._limit or LimitReached(resets="turn", bound=reason)
        if self.stopped or reason not in BOUNDS or limit.final or not self.turn.deciders:
            return False
        answered = await ask_owner_to_continue(self.turn, limit)
        self.add_memories(answered.memories)
        self._spent = None
        self.spoke = False
        return answered.value == CONTINUE

    async def _conclude(self, reason: str) -> None:
        """Say the result to people, unless an owner is asked about the daily limit.

        DONE means that nothing is left to say, but not while somebody waits.
        """
        may_be_reset = self._limit == DAY_LIMIT and self.turn.deciders
        if self.spoke or may_be_reset:
            return
        if reason == "done" and not self._is_awaited():
            return
        if reason in WELL:
            await tell_people(self, "prompts/conclude")
        else:
            await tell_people(self, "prompts/unfinished")

    def _is_awaited(self) -> bool:
        new = [one for one in self.turn.memory.conversation if (one.seq or 0) > self.turn.began_seq]
        said = [self._heard(one) for one in new if one.role == "assistant"]
        return self.turn.must_answer or any(said)

    def _heard(self, answer: Memory) -> str:
        tags = SectionTags(suffix=self.turn.tag_suffix)
        return split_sections(answer.content, SECTION_NAMES, PRIVATE_TAGS, tags).text.get(SAY_TAG, "")

    def add_memories(self, memories: Iterable[Memory], *, news: bool = True) -> None:
        """Add messages to the conversation; with `news`, the chooser's next prompt shows them."""
        kept = tuple(memories)
        if kept:
            self.memory = self.memory.with_memory(*kept)
            if news:
                self._transcript.recall(kept)

    def report_told(self, memory: WorkingMemory, *, stopped: bool = False) -> None:
        self._transcript.recall(memory.heard_since(self.memory))
        self.memory = memory
        self.spoke = True
        self.stopped = self.stopped or stopped

    def report_finding(self, action: str, outcome: Outcome) -> None:
        if isinstance(outcome, ISMResult | FinishRun):
            outcome = outcome.response
        if outcome and isinstance(outcome, str):
            self._shown.append(outcome)
            self._findings.append(result_element(action, outcome))

    def show_status(self, meaning: str) -> None:
        """Show in the status what the run is doing."""
        if meaning.startswith(TRANSITION_PREFIX) and meaning not in self._labels:
            meaning = "choose"
        base = self.turn.current_mood().status.rstrip("… ")
        show_status(self.turn, f"{base} · {self.label(meaning)} ({self._round})")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookPlayer:
    """Runner of playbooks with the registered actions; `loops` bounds one that sets no number of rounds."""

    registry: ActionRegistry
    loops: int

    def process(self, name: str, role: Role = "speak") -> Process:
        async def process(turn: Turn) -> WorkingMemory | Transition:
            return await play_to_end(await self.run(turn, name, role))

        return process

    async def run(self, turn: Turn, name: str, role: Role = "speak") -> PlaybookRun:
        book = parse_playbook(name, turn.text(f"{PLAYBOOK_FOLDER}{name}"))
        ways = [_way(to, when) for to, when in book.transitions.items()]
        definitions = [*await self.registry.offered_in(turn, book), *ways]
        return PlaybookRun(turn, book, definitions, book.loops or self.loops, role)


async def play_to_end(run: PlaybookRun) -> Transition:
    """Run a playbook to its end; return the transition to the next process."""
    result = await run.run_to_end()
    if await run.turn.is_superseded_by_edit():
        return Transition(to=run.playbook.then, memory=run.memory)
    if run.stopped:
        await withdraw_questions(run.turn)  # also end the waits of suspended runs in this thread
        if not run.spoke:
            run.memory = await confirm_stop(run.turn, run.memory)
    elif result.next_process:
        return Transition(
            to=result.next_process,
            memory=run.memory,
            execute_now=result.execute_now,
            params=result.params,
        )
    return Transition(to=run.playbook.then, memory=run.memory)


def _way(to: str, when: str) -> ActionDefinition:
    async def perform(_run: RunContext, _args: object) -> Outcome:
        return ISMResult(next_process=to)

    return ActionDefinition(name=f"{TRANSITION_PREFIX}{to}", description=when, perform=perform, terminal=True)
