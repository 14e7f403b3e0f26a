"""The soul's program for the engine: how turns begin, run a process, end, fail and wait.

An ended turn records what its thread keeps and its process. Open messages are finished or removed. A wait's
notice has the turn's key, so that no crash repeats it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from daemon.claude.availability import USABLE_REPLIES, retry_pause_of
from daemon.engine.context import Context
from daemon.engine.event import (
    Entry,
    Input,
    InputRank,
    StepEvent,
    context_of,
    in_seq_order,
    last_words_path,
    of_kind,
    part_key,
    root_of,
    seqs_of,
)
from daemon.engine.exceptions import FencedError, JournalError
from daemon.engine.execution import Execution
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import ALWAYS, JournalReader
from daemon.engine.kinds import InputsReceived, Intent, OutageBegan, QuestionWithdrawn, WaitBegan, WaitEnded
from daemon.engine.program import InputSelection, Program
from daemon.errors import PostFailed, PostRefused
from daemon.kinds import (
    INNER,
    INNER_WAIT,
    ActionObserved,
    CardIntended,
    CellBegan,
    CellRan,
    ModelCall,
    PersonMessage,
    ProcessChanged,
    QuestionAnswered,
    QuestionAsked,
    SoulTurnBegan,
    SoulTurnEnded,
    SpeechBegan,
    SpeechDropped,
    SpeechFinished,
    TickDue,
    TickLogged,
    UnpromptedMessage,
)
from daemon.kinds.thought_kinds import INTERRUPTED
from daemon.memory import WorkingMemory, working_memory
from daemon.model import ACCOUNT
from daemon.turn.branches import Branches, begin_wait, input_of_ended_wait
from daemon.turn.first_word_waits import SECONDS_TO_STATUS, FirstWordWait
from daemon.turn.input_policy import (
    DELIBERATION_PROCESS,
    SoulInputSelection,
    edits_taken_in,
    in_slack_order,
    internal_inputs,
    is_background_only,
    last_message_to_soul,
    messages_to_answer,
    overtaking_edits,
    select_inputs,
    without_replaced_versions,
)
from daemon.turn.plan_card import settle_plan_card
from daemon.turn.preparation import (
    fetch_earlier_messages,
    import_dm_context,
    recall_restart_log,
    report_void_answers,
)
from daemon.turn.questions import (
    NO_ANSWER,
    answer_branch,
    orphan_questions,
    remove_buttons,
    remove_orphan_buttons,
    report_unprompted_outcome,
    report_withdrawn,
    withdraw_questions,
)
from daemon.turn.recall import is_spoken, recall_kept
from daemon.turn.speech import is_broken_off, say, show_status, speech_at, speech_key_of
from daemon.turn.turn import UNKNOWN_OUTCOME, Transition, Turn, TurnDependencies

log = logging.getLogger(__name__)


STATUS_TEXT = "prompts/sentences/still_thinking"


WAITING_TEXT = "prompts/sentences/waiting"


MOST_TRANSITIONS = 10
"""Most transitions within one turn."""


RECOVERY_SECONDS = 3_600.0
"""Seconds until the next tick after one that failed or was stopped."""


async def finish_open_messages(turn: Turn) -> None:
    """Finish open messages as they are in Slack; remove unposted ones."""
    await _end_speeches(turn, _left_open(turn))


async def finish_open_card(turn: Turn) -> None:
    await _end_cards(turn, _left_open(turn))


async def finish_before_restart(turn: Turn) -> None:
    """Finish messages and cards that were begun before a restart."""
    left = turn.execution.entries_left_open()
    await _end_speeches(turn, left)
    await _end_cards(turn, left)


def _left_open(turn: Turn) -> list[Entry[Any]]:
    recorded = turn.journal.execution_entries(turn.execution.id)
    pending = set(turn.journal.still_pending(seqs_of(recorded)))
    return [entry for entry in recorded if entry.seq in pending]


async def _end_speeches(turn: Turn, begun: Sequence[Entry[Any]]) -> None:
    speeches = [speech_key_of(message.key) for message in of_kind(SpeechBegan, begun)]
    for key in dict.fromkeys(speeches):
        await speech_at(turn, key).settle()


async def _end_cards(turn: Turn, begun: Sequence[Entry[Any]]) -> None:
    for intent in of_kind(CardIntended, begun):
        await settle_plan_card(turn, intent)


async def watch_long_waits(deps: TurnDependencies) -> None:
    """Notify people who wait long for a first word; run until cancelled."""
    waits, clock = deps.waits, deps.clock
    while True:
        await waits.any.wait()
        if waits.next_sign_at is None:
            waits.any.clear()
            continue
        left = waits.next_sign_at - clock.steady()
        await clock.sleep(min(left, SECONDS_TO_STATUS))  # a wait that begins meanwhile is due later
        for execution, wait in waits.overdue(clock.steady()).items():
            _notify(deps, execution, wait)


def _notify(deps: TurnDependencies, execution: Execution, wait: FirstWordWait) -> None:
    wait.signs += 1
    if execution.is_shown or execution.is_in_outage:
        return  # people already see an answer or the notice of an outage
    turn = _wait_turn(deps, execution)
    if wait.signs == 1:
        show_status(turn, turn.prompt(STATUS_TEXT))
    elif _is_waited_for(turn):
        wait.telling = asyncio.create_task(_post_sentence(turn, wait), name=f"the wait of {execution.id}")


def _wait_turn(deps: TurnDependencies, execution: Execution) -> Turn:
    """Return a turn whose steps have keys apart from the execution's."""
    return Turn(deps, Context(execution, part_key(execution.turn, "wait")))


