"""Rules for exact entries and reported damage."""

from __future__ import annotations

import asyncio
import contextlib

from slack_bolt.response.response import BoltResponse

from daemon.engine.context import StepContext, WaitContext
from daemon.engine.event import EventCodec, storable_json
from daemon.engine.execution import Execution, ReplayLog
from daemon.engine.journal.journal import Journal, RecentEntries
from daemon.engine.journal.journal_file import _version_of, rebuild_folded_tables
from daemon.engine.journal.rows import JournalTables, digest_of_row
from daemon.engine.journal.verify import DigestCheck, _findings, _folded, check_doubled
from daemon.engine.journal.writer import JournalWriter, WritableTables
from daemon.slack.inbox import Inbox
from tests.app.test_commands import test_verify_gives_each_violation_a_line_with_its_seq
from tests.engine.test_digests import (
    test_a_digest_is_written_with_the_entry_and_is_small,
    test_an_older_journal_gets_its_digests_when_it_is_first_opened,
    test_verify_names_each_entry_that_was_altered,
)
from tests.engine.test_journal import (
    test_a_second_process_is_refused_before_it_connects,
    test_a_writer_that_dies_says_so_to_everyone,
    test_an_event_that_could_not_be_read_again_is_not_written,
    test_an_event_that_is_no_json_fails_alone_and_in_the_caller,
    test_what_is_moot_is_closed_once_whoever_comes_first,
)
from tests.engine.test_kills import (
    test_an_execution_that_runs_again_after_each_step_comes_to_the_same,
    test_any_kill_point_may_be_the_last,
)
from tests.engine.test_recent_entries import (
    test_what_another_daemon_writes_is_seen,
)
from tests.engine.test_skipped_steps import (
    test_a_context_that_nobody_comes_to_is_missed_by_the_first_new_step_beside_it,
)
from tests.engine.test_unawaited import (
    test_what_follows_on_something_that_could_not_be_written_is_not_written_either,
)
from tests.mutants.mutant import Case, Mutant
from tests.mutants.places import call_of, condition, returned, value_of
from tests.stories.test_damage import (
    test_a_journal_without_entries_or_of_another_version_is_not_touched,
    test_a_projection_that_is_gone_is_made_anew,
)
from tests.stories.test_disk import (
    test_a_full_disk_loses_nothing_and_needs_no_restart,
    test_a_locked_database_is_waited_for,
)

