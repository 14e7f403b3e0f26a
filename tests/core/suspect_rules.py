"""Rules of who is suspected, and given up, when the daemon dies again and again: each taken out."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

SUSPECTS = "tests/engine/test_suspects.py::test_"

SUSPECTING: tuple[Mutant, ...] = (
    rule(
        "suspects: a death counts only after a control",
        "engine/suspects.py",
        "one._replace(kills=one.kills + 1, control=control)",
        "one._replace(kills=one.kills + 1, counted=one.counted + ([began] == suspects))",
        f"{SUSPECTS}whoever_is_killed_from_outside_is_not_given_up",
    ),
    rule(
        "suspects: a record clears",
        "engine/suspects.py",
        "if known is None or _has_come_further(journal, began, since=life):",
        "if known is None:",
        f"{SUSPECTS}whoever_comes_further_at_each_life_is_not_given_up",
    ),
    rule(
        "suspects: a death in a control pardons all",
        "engine/suspects.py",
        "    if any(one.control for one in found.values()):",
        "    if False:",
        f"{SUSPECTS}a_death_in_a_control_pardons_whoever_was_suspected",
    ),
    rule(
        "suspects: after a first kill all go on together",
        "engine/suspects.py",
        "IN_A_ROW = 2\n",
        "IN_A_ROW = 1\n",
        f"{SUSPECTS}a_poison_is_found_among_many",
    ),
    rule(
        "suspects: a control lasts three times as long",
        "engine/suspects.py",
        "TIMES = 3\n",
        "TIMES = 1\n",
        f"{SUSPECTS}a_control_outlasts_lives_that_end_at_uneven_times",
    ),
    rule(
        "suspects: one at a time is at work",
        "engine/suspects.py",
        "            elif not is_asleep(name):\n                return False\n",
        "",
        f"{SUSPECTS}two_poisons_are_given_up_alone",
    ),
    rule(
        "suspects: the least counted goes first",
        "engine/suspects.py",
        "return one.standing.counted, len(attempts), one.began.seq",
        "return 0, 0 * len(attempts), one.began.seq",
        f"{SUSPECTS}whoever_is_counted_least_is_not_kept_waiting_by_the_poison",
    ),
    rule(
        "suspects: then the least tried",
        "engine/suspects.py",
        "return one.standing.counted, len(attempts), one.began.seq",
        "return one.standing.counted, 0 * len(attempts), one.began.seq",
        f"{SUSPECTS}whoever_was_tried_least_is_not_kept_waiting_by_what_takes_long",
    ),
    rule(
        "suspects: a worker that was told to stop was not killed",
        "engine/suspects.py",
        "killed = not journal.seq_of(_ended(life))",
        "killed = True",
        f"{SUSPECTS}a_daemon_that_was_told_to_stop_was_not_killed",
    ),
)