def _is_waited_for(turn: Turn) -> bool:
    expects = turn.must_answer or bool(turn.execution.recorded_entries(QuestionAnswered))
    return expects and turn.addressed and turn.ctx.read_back(_sentence_key(turn)) is None


def _sentence_key(turn: Turn) -> str:
    return f"{turn.ctx.path}/told#1"


async def _post_sentence(turn: Turn, wait: FirstWordWait) -> None:
    try:
        await speech_at(turn, _sentence_key(turn)).finish(turn.prompt(WAITING_TEXT), answers=False)
        show_status(turn, turn.prompt(STATUS_TEXT))  # Slack clears the status with each message
    except PostFailed as error:
        wait.failed = True
        log.info("Could not tell a waiting person about the wait: %s.", error)
    except (FencedError, JournalError):
        wait.failed = True  # the turn's next step will fail in the same way


async def settle_wait_sentence(deps: TurnDependencies, execution: Execution) -> None:
    turn = _wait_turn(deps, execution)
    if execution.pending_about(turn.ctx.path):
        await speech_at(turn, _sentence_key(turn)).settle()


def visible_messages(entries: Iterable[Entry[Any]]) -> Iterator[Entry[ModelCall | SpeechFinished]]:
    """Yield what people see as messages: spoken model calls, and receipts of other messages."""
    answer: Entry[ModelCall] | None = None
    said = ""
    for entry in entries:
        if isinstance(entry.event, ModelCall) and is_spoken(entry):
            answer = entry
        elif isinstance(entry.event, SpeechFinished):
            speech = speech_key_of(entry.key)
            if answer:
                yield answer
                answer = None
                said = speech
            elif speech != said:
                yield entry


async def announce_outage(turn: Turn, waiting: Entry[OutageBegan]) -> None:
    """Tell people once that the model cannot be reached; messages that broke off stay."""
    show_status(turn, "")
    await finish_open_messages(turn)
    waits = turn.must_answer or bool(turn.execution.recorded_entries(QuestionAnswered))
    if waits and turn.addressed:
        name = "unreachable"
        if waiting.event.reason in ACCOUNT:
            name = "account"
        sentence = turn.prompt(f"prompts/sentences/{name}")
        await say(turn, sentence, "told", answers=False)


def end_completed(turn: Turn) -> SoulTurnEnded:
    return _ended(turn, "completed", turn.memory)


def end_failed(turn: Turn) -> SoulTurnEnded:
    """Return the end of a turn given up. Its inputs, perhaps the cause, are not kept.

    It has not failed if the worker died after the answer.
    """
    for taken in of_kind(ProcessChanged, turn.journal.entries_under(turn.ctx.path)):
        turn.process, turn.params = taken.event.to, taken.event.params
    if is_refused_by_slack(turn):
        return _ended(turn, "abandoned", WorkingMemory())
    said = recall_kept(turn.execution.recorded_entries(SpeechFinished), turn.tag_suffix)
    if has_said_everything(turn):
        return _ended(turn, "completed", turn.memory.with_memory(*said))
    return _ended(turn, "failed", working_memory(said[-1:]))


def end_suspended(turn: Turn) -> SoulTurnEnded:
    """Return the end of a turn whose execution is suspended; keep what people saw."""
    execution = turn.execution
    recorded: list[Entry[Any]] = execution.recorded_entries()
    seen: list[Entry[Any]] = [*turn.internal_inputs, *visible_messages(recorded)]
    for answer in of_kind(QuestionAnswered, recorded):
        seen += turn.journal.entries_at(answer.event.seqs)
        if answer.event.text:
            seen.append(answer)
    accepted = execution.inputs[len(turn.inputs) :]
    seen += of_kind(PersonMessage, accepted)
    said = in_slack_order(without_replaced_versions([*turn.heard, *turn.said]))
    memory = working_memory(recall_kept([*said, *in_seq_order(seen)], turn.tag_suffix))
    return SoulTurnEnded(outcome="suspended", keep=_new_seqs(turn, memory))


