"""The soul as the engine runs it: which inputs first, the current process, its transitions, and its end."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from daemon.engine.context import Context
from daemon.engine.event import Entry, Input, Rank, only, seqs_of
from daemon.engine.execution import Execution
from daemon.engine.journal import Journal
from daemon.engine.keys import context_of, root_of
from daemon.engine.kinds import Intent, Outage, Waiting, Withdrawn, Woke
from daemon.engine.program import Program, Taken
from daemon.engine.reading import ALWAYS
from daemon.errors import SpeechFailed, SpeechRefused
from daemon.kinds import (
    INNER,
    INNER_WAIT,
    Answered,
    Asked,
    CellBegan,
    CellRan,
    Observed,
    Spoken,
    TickDue,
    Ticked,
    ToSay,
    TurnBegan,
    TurnEnded,
)
from daemon.memory import WorkingMemory
from daemon.mind.prompting import feeling
from daemon.mind.wording import worded
from daemon.process import NO_ANSWER, Transition, commands_of
from daemon.soul import again, edits, ending, long_waits, questions, settling, unreachable
from daemon.soul.carrying import carry_over
from daemon.soul.notebook import INTERRUPTED
from daemon.soul.overhearing import overhear
from daemon.soul.reminding import reminded
from daemon.soul.taking import THINKING, asked_last, from_within, taking, to_answer, yields
from daemon.soul.taking import Taken as TakenBySoul
from daemon.soul.turn import Turn
from daemon.soul.voice import UNKNOWN
from daemon.soul.world import World

log = logging.getLogger(__name__)

MAX_TRANSITIONS = 10
RECOVERY = 3_600.0
"""Seconds after which the inner life thinks again where a tick of it was given up."""


class TooManyTransitions(RuntimeError):
    """The processes of one turn hand it on to each other without end."""

    recorded_name = "TooManyTransitions"


class Soul(Program):
    """What happens when one of its threads has something to take up."""

    author = "soul"

    def __init__(self, world: World) -> None:
        self._world = world
        self._commands = commands_of(world.processes)

    # A turn begins

    def take(self, journal: Journal, waiting: Sequence[Entry[Input]]) -> Taken | None:
        return taking(journal, waiting, self._world.owners, self._commands)

    async def began(self, taken: Taken, execution: str) -> TurnBegan:
        inputs = tuple(seqs_of(taken.inputs))
        if taken.resumes:
            first = self._world.journal.get(f"{execution}/began")
            assert first
            assert isinstance(first.event, TurnBegan)
            return TurnBegan(
                execution=execution,
                inputs=inputs,
                answers=taken.resumes.key,
                process=first.event.process,
                texts=first.event.texts,
            )
        assert isinstance(taken, TakenBySoul)
        texts = await self._world.texts.current_set(self._world.make_texts)
        if taken.process:
            return TurnBegan(
                execution=execution, inputs=inputs, process=taken.process, texts=texts, apart=taken.params
            )
        thread = taken.inputs[0].thread
        now = self._world.journal.last_seq_of_all() + 1
        await self._world.pasts.preload(thread, now)
        past = self._world.pasts.history_of(thread, now)
        process = self._known(past.process)
        if from_within(taken.inputs):
            process = THINKING
        return TurnBegan(execution=execution, inputs=inputs, process=process, texts=texts)

    def interrupts(self, execution: Execution, entry: Entry[Input]) -> bool:
        """A stop ends what is going on, and an afterthought yields to whoever speaks to the soul."""
        if _is_stop(entry):
            return True
        if isinstance(entry.event, ToSay):
            return False
        if not yields(execution.first_inputs):
            return False
        return entry.event.rank in (Rank.MESSAGE, Rank.ANSWER)

    def overtakes(self, execution: Execution) -> bool:
        """Return True if a message was edited before anybody saw a word of its answer."""
        return bool(edits.overtaking(execution))

    # It runs

    async def run(self, ctx: Context) -> Turn:
        """Run the current process, and those that it goes over into at once."""
        await self._ready(ctx)
        if not ctx.execution.is_new:
            await long_waits.settle(self._world, ctx.execution)
        turn = Turn(self._world, ctx)
        turn.show_status("")
        after = ""
        try:
            await overhear(turn)
            await carry_over(turn)
            await again.recall(turn)
            turn.may_be_overtaken = True
            await self._think(turn)
            while await turn.is_superseded_by_edit():
                turn.accept_edits()
                await again.recall(turn)
                await self._think(turn)
            if self._world.waits.has_failed(ctx.execution):
                await long_waits.settle(self._world, ctx.execution)
            if turn.process == THINKING and turn.branches.branches:
                after = feeling(turn).status
        finally:
            turn.show_status(after)
        return turn

    async def _ready(self, ctx: Context) -> None:
        """Read what this conversation alone needs of the past, beside the loop where that is much."""
        execution = ctx.execution
        world = self._world
        said = to_answer(execution.inputs) or asked_last(world.journal, root_of(execution.thread), ALWAYS)
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

    def ended(self, ctx: Context, result: object) -> TurnEnded:
        assert isinstance(result, Turn)
        return ending.completed(result)

    def suspended(self, ctx: Context) -> TurnEnded:
        return ending.suspended(Turn(self._world, ctx, edits.taken_in(ctx.execution)))

    async def settle(self, ctx: Context) -> None:
        """After a restart: what was begun in the world is brought to an end."""
        await super().settle(ctx)
        await self._ready(ctx)
        await settling.settle_abandoned(Turn(self._world, ctx))

    def unknown(self, intent: Entry[Intent]) -> Observed | CellRan:
        if isinstance(intent.event, CellBegan):
            return INTERRUPTED
        return Observed(name=intent.event.name, text=UNKNOWN)

    async def failed(self, ctx: Context) -> None:
        """Given up: what was begun is settled, and whoever waits is told once; where that can be said."""
        await self._ready(ctx)
        turn = Turn(self._world, ctx)
        if turn.thread == INNER:
            await _tick_failed(turn)
        await turn.answer_branch(NO_ANSWER)
        await turn.report_unprompted_outcome("refused")
        if not ending.is_refused(turn):
            was_answered = ending.was_answered(turn)
            await settling.settle_card(turn)
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
        await settling.settle_card(turn)
        stops = await ctx.receive(_is_stop)
        ctx.accept(stops)
        if turn.branches.parent:
            await ctx.end_thread("", "cancelled")
            return
        if stops and turn.thread != INNER:
            await turn.withdraw()
            if turn.process == THINKING:
                await turn.record_transition(Transition(to=self._world.initial, memory=turn.memory))
        if not turn.execution.recorded_entries(Spoken):
            await _last_word(turn, "stopped")

    def gave_up(self, ctx: Context) -> TurnEnded:
        return ending.failed(Turn(self._world, ctx))

    async def void(self, ctx: Context, answers: Sequence[Entry[Input]]) -> None:
        """Whoever pressed what nobody asks any more is told so, and its buttons go."""
        await self._ready(ctx)
        await again.void(Turn(self._world, ctx), answers)

    def is_fault(self, error: Exception) -> bool:
        """That Slack took nothing is not the turn's fault."""
        return not isinstance(error, SpeechFailed)

    def ends(self, error: Exception) -> bool:
        """Would it come to the same again: Slack takes nothing here, nobody answers, or it has no end?"""
        return super().ends(error) or isinstance(error, SpeechRefused | TooManyTransitions)

    # It waits

    def reminder(self, waiting: Entry[Waiting], woke: Woke) -> Input:
        return reminded(self._world.journal, waiting, woke)

    def fits(self, about: Any, entry: Entry[Any]) -> bool:
        return self._world.fits(about, entry)

    def patience(self, reason: str, subject: str, tries: int) -> float | None:
        return unreachable.patience(self._world.reach, reason, subject, tries)

    async def went_down(self, ctx: Context, waiting: Entry[Outage]) -> None:
        await unreachable.tell(Turn(self._world, ctx), waiting)


