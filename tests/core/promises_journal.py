"""What was promised of a journal on a machine that is not what it should be. Run by soak.py."""

from __future__ import annotations

from tests.core.mutant import rule

AHEAD = "tests/stories/test_wrong_clock.py::"
MARKS = "tests/slack/test_wrong_clock.py::"

CLOCKS = (
    rule(
        "what Slack keeps is dated by Slack's clock",
        "slack/web.py",
        "return self.clock.now() if self.dated.at is None else self.dated.at",
        "return self.clock.now()",
        f"{MARKS}test_the_marks_are_in_slacks_time",
    ),
    rule(
        "a watermark of the future is not believed",
        "slack/watermark.py",
        "values(), 0.0) <= now:",
        "values(), 0.0) >= 0:",
        f"{MARKS}test_a_mark_of_the_future_is_not_believed",
    ),
    rule(
        "where no watermark can be believed it is read from the first call",
        "slack/watermark.py",
        "return min([now, *(",
        "return max([now, *(",
        f"{MARKS}test_where_all_marks_are_of_the_future_it_is_read_from_the_first_call",
    ),
    rule(
        "a wait that was set while the clock was ahead ends in its time",
        "life/due.py",
        "return right is None or right + (due - watch.at) <= now",
        "return due <= now",
        f"{AHEAD}test_what_was_postponed_is_answered_in_a_minute",
    ),
    rule(
        "a wait that was set while the clock was ahead ends not before its time",
        "life/due.py",
        "return right is None or right + (due - watch.at) <= now",
        "return True",
        f"{AHEAD}test_what_was_postponed_is_answered_in_a_minute",
    ),
    rule(
        "what was said is looked for from what Slack dated before it",
        "life/message.py",
        "since = max((float(",
        "since = self.intent.at if self.intent else max((float(",
        f"{AHEAD}test_what_slack_took_without_a_word_is_not_said_twice",
    ),
    rule(
        "a day counts what was spent on it, and nothing of the future",
        "life/budget.py",
        "if not self.began <= entry.at < self.began + DAY:",
        "if not self.began <= entry.at:",
        f"{AHEAD}test_a_day_that_was_ahead_spends_nothing_of_today",
    ),
    rule(
        "a clock that is set back takes no time away",
        "life/spent.py",
        "sum(max(one, 0.0) for one in lasted)",
        "sum(lasted)",
        "tests/life/test_limits.py::test_a_clock_that_is_set_back_takes_no_time_away",
    ),
    rule(
        "how long nothing was heard is told by a clock that nobody sets",
        "slack/hearing.py",
        "self._clock.steady() - at",
        "self._clock.now() - at",
        f"{AHEAD}test_a_clock_that_is_set_makes_nobody_deaf",
    ),
)
"""A clock that was once ahead, or is set."""

JOURNAL = (*CLOCKS,)
