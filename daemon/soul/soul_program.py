"""The soul as the engine runs it: which inputs first, the current process, its transitions, and its end."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from daemon.engine.context import Context
from daemon.engine.event import Entry, Input, InputRank, of_kind, seqs_of
from daemon.engine.execution import Execution
from daemon.engine.journal import Journal
from daemon.engine.keys import context_of, root_of
from daemon.engine.kinds import Intent, OutageBegan, QuestionWithdrawn, WaitBegan, WaitEnded
from daemon.engine.program import InputSelection, Program
from daemon.engine.reading import ALWAYS
from daemon.errors import PostFailed, PostRefused
from daemon.kinds import (
    INNER,
    INNER_WAIT,
    ActionObserved,
    CellBegan,
    CellRan,
    QuestionAnswered,
    QuestionAsked,
    SoulTurnBegan,
    SoulTurnEnded,
    SpeechFinished,
    TickDue,
    TickLogged,
    UnpromptedMessage,
)
from daemon.memory import WorkingMemory
from daemon.mind.prompting import feeling
from daemon.mind.wording import fill_prompt
from daemon.process import NO_ANSWER, Transition, commands_of
from daemon.soul import again, edits, ending, long_waits, questions, settling, unreachable
from daemon.soul.carrying import import_dm_context
from daemon.soul.notebook import INTERRUPTED
from daemon.soul.overhearing import fetch_earlier_messages
from daemon.soul.reminding import input_of_ended_wait
from daemon.soul.taking import (
    THINKING_PROCESS,
    internal_inputs,
    is_background_only,
    last_message_to_soul,
    messages_to_answer,
    select_inputs,
)
from daemon.soul.taking import SoulInputSelection as TakenBySoul
from daemon.soul.turn import Turn
from daemon.soul.voice import UNKNOWN_OUTCOME
from daemon.soul.world import TurnDependencies

log = logging.getLogger(__name__)

MAX_TRANSITIONS = 10
RECOVERY = 3_600.0
"""Seconds after which the inner life thinks again where a tick of it was given up."""


class TooManyTransitions(RuntimeError):
    """The processes of one turn hand it on to each other without end."""

    recorded_name = "TooManyTransitions"


class SoulProgram(Program):
    """What happens when one of its threads has something to take up."""

    author = "soul"

    def __init__(self, world: TurnDependencies) -> None:
        self._world = world
        self._commands = commands_of(world.processes)

    # A turn begins

    def take(self, journal: Journal, waiting: Sequence[Entry[Input]]) -> InputSelection | None:
        return select_inputs(journal, waiting, self._world.owners, self._commands)

    async def began(self, taken: InputSelection, execution: str) -> SoulTurnBegan:
        inputs = tuple(seqs_of(taken.inputs))
        if taken.resumes:
            first = self._world.journal.get(f"{execution}/began")
            assert first
            assert isinstance(first.event, SoulTurnBegan)
            return SoulTurnBegan(
                execution=execution,
                inputs=inputs,
                answers=taken.resumes.key,
                process=first.event.process,
                texts=first.event.texts,
            )
        assert isinstance(taken, TakenBySoul)
        texts = await self._world.texts.current_set(self._world.make_texts)
        if taken.process:
            return SoulTurnBegan(
                execution=execution, inputs=inputs, process=taken.process, texts=texts, apart=taken.params
            )
        thread = taken.inputs[0].thread
        now = self._world.journal.last_seq_of_all() + 1
        await self._world.pasts.preload(thread, now)
        past = self._world.pasts.history_of(thread, now)
        process = self._known(past.process)
        if internal_inputs(taken.inputs):
            process = THINKING_PROCESS
        return SoulTurnBegan(execution=execution, inputs=inputs, process=process, texts=texts)

    def interrupts(self, execution: Execution, entry: Entry[Input]) -> bool:
        """A stop ends what is going on, and an afterthought yields to whoever speaks to the soul."""
        if _is_stop(entry):
            return True
        if isinstance(entry.event, UnpromptedMessage):
            return False
        if not is_background_only(execution.first_inputs):
            return False
        return entry.event.rank in (InputRank.MESSAGE, InputRank.ANSWER)

    def overtakes(self, execution: Execution) -> bool:
        """Return True if a message was edited before anybody saw a word of its answer."""
        return bool(edits.overtaking_edits(execution))

    # It runs

    async def run(self, ctx: Context) -> Turn:
        """Run the current process, and those that it goes over into at once."""
        await self._ready(ctx)
        if not ctx.execution.is_new:
            await long_waits.settle_wait_sentence(self._world, ctx.execution)
        turn = Turn(self._world, ctx)
        turn.show_status("")
        after = ""
        try:
            await fetch_earlier_messages(turn)
            await import_dm_context(turn)
            await again.recall_restart_log(turn)
            turn.may_be_overtaken = True
            await self._think(turn)
            while await turn.is_superseded_by_edit():
                turn.accept_edits()
                await again.recall_restart_log(turn)
                await self._think(turn)
            if self._world.waits.has_failed(ctx.execution):
                await long_waits.settle_wait_sentence(self._world, ctx.execution)
            if turn.process == THINKING_PROCESS and turn.branches.branches:
                after = feeling(turn).status
        finally:
            turn.show_status(after)
        return turn

    async def _ready(self, ctx: Context) -> None:
        """Read what this conversation alone needs of the past, beside the loop where that is much."""
        execution = ctx.execution
        world = self._world
        said = messages_to_answer(execution.inputs) or last_message_to_soul(
            world.journal, root_of(execution.thread), ALWAYS
        )
        await world.budget.preload()
        await world.pasts.preload(execution.thread, execution.first.seq)
        await world.people.load({entry.event.user for entry in said}, execution.thread)

    async def _think(self, turn: Turn) -> None:
        if turn.silent and turn.process not in self._world.processes:
            log.warning("The process %s is gone, and an afterthought with it.", turn.process)
            return
        for _ in range(MAX_TRANSITIONS):
            outcome = await self._world.processes[self._known(turn.process)](turn)
            if isinstance(outcome, WorkingMemory):
                turn.memory = outcome
                return
            if not isinstance(outcome, Transition):
                raise TypeError(f"the process {turn.process} returned {type(outcome).__name__}")
            if outcome.to not in self._world.processes:
                log.warning(
                    "The process %s goes over into %s, and there is none of that name: it goes on in %s."
                    " There are %s.",
                    turn.process,
                    outcome.to,
                    self._world.initial,
                    ", ".join(sorted(self._world.processes)),
                )
            await turn.record_transition(outcome)  # which process a thread is in is a fact of the journal
            if not outcome.execute_now:
                return
        raise TooManyTransitions(f"{MAX_TRANSITIONS} transitions in one turn")

    def _known(self, process: str | None) -> str:
        """The name of this process; of one that nobody knows, that of the initial one."""
        if process is None or process not in self._world.processes:
            return self._world.initial
        return process

    # It ends

    def ended(self, ctx: Context, result: object) -> SoulTurnEnded:
        assert isinstance(result, Turn)
        return ending.end_completed(result)

    def suspended(self, ctx: Context) -> SoulTurnEnded:
        return ending.end_suspended(Turn(self._world, ctx, edits.edits_taken_in(ctx.execution)))

    async def settle(self, ctx: Context) -> None:
        """After a restart: what was begun in the world is brought to an end."""
        await super().settle(ctx)
        await self._ready(ctx)
        await settling.finish_before_restart(Turn(self._world, ctx))

    def unknown(self, intent: Entry[Intent]) -> ActionObserved | CellRan:
        if isinstance(intent.event, CellBegan):
            return INTERRUPTED
        return ActionObserved(name=intent.event.name, text=UNKNOWN_OUTCOME)

    async def failed(self, ctx: Context) -> None:
        """Given up: what was begun is settled, and whoever waits is told once; where that can be said."""
        await self._ready(ctx)
        turn = Turn(self._world, ctx)
        if turn.thread == INNER:
            await _tick_failed(turn)
        await turn.answer_branch(NO_ANSWER)
        await turn.report_unprompted_outcome("refused")
        if not ending.is_refused_by_slack(turn):
            was_answered = ending.has_said_everything(turn)
            await settling.finish_open_card(turn)
            await _let_go(turn)
            if not was_answered:
                await _last_word(turn, "failed")
        await super().failed(ctx)

    async def stopped(self, ctx: Context) -> None:
        """Somebody stops what fails: what was begun is settled, and whoever said so reads that it is."""
        await self._ready(ctx)
        turn = Turn(self._world, ctx)
        if turn.thread == INNER:
            await turn.wait(within=RECOVERY, note={INNER_WAIT: "a tick was stopped"})
        await turn.report_unprompted_outcome("declined")
        await _let_go(turn)
        await settling.finish_open_card(turn)
        stops = await ctx.receive(_is_stop)
        ctx.accept(stops)
        if turn.branches.parent:
            await ctx.end_thread("", "cancelled")
            return
        if stops and turn.thread != INNER:
            await turn.withdraw()
            if turn.process == THINKING_PROCESS:
                await turn.record_transition(Transition(to=self._world.initial, memory=turn.memory))
        if not turn.execution.recorded_entries(SpeechFinished):
            await _last_word(turn, "stopped")

    def gave_up(self, ctx: Context) -> SoulTurnEnded:
        return ending.end_failed(Turn(self._world, ctx))

    async def void(self, ctx: Context, answers: Sequence[Entry[Input]]) -> None:
        """Whoever pressed what nobody asks any more is told so, and its buttons go."""
        await self._ready(ctx)
        await again.report_void_answers(Turn(self._world, ctx), answers)

    def is_fault(self, error: Exception) -> bool:
        """That Slack took nothing is not the turn's fault."""
        return not isinstance(error, PostFailed)

    def ends(self, error: Exception) -> bool:
        """Would it come to the same again: Slack takes nothing here, nobody answers, or it has no end?"""
        return super().ends(error) or isinstance(error, PostRefused | TooManyTransitions)

    # It waits

    def reminder(self, waiting: Entry[WaitBegan], woke: WaitEnded) -> Input:
        return input_of_ended_wait(self._world.journal, waiting, woke)

    def fits(self, about: Any, entry: Entry[Any]) -> bool:
        return self._world.fits(about, entry)

    def patience(self, reason: str, subject: str, tries: int) -> float | None:
        return unreachable.retry_pause_of(self._world.reach, reason, subject, tries)

    async def went_down(self, ctx: Context, waiting: Entry[OutageBegan]) -> None:
        await unreachable.announce_outage(Turn(self._world, ctx), waiting)