def _is_stop(entry: Entry[Input]) -> bool:
    return entry.event.rank is Rank.STOP


async def _tick_failed(turn: Turn) -> None:
    """It is a line of the log of the inner life, and what had woken it is not forgotten."""
    why = ""
    woke: list[int] = []
    for due in only(TickDue, turn.inputs):
        why = due.event.why
        woke += due.event.notes
    told = only(Ticked, turn.journal.execution_entries(turn.execution.id))
    if all(context_of(one.key) == turn.ctx.path for one in told):  # these words may run again
        await turn.record(Ticked(tick=turn.began_seq, outcome="failed", why=why))
    await turn.wait(within=RECOVERY, note={INNER_WAIT: "a tick failed", "woke": woke})


async def _let_go(turn: Turn) -> None:
    """What it had begun to say stays as it is, and what it had asked or withdrawn loses its buttons."""
    await settling.settle(turn)
    done = turn.journal.execution_entries(turn.execution.id)
    for gone in only(Withdrawn, done):
        asked = only(Asked, turn.journal.entries_at(gone.closes))
        await questions.see_off(turn, asked)
    answers = {entry.event.asked: entry.event.text for entry in only(Answered, done)}
    for question in only(Asked, done):
        await questions.settle(turn, question, answers.get(question.seq, ""))
    for spoken in questions.half_asked(done):
        await questions.settle_half_asked(turn, spoken)


async def _last_word(turn: Turn, name: str) -> None:
    """Say once how it ended; to nobody, where nobody waits for it."""
    if turn.addressed and not turn.silent:
        sentence = worded(turn, f"prompts/sentences/{name}")
        await turn.say(sentence, name, answers=name != "failed")