def is_refused_by_slack(turn: Turn) -> bool:
    """True if Slack refused the turn's messages, so that last words are useless."""
    told = last_words_path(turn.execution.id, "")
    failures = [failed.event for failed in turn.execution.failed_attempts]
    errors = [failure.error for failure in failures if not failure.at.startswith(told)]
    return bool(errors) and errors[-1] == PostRefused.recorded_name


def has_said_everything(turn: Turn) -> bool:
    journal = turn.journal
    done = journal.execution_entries(turn.execution.id)
    if turn.execution.failed_attempts or orphan_questions(done):
        return False
    begun = [entry for entry in done if isinstance(entry.event, SpeechBegan | QuestionAsked)]
    if journal.still_pending(seqs_of(begun)):
        return False
    heard = [turn.execution.began, *of_kind(InputsReceived, done)]
    last_heard = max(seqs_of(heard))
    receipts = [entry for entry in done if isinstance(entry.event, SpeechFinished | SpeechDropped)]
    since = [entry for entry in receipts if entry.seq > last_heard]
    return bool(of_kind(SpeechFinished, since)) and not is_broken_off(since[-1])


def _ended(turn: Turn, outcome: str, memory: WorkingMemory) -> SoulTurnEnded:
    ended = SoulTurnEnded(outcome=outcome, keep=_new_seqs(turn, memory))
    if _keeps_process(turn):
        return ended
    return replace(ended, process=turn.process, params=turn.params)


def _keeps_process(turn: Turn) -> bool:
    """True if the thread keeps its process.

    A side turn keeps it unless it makes a transition; a resumed execution keeps it if open thought began
    meanwhile.
    """
    if turn.apart is not None:
        return turn.process == turn.first.event.process
    return _open_thought_began_meanwhile(turn)


def _open_thought_began_meanwhile(turn: Turn) -> bool:
    began = turn.execution.began.seq
    if began == turn.began_seq or turn.first.event.process == DELIBERATION_PROCESS:
        return False
    turned_to = [taken.event.to for taken in turn.execution.recorded_entries(ProcessChanged)]
    if DELIBERATION_PROCESS in turned_to:
        return False
    return turn.deps.pasts.history_of(turn.thread, began).process == DELIBERATION_PROCESS


def _new_seqs(turn: Turn, memory: WorkingMemory) -> tuple[int, ...]:
    journal, seqs = turn.journal, memory.seqs
    if turn.execution.restarts:
        seqs = tuple(_original(journal, seq) for seq in seqs)
    kept = set[int]()
    for ended in journal.thread_entries(turn.thread, SoulTurnEnded, since=turn.began_seq):
        kept.update(ended.event.keep)
    new = [seq for seq in seqs if seq not in kept and turn.is_unseen(seq)]
    return tuple(dict.fromkeys(new))


def _original(journal: JournalReader, seq: int) -> int:
    entry: Entry[Any] = journal.entry(seq)
    while isinstance(entry.event, StepEvent) and entry.event.taken_from:
        before = journal.get(entry.event.taken_from)
        assert before
        entry = before
    return entry.seq


class TooManyTransitions(RuntimeError):
    """A turn whose processes go over to each other without end."""

    recorded_name = "TooManyTransitions"


def commands_of(processes: Mapping[str, object]) -> Mapping[str, str]:
    """Map each command that people may write to the name of the process that answers it."""
    answers: dict[str, str] = {}
    for name, process in processes.items():
        answers |= dict.fromkeys(getattr(process, "commands", ()), name)
    return answers


