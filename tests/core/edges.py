"""Rules whose absence a test of its own shows, rather than a scenario of the crash harness."""

from __future__ import annotations

from tests.core.mutant import Mutant

JOURNAL = "tests/engine/test_journal.py::"
INBOX = "tests/slack/test_inbox.py::"
HISTORY = "tests/slack/test_history.py::"
CALLED_IN = "tests/stories/test_called_in.py::"

EDGES = (
    Mutant(
        rule="what is in flight counts against the budget",
        file="daemon/soul/budget.py",
        old="            held = amount\n",
        new="            held = 0.0\n",
        shown_by="tests/soul/test_budget.py::test_what_is_in_flight_is_waited_for_and_counts",
    ),
    Mutant(
        rule="a call that would ask otherwise is not read back",
        file="daemon/soul/calls.py",
        old="            calling.saw,\n            calling.insist",
        new="            None,\n            calling.insist",
        shown_by="tests/core/test_core.py::test_a_replay_that_would_ask_otherwise_begins_again_openly",
    ),
    Mutant(
        rule="what the journal could not take is not acked",
        file="daemon/slack/inbox.py",
        old="""Slack will send it again. %s", error)
            return BoltResponse(status=503)""",
        new="""Slack will send it again. %s", error)
            return await context.ack()""",
        shown_by=INBOX + "test_what_the_journal_cannot_take_is_not_acked_and_comes_again",
    ),
    Mutant(
        rule="what is said to the soul by somebody who may not speak to it is never context",
        file="daemon/slack/history.py",
        old="return self.workspace.allowed.hears(message) or not self._is_to_the_soul(place, message)",
        new="return True",
        shown_by=HISTORY + "test_what_was_said_to_it_and_not_answered_is_no_context",
    ),
    Mutant(
        rule="a call whose event is late is no context of the turn that finds it",
        file="daemon/slack/history.py",
        old="if self._is_to_the_soul(place, message) and message.ts not in answered:",
        new="if False:",
        shown_by=CALLED_IN + "test_a_call_whose_event_is_late_is_answered_once_by_the_turn_that_finds_it",
    ),
    Mutant(
        rule="what was answered in a lost life is not answered by the turn that finds it",
        file="daemon/slack/history.py",
        old=" and message.ts not in answered:",
        new=":",
        shown_by=HISTORY + "test_of_a_thread_that_the_journal_does_not_know_nothing_is_left_out",
    ),
    Mutant(
        rule="a call that is too old for an answer, or a command, is context of the turn that finds it",
        file="daemon/slack/inbox.py",
        old="if message.by_bot or command(message, self._me) or self._is_too_old(message):",
        new="if False:",
        shown_by=HISTORY + "test_what_is_too_old_for_an_answer_is_context_and_so_is_a_command",
    ),
    Mutant(
        rule="a late call that a turn found is answered by that turn",
        file="daemon/soul/overhearing.py",
        old="    await turn.answer_too(called)\n",
        new="",
        shown_by=CALLED_IN + "test_a_call_whose_event_is_late_is_answered_once_by_the_turn_that_finds_it",
    ),
    Mutant(
        rule="after a question a turn knows the late calls that it answers",
        file="daemon/soul/turn.py",
        old="                self._take_too(received.event)\n",
        new="                pass\n",
        shown_by=CALLED_IN + "test_what_answers_a_late_call_too_goes_on_after_a_question_as_it_was",
    ),
    Mutant(
        rule="what stands above a call belongs to the thread that takes it",
        file="daemon/slack/history.py",
        old="self._heard(context_key(thread, message.ts), message))\n            with",
        new='self._heard(f"heard:{place.team}:{place.channel}:{message.ts}", message))\n            with',
        shown_by=CALLED_IN + "test_what_a_mention_took_is_not_taken_for_known",
    ),
    Mutant(
        rule="of those above a call only they are heard who may speak to the soul",
        file="daemon/slack/history.py",
        old="return self.workspace.allowed.hears(message) and not",
        new="return not",
        shown_by=HISTORY + "test_above_a_call_only_those_are_heard_who_may_speak_to_it",
    ),
    Mutant(
        rule="what the soul answered to a mention is context for the next one",
        file="daemon/slack/history.py",
        old="                own += self._answered(place, ts)\n",
        new="                pass\n",
        shown_by=CALLED_IN + "test_a_mention_knows_what_was_said_above_it_and_so_does_the_next_one",
    ),
    Mutant(
        rule="the lock is taken before the first connection",
        file="daemon/engine/journal.py",
        old="            opening.enter_context(locked(self._path))  # before the first connection\n",
        new="",
        shown_by=JOURNAL + "test_a_second_process_is_refused_before_it_connects",
    ),
    Mutant(
        rule="a bad row fails alone",
        file="daemon/engine/writer.py",
        old="            if len(batch) == 1:\n",
        new="            return [JournalError('all') for _ in batch]\n            if False:\n",
        shown_by=JOURNAL + "test_a_row_that_the_database_refuses_fails_alone",
    ),
    Mutant(
        rule="an event is validated where it is appended",
        file="daemon/engine/event.py",
        old="json.dumps(value, default=_plain, allow_nan=False)",
        new="json.dumps(value, default=_plain)",
        shown_by=JOURNAL + "test_an_event_that_is_no_json_fails_alone_and_in_the_caller",
    ),
    Mutant(
        rule="a writer that dies tells everybody",
        file="daemon/engine/writer.py",
        old="        self.died.set_exception(lost)",
        new="        pass",
        shown_by=JOURNAL + "test_a_writer_that_dies_says_so_to_everyone",
    ),
    Mutant(
        rule="two conversations never share an id",
        file="daemon/engine/tables.py",
        old="create unique index entry_opens_thread",
        new="create index entry_opens_thread",
        shown_by=JOURNAL + "test_two_threads_never_share_an_id",
    ),
    Mutant(
        rule="what could not be read again is not written",
        file="daemon/engine/journal.py",
        old="self.kinds.read_back(event)",
        new="self.kinds.dump(event), event",
        shown_by=JOURNAL + "test_an_event_that_could_not_be_read_again_is_not_written",
    ),
)
