"""Selection of inputs for the next turn, and edits of messages that a turn answers.

The selection is recorded in `turn-began`. An edit makes the execution begin again while nobody has seen any
of its answer; a later edit is only overheard.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, cast, get_args

from daemon.engine.event import Entry, Input, InputRank, context_of, of_kind, seqs_of
from daemon.engine.execution import Execution
from daemon.engine.journal.reader import ALWAYS, JournalReader
from daemon.engine.kinds import InputSent, InputsReceived, ThreadSpawned
from daemon.engine.program import InputSelection, question_answered_by
from daemon.kinds import (
    INNER,
    ActionStarted,
    BackgroundTask,
    BranchAnswer,
    BranchQuestion,
    ButtonPress,
    CardIntended,
    DeletionCompleted,
    ForgetCompleted,
    ForgetRequested,
    IncomingMessage,
    InternalMessage,
    MessageCommand,
    OverheardMessage,
    PersonMessage,
    QuestionAsked,
    ReminderFired,
    SelfCall,
    SoulTurnBegan,
    SpeechBegan,
    SpeechDropped,
    SpeechFinished,
    SpeechPosted,
    StopRequest,
    ToolErrand,
    UnpromptedMessage,
    moment_of,
)

Inputs = Sequence[Entry[Input]]


INITIAL_PROCESS = "conversation"


DELIBERATION_PROCESS = "deliberation"
"""Process for inputs from within the soul, and of branches."""


DEEP_READING_PROCESS = "deep_reading"


INNER_LIFE_PROCESS = "inner_life"


REMEMBERING_PROCESS = "remembering"


EXPERT_PROCESS = "expert"
"""Playbook with its own model; only Escalate leads to it."""


TOOL_PROCESS = "using_tool"


ERRANDS_PROCESS = "errands"
"""Playbook that offers all tools; it is there only where servers have some."""


SELF_CALL_TEXT = "prompts/open/asked"
"""Name of the text that says when to switch to open thought."""


UNKNOWN_COMMAND = "unknown"
"""The command of a `!word` that only a process may know; else the process of this name answers it."""


FULL_WIDTH = "\uff01"


CONTINUE_PHRASES = frozenset(
    {"go on", "continue", "carry on", "resume", "go ahead", "proceed", "weiter", "mach weiter", "continua"}
)


POLITE_WORDS = frozenset({"please", "bitte", "now"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulInputSelection(InputSelection):
    """Selected inputs. `process` is that of a side turn, with its `params`; empty for the thread's own."""

    process: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)


def select_inputs(
    journal: JournalReader, waiting: Inputs, owners: Collection[str], commands: Mapping[str, str]
) -> SoulInputSelection | None:
    """Select inputs of the first kind present: a stop, an answer, a branch's question, messages, an
    unprompted message, the end of a wait, a background task.
    """
    if not waiting:
        return None
    if waiting[0].thread == INNER:
        return SoulInputSelection(inputs=waiting, process=INNER_LIFE_PROCESS)
    stops = _ranked(waiting, InputRank.STOP)
    if stops:
        return SoulInputSelection(inputs=_ended_by(stops, waiting), process="stopping")
    answers = _ranked(waiting, InputRank.ANSWER)
    if answers:
        return _select_answer(journal, answers[0], owners)
    questions = of_kind(BranchQuestion, waiting)
    if questions:
        return SoulInputSelection(inputs=questions[:1], process="relaying")
    messages = [entry for entry in waiting if _is_message(entry)]
    if messages:
        command = _select_command(messages, commands)
        return command or _select_messages(journal, messages, waiting, owners)
    unprompted = of_kind(UnpromptedMessage, waiting)
    if unprompted:
        return _select_unprompted(unprompted[0])
    return _select_rest(journal, waiting)


def _ranked(waiting: Inputs, rank: InputRank) -> list[Entry[Input]]:
    return [entry for entry in waiting if entry.event.rank is rank]


def _words(entry: Entry[Input]) -> str:
    if isinstance(entry.event, PersonMessage):
        return entry.event.text
    return ""


def _ts(entry: Entry[Input]) -> str:
    if isinstance(entry.event, PersonMessage):
        return entry.event.ts
    return "0"