class SoulProgram(Program):
    """The program that the engine runs in each thread: the soul at work on a turn."""

    author = "soul"
    successes = (ModelCall,)

    def __init__(self, deps: TurnDependencies) -> None:
        self._deps = deps
        self._commands = commands_of(deps.processes)

    def take(self, journal: Journal, waiting: Sequence[Entry[Input]]) -> InputSelection | None:
        return select_inputs(journal, waiting, self._deps.owners, self._commands)

    async def began(self, taken: InputSelection, execution: str) -> SoulTurnBegan:
        inputs = tuple(seqs_of(taken.inputs))
        if taken.resumes:
            first = self._deps.journal.get(f"{execution}/began")
            assert first
            assert isinstance(first.event, SoulTurnBegan)
            return SoulTurnBegan(
                execution=execution,
                inputs=inputs,
                answers=taken.resumes.key,
                process=first.event.process,
                texts=first.event.texts,
            )
        assert isinstance(taken, SoulInputSelection)
        texts = await self._deps.record_texts()
        if taken.process:
            return SoulTurnBegan(
                execution=execution, inputs=inputs, process=taken.process, texts=texts, apart=taken.params
            )
        thread = taken.inputs[0].thread
        now = self._deps.journal.last_seq_of_all() + 1
        await self._deps.pasts.preload(thread, now)
        past = self._deps.pasts.history_of(thread, now)
        process = self._known_process(past.process)
        if internal_inputs(taken.inputs):
            process = DELIBERATION_PROCESS
        return SoulTurnBegan(execution=execution, inputs=inputs, process=process, texts=texts)

    def subject_reached(self, entry: Entry[Any]) -> str | None:
        """Return the model that has answered."""
        return entry.event.model if entry.event.outcome in USABLE_REPLIES else None

    def interrupts(self, execution: Execution, entry: Entry[Input]) -> bool:
        """True for a stop; a background task also yields to people."""
        if _is_stop(entry):
            return True
        if isinstance(entry.event, UnpromptedMessage):
            return False
        if not is_background_only(execution.first_inputs):
            return False
        return entry.event.rank in (InputRank.MESSAGE, InputRank.ANSWER)

    def overtakes(self, execution: Execution) -> bool:
        """True if a message was edited before people saw its answer."""
        return bool(overtaking_edits(execution))

    async def run(self, ctx: Context) -> Turn:
        """Run the thread's process, and those that it changes to within the turn."""
        await self._preload(ctx)
        if not ctx.execution.is_new:
            await settle_wait_sentence(self._deps, ctx.execution)
        turn = Turn(self._deps, ctx)
        show_status(turn, "")
        after = ""
        try:
            await fetch_earlier_messages(turn)
            await import_dm_context(turn)
            await recall_restart_log(turn)
            turn.may_be_overtaken = True
            await self._think(turn)
            while await turn.is_superseded_by_edit():
                turn.accept_edits()
                await recall_restart_log(turn)
                await self._think(turn)
            if self._deps.waits.has_failed(ctx.execution):
                await settle_wait_sentence(self._deps, ctx.execution)
            if turn.process == DELIBERATION_PROCESS and Branches(turn).open:
                after = turn.current_mood().status
        finally:
            show_status(turn, after)
        return turn

    async def _preload(self, ctx: Context) -> None:
        execution = ctx.execution
        deps = self._deps
        said = messages_to_answer(execution.inputs) or last_message_to_soul(
            deps.journal, root_of(execution.thread), ALWAYS
        )
        await deps.budget.preload()
        await deps.pasts.preload(execution.thread, execution.first.seq)
        await deps.people.load({entry.event.user for entry in said}, execution.thread)

    async def _think(self, turn: Turn) -> None:
        if turn.silent and turn.process not in self._deps.processes:
            log.warning("Dropped a background task: the process %s does not exist any more.", turn.process)
            return
        for _ in range(MOST_TRANSITIONS):
            outcome = await self._deps.processes[self._known_process(turn.process)](turn)
            if isinstance(outcome, WorkingMemory):
                turn.memory = outcome
                return
            if not isinstance(outcome, Transition):
                raise TypeError(f"the process {turn.process} returned {type(outcome).__name__}")
            if outcome.to not in self._deps.processes:
                log.warning(
                    "The process %s goes over to %s, which does not exist: the thread goes on in %s."
                    " There are %s.",
                    turn.process,
                    outcome.to,
                    self._deps.initial,
                    ", ".join(sorted(self._deps.processes)),
                )
            await turn.record_transition(outcome)  # the journal records each transition
            if not outcome.execute_now:
                return
        raise TooManyTransitions(f"{MOST_TRANSITIONS} transitions in one turn")

    def _known_process(self, process: str | None) -> str:
        if process is None or process not in self._deps.processes:
            return self._deps.initial
        return process

    def ended(self, ctx: Context, result: object) -> SoulTurnEnded:
        assert isinstance(result, Turn)
        return end_completed(result)

    def suspended(self, ctx: Context) -> SoulTurnEnded:
        return end_suspended(Turn(self._deps, ctx, edits_taken_in(ctx.execution)))

    async def settle(self, ctx: Context) -> None:
        await super().settle(ctx)
        await self._preload(ctx)
        await finish_before_restart(Turn(self._deps, ctx))

    def unknown(self, intent: Entry[Intent]) -> ActionObserved | CellRan:
        if isinstance(intent.event, CellBegan):
            return INTERRUPTED
        return ActionObserved(name=intent.event.name, text=UNKNOWN_OUTCOME)

    async def failed(self, ctx: Context) -> None:
        """Give up: finish what was begun in Slack, and say so once."""
        await self._preload(ctx)
        turn = Turn(self._deps, ctx)
        if turn.thread == INNER:
            await _end_failed_tick(turn)
        await answer_branch(turn, NO_ANSWER)
        await report_unprompted_outcome(turn, "refused")
        if not is_refused_by_slack(turn):
            was_answered = has_said_everything(turn)
            await finish_open_card(turn)
            await _finish_messages_and_questions(turn)
            if not was_answered:
                await _say_last_words(turn, "failed")
        await super().failed(ctx)

    async def stopped(self, ctx: Context) -> None:
        """Stop a failing turn: finish its messages in Slack, and confirm the stop to whoever asked for it."""
        await self._preload(ctx)
        turn = Turn(self._deps, ctx)
        if turn.thread == INNER:
            await begin_wait(turn, within=RECOVERY_SECONDS, note={INNER_WAIT: "a tick was stopped"})
        await report_unprompted_outcome(turn, "declined")
        await _finish_messages_and_questions(turn)
        await finish_open_card(turn)
        stops = await ctx.receive(_is_stop)
        ctx.accept(stops)
        if turn.execution.parent_thread:
            await ctx.end_thread("", "cancelled")
            return
        if stops and turn.thread != INNER:
            await withdraw_questions(turn)
            if turn.process == DELIBERATION_PROCESS:
                await turn.record_transition(Transition(to=self._deps.initial, memory=turn.memory))
        if not turn.execution.recorded_entries(SpeechFinished):
            await _say_last_words(turn, "stopped")

    def gave_up(self, ctx: Context) -> SoulTurnEnded:
        return end_failed(Turn(self._deps, ctx))

    async def void(self, ctx: Context, answers: Sequence[Entry[Input]]) -> None:
        await self._preload(ctx)
        await report_void_answers(Turn(self._deps, ctx), answers)

    def is_fault(self, error: Exception) -> bool:
        """True if the turn is at fault; False for posts that Slack failed."""
        return not isinstance(error, PostFailed)

    def ends(self, error: Exception) -> bool:
        """True if the error would come again in a retry."""
        return super().ends(error) or isinstance(error, PostRefused | TooManyTransitions)

    def reminder(self, waiting: Entry[WaitBegan], woke: WaitEnded) -> Input:
        return input_of_ended_wait(self._deps.journal, waiting, woke)

    def fits(self, about: Any, entry: Entry[Any]) -> bool:
        return self._deps.fits(about, entry)

    def patience(self, reason: str, subject: str, tries: int) -> float | None:
        return retry_pause_of(self._deps.reach, reason, subject, tries)

    async def went_down(self, ctx: Context, waiting: Entry[OutageBegan]) -> None:
        await announce_outage(Turn(self._deps, ctx), waiting)


