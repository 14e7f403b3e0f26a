"""Rules of several daemons on one log: who is sure, who is dead, and what the log confirms."""

from __future__ import annotations

from daemon.cluster.membership import Membership
from daemon.engine.journal.shared_journal import SharedJournal
from tests.cluster.test_membership_faults import test_no_confirmation_rests_on_an_answer_that_came_late
from tests.engine.test_shared_journal import test_the_log_has_the_last_word_on_a_lease
from tests.mutants.mutant import Mutant
from tests.mutants.places import condition

SEVERAL_DAEMONS = (
    Mutant(
        "several: the log confirms the lease before an effect",
        SharedJournal.confirm_lease,
        condition().never(),
        test_the_log_has_the_last_word_on_a_lease,
    ),
    Mutant(
        "several: the time is looked at after the log's answer",
        Membership.confirm,
        condition(2).always(),
        test_no_confirmation_rests_on_an_answer_that_came_late,
    ),
)