def _is_stop(entry: Entry[Input]) -> bool:
    return entry.event.rank is InputRank.STOP


async def _tick_failed(turn: Turn) -> None:
    """It is a line of the log of the inner life, and what had woken it is not forgotten."""
    why = ""
    woke: list[int] = []
    for due in of_kind(TickDue, turn.inputs):
        why = due.event.why
        woke += due.event.notes
    told = of_kind(TickLogged, turn.journal.execution_entries(turn.execution.id))
    if all(context_of(one.key) == turn.ctx.path for one in told):  # these words may run again
        await turn.record(TickLogged(tick=turn.began_seq, outcome="failed", why=why))
    await turn.wait(within=RECOVERY, note={INNER_WAIT: "a tick failed", "woke": woke})


async def _let_go(turn: Turn) -> None:
    """What it had begun to say stays as it is, and what it had asked or withdrawn loses its buttons."""
    await settling.finish_open_messages(turn)
    done = turn.journal.execution_entries(turn.execution.id)
    for gone in of_kind(QuestionWithdrawn, done):
        asked = of_kind(QuestionAsked, turn.journal.entries_at(gone.closes))
        await questions.report_withdrawn(turn, asked)
    answers = {entry.event.asked: entry.event.text for entry in of_kind(QuestionAnswered, done)}
    for question in of_kind(QuestionAsked, done):
        await questions.remove_buttons(turn, question, answers.get(question.seq, ""))
    for spoken in questions.orphan_questions(done):
        await questions.remove_orphan_buttons(turn, spoken)


async def _last_word(turn: Turn, name: str) -> None:
    """Say once how it ended; to nobody, where nobody waits for it."""
    if turn.addressed and not turn.silent:
        sentence = fill_prompt(turn, f"prompts/sentences/{name}")
        await turn.say(sentence, name, answers=name != "failed")
