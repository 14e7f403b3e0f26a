"""Messages that are edited while the soul works on their first version.

As long as nobody has seen a word of the answer, the new version is answered instead: what runs is ended as by
a stop, and the same execution thinks again with the message as it reads now. Later edits are only heard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

from daemon.engine.event import Entry, of_kind, seqs_of
from daemon.engine.execution import Execution
from daemon.engine.keys import context_of
from daemon.engine.kinds import InputSent, InputsReceived, ThreadSpawned
from daemon.kinds import (
    INNER,
    ActionStarted,
    CardIntended,
    ForgetRequested,
    IncomingMessage,
    OverheardMessage,
    PersonMessage,
    QuestionAsked,
    SoulTurnBegan,
    SpeechBegan,
    SpeechDropped,
    SpeechFinished,
    SpeechPosted,
    StopRequest,
    moment_of,
)

EDITS_STEP = "edited"
"""The name of the step that records which edits end a run."""
MOST_EDITS = 10
"""Edits after which one execution goes on with what it has: each costs a call that is broken off."""
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
"""Entries of an execution that people may have seen, or whose deed is not to be done twice."""


def edit_ts(entry: Entry[Any]) -> Decimal:
    """Return the ts of the edit that an entry is; 0 for what nobody edited."""
    if isinstance(entry.event, OverheardMessage | IncomingMessage) and entry.event.note == "edited":
        return moment_of(entry.key.rpartition(":")[2])
    return Decimal(0)


def without_replaced_versions(said: Sequence[Entry[Any]]) -> list[Entry[Any]]:
    """Return these entries without the versions of a message that a later edit among them replaces.

    Of two that share a seq, an edit and the message that got its words, the last one given stands.
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
    """Return the edits that change what a message of this execution says, and were not taken in yet."""
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
    """Return True if the edit is newer than what is known of its message, and says something else."""
    return known is not None and edit_ts(edit) > edit_ts(known) and edit.event.text != known.event.text


def edits_taken_in(execution: Execution) -> list[int]:
    """Return the seqs of the edits that the execution has recorded as taken in."""
    found = execution.recorded_entries(InputsReceived)
    return edits_among([entry for entry in found if context_of(entry.key) == execution.path])


def edits_among(received: Iterable[Entry[InputsReceived]]) -> list[int]:
    """Return the seqs of the edits among what executions looked at."""
    seqs = list[int]()
    for found in received:
        if found.key.rpartition("/")[2].startswith(f"{EDITS_STEP}#"):
            seqs += found.event.inputs
    return seqs


def overtaking_edits(execution: Execution) -> list[Entry[OverheardMessage]]:
    """Return the edits for which the execution begins anew; none if anything of its answer was seen."""
    began = cast(SoulTurnBegan, execution.first.event)
    if began.apart is not None or execution.thread == INNER or execution.is_shown:
        return []
    edits = unseen_edits(execution)
    if not edits or len(edits_taken_in(execution)) >= MOST_EDITS or _is_seen(execution):
        return []
    if of_kind(StopRequest, [*execution.inputs, *execution.has_new_inputs()]):  # a stop ends it for good
        return []
    return edits


def _is_seen(execution: Execution) -> bool:
    """Return True if people may have seen something, or something was done that is not to be done twice."""
    done = execution.recorded_entries(*SEEN, SpeechBegan, SpeechDropped)
    unsaid = {entry.cause for entry in of_kind(SpeechDropped, done)}
    for entry in done:
        if isinstance(entry.event, SEEN):
            return True
        begun_before = isinstance(entry.event, SpeechBegan) and entry.seq < execution.epoch
        if begun_before and entry.seq not in unsaid:  # a former attempt may have shown it
            return True
    return False


def with_edits(
    said: Sequence[Entry[PersonMessage]], edits: Sequence[Entry[OverheardMessage]]
) -> list[Entry[PersonMessage]]:
    """Return the messages that are answered, with the words of these edits where they have some."""
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