def _is_message(entry: Entry[Input]) -> bool:
    return entry.event.rank is InputRank.MESSAGE and not isinstance(entry.event, UnpromptedMessage)


def _ended_by(stops: Inputs, waiting: Inputs) -> list[Entry[Input]]:
    """Return the stops and the inputs that they end. A stop ends only earlier messages of the same author."""
    return [entry for entry in waiting if entry in stops or _is_ended(entry, stops)]


def _is_ended(entry: Entry[Input], stops: Inputs) -> bool:
    if isinstance(entry.event, SelfCall | InternalMessage) or entry.event.rank not in (
        InputRank.STOP,
        InputRank.MESSAGE,
    ):
        return True
    return any(entry.author == stop.author and was_said_before_stop(entry, stop) for stop in stops)


def _select_answer(
    journal: JournalReader, given: Entry[Input], owners: Collection[str]
) -> SoulInputSelection:
    question = cast(Entry[QuestionAsked] | None, question_answered_by(journal, given))
    if question is None:
        return SoulInputSelection(inputs=[given], process="refusing", params={"why": "stale"})
    if isinstance(given.event, BranchAnswer) or may_answer(question, given.author, owners):
        return SoulInputSelection(inputs=[given], resumes=question)
    return SoulInputSelection(inputs=[given], process="refusing", params={"why": "stranger"})


def _select_command(messages: Inputs, commands: Mapping[str, str]) -> SoulInputSelection | None:
    """Select the first command alone, for the process that answers it; None without a command."""
    for message in of_kind(IncomingMessage, messages):
        command = message.event.command
        if command == UNKNOWN_COMMAND:
            word = command_word(message.event.text).removeprefix("!").casefold()
            # A built-in word is unknown only with words after it that it does not take.
            command = UNKNOWN_COMMAND if word in get_args(MessageCommand) else word
        if command:
            return SoulInputSelection(
                inputs=[message], process=commands.get(command) or commands[UNKNOWN_COMMAND]
            )
    return None


def command_word(text: str) -> str:
    """Return the first `!word` of a message, which a mention may precede; "!" if there is none."""
    words = text.replace(FULL_WIDTH, "!").replace("`", " ").split()
    return next((word for word in words if word.startswith("!")), "!")


def _select_messages(
    journal: JournalReader, messages: Inputs, waiting: Inputs, owners: Collection[str]
) -> SoulInputSelection:
    """Select a "go on", an answer in words or, if there is none, all messages; drop background tasks."""
    first = messages[0]
    for question in reversed(journal.pending_entries(QuestionAsked, thread=first.thread)):
        theirs = [entry for entry in messages if may_answer(question, entry.author, owners)]
        theirs = [entry for entry in theirs if was_written_after(journal, question, _ts(entry))]
        if question.event.resumes and first in theirs and means_continue(_words(first)):
            return SoulInputSelection(inputs=[first], resumes=question)
        if question.event.words and theirs:
            return SoulInputSelection(inputs=theirs, resumes=question)
    return SoulInputSelection(inputs=[*messages, *_ranked(waiting, InputRank.AFTER)])


def _select_unprompted(message: Entry[UnpromptedMessage]) -> SoulInputSelection:
    if isinstance(message.event, ToolErrand):
        return SoulInputSelection(inputs=[message], process=TOOL_PROCESS)
    if message.event.leave:
        return SoulInputSelection(inputs=[message], process="asking_leave")
    return SoulInputSelection(inputs=[message], process="saying")


def _select_rest(journal: JournalReader, waiting: Inputs) -> SoulInputSelection:
    for ended in _ranked(waiting, InputRank.RESUME):
        if isinstance(ended.event, ForgetCompleted | DeletionCompleted):
            return SoulInputSelection(inputs=[ended], process=REMEMBERING_PROCESS)
        return SoulInputSelection(inputs=[ended], resumes=question_answered_by(journal, ended))
    first = waiting[0]
    assert isinstance(first.event, BackgroundTask), first.kind
    return SoulInputSelection(inputs=[first], process=first.event.process, params=first.event.params)


