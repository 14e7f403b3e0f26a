"""Who is given up and who only rests, each rule taken out; promises.py collects them."""

from __future__ import annotations

from tests.core.mutant import rule

SUSPECTS = "tests/life/test_suspects.py::"
RESTING = "tests/stories/test_resting.py::"
UNFIT = "tests/stories/test_unfit.py::"

GIVES_UP = (
    rule(
        "suspects: a death counts only after a control",
        "life/suspects.py",
        "replace(one, kills=one.kills + 1, control=min(control, LONGEST))",
        "replace(one, kills=one.kills + 1, counted=one.counted + ([began] == suspects))",
        f"{SUSPECTS}test_whoever_is_killed_from_outside_is_not_given_up",
    ),
    rule(
        "suspects: a record clears",
        "life/suspects.py",
        "if known is None or _recorded(journal, began, since=life):",
        "if known is None:",
        f"{SUSPECTS}test_whoever_comes_further_at_each_life_is_not_given_up",
    ),
    rule(
        "suspects: a daemon that was told to stop was not killed",
        "life/suspects.py",
        'killed = last is not None and journal.get(f"slept:{last.seq}") is None',
        "killed = last is not None",
        f"{SUSPECTS}test_a_daemon_that_was_told_to_stop_was_not_killed",
    ),
    rule(
        "rests: a stop is heard at once",
        "life/resting.py",
        'if "stop" in came or (',
        "if (",
        f"{RESTING}test_a_stop_ends_it_at_once_and_nothing_of_it_runs_again",
    ),
    rule(
        "rests: what is said cuts no two pauses in a row",
        "life/resting.py",
        " and not _early(journal, failures)):",
        "):",
        f"{RESTING}test_what_is_said_cuts_no_two_pauses_in_a_row",
    ),
    rule(
        "rests: a body that fails runs no more once somebody stops it",
        "life/live.py",
        "if is_halting(turn) or (turn.stopping.is_set() and suspicious(turn)):",
        "if False:",
        f"{RESTING}test_a_stop_ends_it_at_once_and_nothing_of_it_runs_again",
    ),
    rule(
        "unfit: what nobody can read is closed",
        "life/taking.py",
        "if unfit := next((e for e in waiting if not fit(e)), None):",
        "if unfit := next((e for e in waiting if not e), None):",
        f"{UNFIT}test_a_perception_that_nobody_can_read_is_closed_once",
    ),
    rule(
        "unfit: what cannot be loaded is not loaded for ever",
        "life/hopeless.py",
        'any(entry.body["at"] == turn.path for entry in failures(turn))',
        "False",
        f"{UNFIT}test_a_turn_that_cannot_be_loaded_is_given_up_after_three_attempts",
    ),
    rule(
        "unfit: what cannot be begun is not tried for ever",
        "life/begin.py",
        "    if tries >= MOST_TRIES:\n",
        "    if False:\n",
        f"{UNFIT}test_a_turn_that_cannot_be_begun_is_given_up_after_three_tries",
    ),
)
