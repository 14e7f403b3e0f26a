"""Against what only an owner can mend: a scope that is lacking, an account at fault. Part of defences.py."""

from __future__ import annotations

from tests.core.mutant import rule

TOLD = "tests/stories/test_account.py::"
LATER = "tests/stories/test_account_later.py::"

SCOPE = (
    rule(
        "missing-scope: it is named once, and not at each try",
        "slack/refusals.py",
        "if (method, needed) not in self._told:",
        "if True:",
        "tests/stories/test_scopes.py::test_what_cannot_be_said_for_want_of_a_scope_waits_and_is_said_once",
    ),
)
"""Against a scope that is lacking."""

ACCOUNT = (
    rule(
        "unauthorized: one of those that wait tries, now and then",
        "soul/reach.py",
        "PROBE = 60.0",
        "PROBE = 6.0",
        f"{TOLD}test_all_wait_until_it_is_mended_and_everybody_is_told_once[unauthorized]",
    ),
    rule(
        "unauthorized: an owner who was told knows it after a restart, too",
        "soul/alarm.py",
        "if last is None or _is_news(world, notice, last):",
        "if True:",
        f"{LATER}test_after_a_restart_it_is_known_still_and_probed_at_once",
    ),
    rule(
        "no-credit: a request that nobody pays for is not a bad one",
        "claude/failure.py",
        'return _meant(_said(error)) or _refused_for_size(error) or "bad-request"',
        'return "bad-request"',
        f"{TOLD}test_all_wait_until_it_is_mended_and_everybody_is_told_once[no-credit]",
    ),
    rule(
        "no-credit: an answer to anybody wakes all that wait",
        "engine/worker.py",
        "            execution.outages.try_now()",
        "            execution.outages.asleep",
        f"{TOLD}test_the_first_answer_to_anybody_wakes_all_that_wait",
    ),
    rule(
        "unknown-model: it is no fault of the message",
        "claude/failure.py",
        '    404: "unknown-model",\n',
        "",
        f"{TOLD}test_all_wait_until_it_is_mended_and_everybody_is_told_once[unknown-model]",
    ),
    rule(
        "unknown-model: what another model answers mends nothing",
        "claude/account.py",
        "return self.failure in WHOLE or model == self.model",
        "return True",
        f"{TOLD}test_a_wrong_model_is_named_and_the_other_one_goes_on",
    ),
)
"""Against an account at fault."""