def may_answer(question: Entry[QuestionAsked], person: str, owners: Collection[str]) -> bool:
    """True if the question was put to this person, who must still be an owner if asked as one."""
    if person not in question.event.to:
        return False
    return person in owners or person not in question.event.owners


def was_written_after(journal: JournalReader, question: Entry[QuestionAsked], ts: str) -> bool:
    """True if `ts` is later than the question; False if the question is damaged."""
    if not question.event.said:
        return True
    asked = journal.readable_entries(question.event.said[:1])
    if not asked:
        return False
    first = asked[0].event
    return not isinstance(first, SpeechFinished) or moment_of(ts) > moment_of(first.ts)


def was_said_before_stop(said: Entry[Any], stop: Entry[Any]) -> bool:
    """True if an entry precedes the stop: by Slack's time for messages, by seq for others."""
    if isinstance(said.event, PersonMessage) and isinstance(stop.event, PersonMessage):
        return moment_of(said.event.ts) < moment_of(stop.event.ts)
    return said.seq < stop.seq


def answers_open_question(journal: JournalReader, message: Entry[Input], owners: Collection[str]) -> bool:
    for question in journal.pending_entries(QuestionAsked, thread=message.thread):
        waits = question.event.words or (question.event.resumes and means_continue(_words(message)))
        theirs = may_answer(question, message.author, owners)
        if waits and theirs and was_written_after(journal, question, _ts(message)):
            return True
    return False


def means_continue(text: str) -> bool:
    """True if the text only says "go on" or the like."""
    words = re.sub(r"<@\w+>|[^\w\s]", " ", text).casefold().split()
    said = [word for word in words if word not in POLITE_WORDS]
    return " ".join(said) in CONTINUE_PHRASES


def is_background_only(inputs: Inputs) -> bool:
    return all(entry.event.rank is InputRank.AFTER for entry in inputs)


def internal_inputs(inputs: Inputs) -> list[Entry[SelfCall | InternalMessage]]:
    """Return self-calls and internal messages."""
    found: list[Entry[Any]] = [one for one in inputs if isinstance(one.event, SelfCall | InternalMessage)]
    return found


def messages_to_answer(inputs: Inputs) -> list[Entry[PersonMessage]]:
    said = [
        entry
        for entry in inputs
        if isinstance(entry.event, IncomingMessage | ReminderFired | ButtonPress) or _words(entry)
    ]
    return in_slack_order(said)


def last_message_to_soul(journal: JournalReader, root: str, before: int) -> list[Entry[PersonMessage]]:
    """Return the last message to the soul before an entry; without one, the last stop request."""
    said: Entry[Any] | None = journal.latest_of_kind(root, IncomingMessage, before=before)
    if said is None:
        said = journal.latest_of_kind(root, StopRequest, before=before)
    if said is None:
        return []
    return [said]


def in_slack_order(messages: Iterable[Entry[Any]]) -> list[Entry[PersonMessage]]:
    """Return messages in Slack's order, each before its changes."""
    return sorted(messages, key=_when)


def _when(entry: Entry[Any]) -> tuple[Decimal, bool, int]:
    is_change = isinstance(entry.event, OverheardMessage) and bool(entry.event.note)
    return moment_of(entry.event.ts), is_change, entry.seq


EDITS_STEP = "edited"


MOST_EDITS = 10
"""Most edits that make one execution begin again: each wastes a call."""


SEEN = (
    SpeechPosted,
    SpeechFinished,
    QuestionAsked,
    CardIntended,
    ThreadSpawned,
    InputSent,
    ActionStarted,
    ForgetRequested,
)
"""Kinds that people may have seen, or with effects that must not repeat."""


def edit_ts(entry: Entry[Any]) -> Decimal:
    if isinstance(entry.event, OverheardMessage | IncomingMessage) and entry.event.note == "edited":
        return moment_of(entry.key.rpartition(":")[2])
    return Decimal(0)


def without_replaced_versions(said: Sequence[Entry[Any]]) -> list[Entry[Any]]:
    """Return entries without messages that a later edit among them replaces.

    Of two versions with the same seq, the last one stays.
    """
    unique = {entry.seq: entry for entry in said}
    newest = dict[str, Decimal]()
    for entry in unique.values():
        edited = edit_ts(entry)
        if edited:
            newest[entry.event.ts] = max(edited, newest.get(entry.event.ts, edited))
    return [entry for entry in unique.values() if not _is_replaced(entry, newest)]