def _is_stop(entry: Entry[Input]) -> bool:
    return entry.event.rank is InputRank.STOP


async def _end_failed_tick(turn: Turn) -> None:
    why = ""
    woke: list[int] = []
    for due in of_kind(TickDue, turn.inputs):
        why = due.event.why
        woke += due.event.notes
    told = of_kind(TickLogged, turn.journal.execution_entries(turn.execution.id))
    if all(context_of(one.key) == turn.ctx.path for one in told):  # this function may run twice
        await turn.record(TickLogged(tick=turn.began_seq, outcome="failed", why=why))
    await begin_wait(turn, within=RECOVERY_SECONDS, note={INNER_WAIT: "a tick failed", "woke": woke})


async def _finish_messages_and_questions(turn: Turn) -> None:
    await finish_open_messages(turn)
    done = turn.journal.execution_entries(turn.execution.id)
    for gone in of_kind(QuestionWithdrawn, done):
        asked = of_kind(QuestionAsked, turn.journal.entries_at(gone.closes))
        await report_withdrawn(turn, asked)
    answers = {entry.event.asked: entry.event.text for entry in of_kind(QuestionAnswered, done)}
    for question in of_kind(QuestionAsked, done):
        await remove_buttons(turn, question, answers.get(question.seq, ""))
    for spoken in orphan_questions(done):
        await remove_orphan_buttons(turn, spoken)


async def _say_last_words(turn: Turn, name: str) -> None:
    if turn.addressed and not turn.silent:
        sentence = turn.prompt(f"prompts/sentences/{name}")
        await say(turn, sentence, name, answers=name != "failed")
