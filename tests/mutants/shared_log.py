"""Rules of a log that several daemons share."""

from __future__ import annotations

from daemon.engine.journal.follower import LogFollower
from daemon.engine.journal.journal_copy import JournalCopy, open_copy
from daemon.engine.journal.log_erasing import LogEraser, rewrite_table
from daemon.engine.journal.postgres_log import PostgresLog
from daemon.engine.journal.postgres_writer import PostgresWriter
from daemon.engine.journal.shared_journal import SharedJournal
from tests.engine.test_log_copies import (
    test_a_copy_that_is_gone_ends_its_daemon_and_is_made_anew,
    test_what_others_wrote_before_is_told_with_the_answer,
)
from tests.engine.test_log_erasing import (
    test_a_machine_that_is_away_is_named_and_holds_up_the_end,
    test_words_leave_the_log_and_every_copy,
)
from tests.engine.test_log_faults import (
    test_a_log_that_was_replaced_by_another_ends_the_daemon,
    test_an_append_whose_answer_was_lost_was_written_once,
    test_of_two_equal_drafts_one_is_written_even_if_the_answer_was_lost,
)
from tests.mutants.mutant import Mutant
from tests.mutants.places import call_of, condition

SHARED_LOG = (
    Mutant(
        "log: what was written although its answer was lost is looked up",
        PostgresWriter._appended,
        call_of(PostgresWriter._settled).becomes("results"),
        test_an_append_whose_answer_was_lost_was_written_once,
    ),
    Mutant(
        "log: one row is found for one draft",
        PostgresWriter._settled,
        condition(2).becomes("found"),
        test_of_two_equal_drafts_one_is_written_even_if_the_answer_was_lost,
    ),
    Mutant(
        "log: what others wrote before is told with the answers",
        PostgresWriter.commit,
        condition(1).becomes("self._came.clear() or results"),
        test_what_others_wrote_before_is_told_with_the_answer,
    ),
    Mutant(
        "log: a copy blanks what it folds",
        JournalCopy.fold,
        call_of(JournalCopy._forget).removed(),
        test_words_leave_the_log_and_every_copy,
    ),
    Mutant(
        "log: every daemon drops from memory what is forgotten",
        SharedJournal._notify,
        condition(1).never(),
        test_words_leave_the_log_and_every_copy,
    ),
    Mutant(
        "log: dead rows are removed",
        LogEraser.clean_log,
        call_of(rewrite_table).removed(),
        test_words_leave_the_log_and_every_copy,
    ),
    Mutant(
        "log: a copy is known before it holds a word",
        open_copy,
        call_of(PostgresLog.register_copy).removed(),
        test_a_machine_that_is_away_is_named_and_holds_up_the_end,
    ),
    Mutant(
        "log: a copy that is gone is noticed",
        LogFollower._look_after_copy,
        call_of(JournalCopy.check_file).removed(),
        test_a_copy_that_is_gone_ends_its_daemon_and_is_made_anew,
    ),
    Mutant(
        "log: each connection checks that it leads to the log of the copy",
        LogFollower._is_checked,
        call_of(JournalCopy.check_log).removed(),
        test_a_log_that_was_replaced_by_another_ends_the_daemon,
    ),
)