def _is_replaced(entry: Entry[Any], newest: dict[str, Decimal]) -> bool:
    if (
        not newest
        or not isinstance(entry.event, IncomingMessage | OverheardMessage)
        or entry.event.note == "deleted"
    ):
        return False
    return edit_ts(entry) < newest.get(entry.event.ts, Decimal(0))


def unseen_edits(execution: Execution) -> list[Entry[OverheardMessage]]:
    """Return edits of this execution's messages that it does not use yet."""
    journal = execution.journal
    if journal.has_none(OverheardMessage, since=execution.first.seq, upto=journal.last_seq_of_all()):
        return []
    messages = of_kind(IncomingMessage, execution.inputs)
    first = min(seqs_of(messages), default=execution.first.seq)
    edits = [
        entry
        for entry in journal.thread_entries(execution.thread, OverheardMessage, since=first)
        if edit_ts(entry)
    ]
    taken = edits_taken_in(execution)
    known = [entry for entry in edits if entry.seq < execution.first.seq or entry.seq in taken]
    reads = {entry.event.ts: entry for entry in without_replaced_versions([*messages, *known])}
    new = without_replaced_versions([entry for entry in edits if entry not in known])
    return [entry for entry in new if _changes(reads.get(entry.event.ts), entry)]


def _changes(known: Entry[Any] | None, edit: Entry[OverheardMessage]) -> bool:
    return known is not None and edit_ts(edit) > edit_ts(known) and edit.event.text != known.event.text


def edits_taken_in(execution: Execution) -> list[int]:
    found = execution.recorded_entries(InputsReceived)
    return edits_among([entry for entry in found if context_of(entry.key) == execution.path])


def edits_among(received: Iterable[Entry[InputsReceived]]) -> list[int]:
    seqs = list[int]()
    for found in received:
        if found.key.rpartition("/")[2].startswith(f"{EDITS_STEP}#"):
            seqs += found.event.inputs
    return seqs


def overtaking_edits(execution: Execution) -> list[Entry[OverheardMessage]]:
    """Return edits for which the execution begins again; none once its answer may have been seen."""
    began = cast(SoulTurnBegan, execution.first.event)
    if began.apart is not None or execution.thread == INNER or execution.is_shown:
        return []
    edits = unseen_edits(execution)
    if not edits or len(edits_taken_in(execution)) >= MOST_EDITS or _is_seen(execution):
        return []
    if of_kind(StopRequest, [*execution.inputs, *execution.untaken_inputs()]):  # a stop takes precedence
        return []
    return edits


def _is_seen(execution: Execution) -> bool:
    done = execution.recorded_entries(*SEEN, SpeechBegan, SpeechDropped)
    unsaid = {entry.cause for entry in of_kind(SpeechDropped, done)}
    for entry in done:
        if isinstance(entry.event, SEEN):
            return True
        begun_before = isinstance(entry.event, SpeechBegan) and entry.seq < execution.epoch
        if begun_before and entry.seq not in unsaid:  # an earlier attempt may have shown it
            return True
    return False


def with_edits(
    said: Sequence[Entry[PersonMessage]], edits: Sequence[Entry[OverheardMessage]]
) -> list[Entry[PersonMessage]]:
    newest = {entry.event.ts: entry for entry in without_replaced_versions(edits)}
    answered = list[Entry[PersonMessage]]()
    for entry in said:
        edit = newest.get(entry.event.ts)
        if edit and isinstance(entry.event, IncomingMessage):
            words = edit.event
            event = replace(entry.event, text=words.text, name=words.name, files=words.files, note=words.note)
            answered.append(replace(entry, seq=edit.seq, key=edit.key, event=event))
        else:
            answered.append(entry)
    return answered


def last_message_seq(journal: JournalReader, root: str, before: int = ALWAYS) -> int:
    """Return the seq of the last message to the soul in this tree; 0 if there was none."""
    word = journal.latest_of_kind(root, IncomingMessage, before=before)
    if word is None:
        return 0
    return word.seq