JOURNAL_ENTRIES = (
    Mutant(
        "what was seen is recorded before anyone judges it",
        WaitContext.receive,
        call_of(Execution.append).removed(),
        "looked/kills",
    ),
    Mutant(
        "what a turn took is fixed for ever",
        Execution.first_inputs,
        returned().becomes("self.journal.pending_inputs(self.thread)"),
        "burst",
    ),
    Mutant(
        "the lock is taken before the first connection",
        Journal.__aenter__,
        call_of(contextlib.ExitStack.enter_context).removed(),
        test_a_second_process_is_refused_before_it_connects,
    ),
    Mutant(
        "an event is validated where it is appended",
        EventCodec.dump,
        call_of(storable_json).part(1).part(3).dropped(),
        test_an_event_that_is_no_json_fails_alone_and_in_the_caller,
    ),
    Mutant(
        "a writer that dies tells everybody",
        JournalWriter._die,
        call_of(asyncio.Future.set_exception, 2).removed(),
        test_a_writer_that_dies_says_so_to_everyone,
    ),
    Mutant(
        "what could not be read again is not written",
        Journal.make_draft,
        call_of(EventCodec.read_back).becomes("(self.kinds.dump(event), event)"),
        test_an_event_that_could_not_be_read_again_is_not_written,
    ),
    Mutant(
        "what a full disk cannot take is not acked",
        Inbox.receive,
        call_of(BoltResponse, 2).part(1).becomes("200"),
        test_a_full_disk_loses_nothing_and_needs_no_restart,
    ),
    Mutant(
        "a journal that can be written again says so",
        JournalWriter.commit,
        call_of(JournalWriter._report_recovery).removed(),
        test_a_locked_database_is_waited_for,
    ),
    Mutant(
        "verify: an entry that is gone is named",
        _findings,
        condition(2).never(),
        Case(test_verify_gives_each_violation_a_line_with_its_seq, "gone"),
    ),
    Mutant(
        "verify: a projection is compared with a replay",
        _findings,
        call_of(_folded).becomes("()"),
        Case(test_verify_gives_each_violation_a_line_with_its_seq, "pending"),
    ),
    Mutant(
        "verify: a receipt is there once",
        check_doubled,
        value_of("again").never(),
        Case(test_verify_gives_each_violation_a_line_with_its_seq, "doubled"),
    ),
    Mutant(
        "projections are compared with a replay when a journal is opened",
        rebuild_folded_tables,
        condition().always(),
        Case(test_a_projection_that_is_gone_is_made_anew, "delete from-pending"),
    ),
    Mutant(
        "a journal of another version is not touched",
        _version_of,
        condition().never(),
        test_a_journal_without_entries_or_of_another_version_is_not_touched,
    ),
    Mutant(
        "engine: what a step asks is compared when it is read back",
        ReplayLog.read_back,
        condition(2).never(),
        Case(test_an_execution_that_runs_again_after_each_step_comes_to_the_same, "yes to X is not yes to Y"),
    ),
    Mutant(
        "engine: what returns must have read all that is recorded",
        ReplayLog.check_all_read,
        value_of("left").becomes("[]"),
        Case(test_an_execution_that_runs_again_after_each_step_comes_to_the_same, "early return"),
    ),
    Mutant(
        "engine: a new step passes by none that is recorded",
        ReplayLog.begin_step,
        condition(2).never(),
        Case(test_an_execution_that_runs_again_after_each_step_comes_to_the_same, "a step is inserted"),
    ),
    Mutant(
        "engine: what was finished before a restart is taken over",
        StepContext._recorded,
        call_of(ReplayLog.take_over).becomes("None"),
        Case(test_an_execution_that_runs_again_after_each_step_comes_to_the_same, "what was done is read"),
    ),
    Mutant(
        "engine: what is named by content stands alone",
        ReplayLog._line,
        condition().never(),
        Case(
            test_an_execution_that_runs_again_after_each_step_comes_to_the_same, "another order, and one more"
        ),
    ),
    Mutant(
        "engine: nothing is received while anything recorded is unread",
        WaitContext.receive,
        condition(3).removed(),
        Case(test_an_execution_that_runs_again_after_each_step_comes_to_the_same, "received late"),
    ),
    Mutant(
        "engine: an effect of unknown outcome is not repeated",
        StepContext.effect,
        value_of("doubtful").never(),
        Case(test_any_kill_point_may_be_the_last, "0-order"),
    ),
    Mutant(
        "replay: a new step passes by no context that is recorded",
        ReplayLog.begin_step,
        condition(3).never(),
        test_a_context_that_nobody_comes_to_is_missed_by_the_first_new_step_beside_it,
    ),
    Mutant(
        "replay: all contexts are claimed before any runs",
        StepContext.__init__,
        call_of(ReplayLog.enter_context).removed(),
        Case(test_an_execution_that_runs_again_after_each_step_comes_to_the_same, "branches"),
    ),
    Mutant(
        "replay: what was finished before a restart is taken over once",
        ReplayLog.take_over,
        condition().part(2).dropped(),
        Case(test_an_execution_that_runs_again_after_each_step_comes_to_the_same, "what was done is read"),
    ),
    Mutant(
        "journal: what is moot is closed by whoever comes first",
        JournalWriter._insert,
        call_of(JournalTables.still_pending).only(1),
        test_what_is_moot_is_closed_once_whoever_comes_first,
    ),
    Mutant(
        "unawaited: what could not be written takes with it what follows on it",
        JournalWriter._insert,
        condition(3).never(),
        test_what_follows_on_something_that_could_not_be_written_is_not_written_either,
    ),
    Mutant(
        "at hand: what another daemon wrote is asked of the file",
        RecentEntries.holds_all_after,
        returned().part(3).dropped(),
        test_what_another_daemon_writes_is_seen,
    ),
    Mutant(
        "digests: the words of an entry are in it",
        digest_of_row,
        value_of("recorded").part(14).dropped(),
        Case(test_verify_names_each_entry_that_was_altered, "a word"),
    ),
    Mutant(
        "digests: one is written with its entry",
        WritableTables.insert,
        call_of(digest_of_row).becomes("None"),
        test_a_digest_is_written_with_the_entry_and_is_small,
    ),
    Mutant(
        "digests: one that is missing is named",
        DigestCheck.check,
        condition().part(2).dropped(),
        Case(test_verify_names_each_entry_that_was_altered, "no digest"),
    ),
    Mutant(
        "digests: an older journal gets them when it is opened",
        Journal._prepare_tables,
        call_of(Journal._add_digests).removed(),
        test_an_older_journal_gets_its_digests_when_it_is_first_opened,
    ),
)
