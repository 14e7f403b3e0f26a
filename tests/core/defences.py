"""For each fault of the rehearsal world what stands against it, and the story that fails without it.

The faults are those of rehearsal/faults.py; what no single one of them shows is in promises.py, the
rules of the core are in rules.py. A name begins with its fault. Run by soak.py.
"""

from __future__ import annotations

from tests.core.amiss import ACCOUNT, SCOPE
from tests.core.mutant import rule

BROKEN = "tests/stories/test_status.py::test_where_slack_does_not_take_it_it_is_told_until_it_does[500]"
STRUCK = "tests/stories/test_faults.py::test_every_message_is_answered_once"
LONG = "tests/stories/test_long.py::"
MODEL = "tests/stories/test_model.py::"
AWAY = "tests/stories/test_model_away.py::"
BOUNDS = "tests/claude/test_bounds.py::"
ENDLESS = "tests/stories/test_endless_answers.py::"
BREAKS = "tests/stories/test_model_breaks.py::"
TROUBLE = "tests/stories/test_trouble.py::"
ATTEMPTS = "tests/slack/test_socket_attempts.py::"
SOCKETS = "tests/slack/test_sockets.py::"
CATCH_UP = "tests/slack/test_catch_up.py::"

ON_THE_WAY = (
    rule(
        "redelivery: a message is perceived once",
        "slack/inbox.py",
        'key = f"msg:{where}"\n',
        'key = f"msg:{where}:{self._journal.last()}"\n',
        f"{STRUCK}[redelivery]",
    ),
    rule(
        "duplicate: a message is perceived once",
        "slack/inbox.py",
        'key = f"msg:{where}"\n',
        'key = f"msg:{where}:{self._journal.last()}"\n',
        f"{STRUCK}[duplicate]",
    ),
    rule(
        "reorder: a reply that passed its call is judged again with it",
        "slack/inbox.py",
        "self._early.append((key, message))",
        "pass",
        f"{STRUCK}[reorder]",
    ),
    rule(
        "delay: a reply that came before its call is judged again with it",
        "slack/inbox.py",
        "self._early.append((key, message))",
        "pass",
        f"{STRUCK}[delay]",
    ),
)
"""Against what happens to events on their way."""

SOCKET = (
    rule(
        "drop: a connection that ends is followed by another",
        "slack/sockets.py",
        "        while True:\n            if last and reason == FULL:",
        "        for _ in range(1):\n            if last and reason == FULL:",
        f"{STRUCK}[drop]",
    ),
    rule(
        "drop: what was missed is read after a reconnect",
        "slack/sockets.py",
        "if last is None or not last.alive:",
        "if self.hearing.opened.total() == 1:",
        f"{CATCH_UP}test_what_was_sent_while_no_socket_was_open_is_found_after_the_reconnect",
    ),
    rule(
        "refresh: the next connection stands before the last is closed",
        "slack/sockets.py",
        "if last and reason == FULL:",
        "if last:",
        f"{SOCKETS}test_a_refresh_leaves_no_moment_without_a_connection[refresh_requested]",
    ),
    rule(
        "used-tickets: each attempt has a ticket of its own",
        "slack/sockets.py",
        "await ticket(self.web, self.access),",
        'self.__dict__.setdefault("ticket", await ticket(self.web, self.access)),',
        f"{STRUCK}[used-tickets]",
    ),
    rule(
        "used-tickets: attempts are not made in a hurry",
        "slack/sockets.py",
        "await clock.sleep(pause(attempts))",
        "await clock.sleep(0)",
        f"{ATTEMPTS}test_a_slack_that_is_away_is_asked_now_and_then_and_not_in_a_hurry",
    ),
)
"""Against what happens to connections."""

CALLS = (
    rule(
        "rate-limit: it is waited out",
        "slack/web.py",
        "retry_after(refusal, patience)",
        "retry_after(refusal, 0)",
        f"{STRUCK}[rate-limit]",
    ),
    rule(
        "rate-limit: not for longer than a bound",
        "slack/web.py",
        "if not SECONDS.fullmatch(said) or int(said) > longest:",
        "if not SECONDS.fullmatch(said):",
        f"{LONG}test_slack_takes_nothing_for_longer_than_one_waits",
    ),
    rule(
        "answer-lost: in doubt, what was said is looked for",
        "soul/utterance.py",
        "if self._ts is None and intent and (self._doubt or",
        "if False and (self._doubt or",
        f"{STRUCK}[answer-lost]",
    ),
    rule(
        "answer-lost: a stream that nobody claims is adopted",
        "soul/utterance.py",
        "if not posted.key and posted.ts not in claimed",
        "if False",
        f"{LONG}test_what_slack_does_in_the_middle_is_made_good[answer-lost-chat.startStream]",
    ),
    rule(
        "broken: a status is told again",
        "slack/sign.py",
        "            if failures and self._closing:\n",
        "            if failures:\n                spot.wanted = None\n",
        BROKEN,
    ),
    rule(
        "refused: a page that Slack refuses is said in smaller ones, or as plain text",
        "soul/page_queue.py",
        "        if self._halvings < HALVINGS and self._divide():\n"
        "            self._halvings += 1\n        else:\n",
        "        if self._halvings or not self._divide():\n            return False\n        if False:\n",
        "tests/stories/test_refused_content.py::test_a_table_that_is_too_wide_arrives_as_plain_text",
    ),
    rule(
        "stream-expiry: what cannot be ended is rewritten",
        "slack/speaker.py",
        "if not await self._ended(thread, draft, ts, final, hold, choices):",
        "if await self._ended(thread, draft, ts, final, hold, choices) is None:",
        f"{STRUCK}[stream-expiry]",
    ),
    rule(
        "down: that Slack took nothing is not the fault of a turn",
        "soul/soul_program.py",
        "return not isinstance(error, SpeechFailed)",
        "return True",
        f"{TROUBLE}test_some_minutes_without_slack_cost_neither_the_answer_nor_a_second_call",
    ),
    rule(
        "down: a turn that failed is not tried again in a hurry",
        "engine/attempts.py",
        "return float(min(2.0 ** min(count, 10), LONGEST_PAUSE))",
        "return 0.5",
        "tests/stories/test_attempts.py::test_a_turn_that_fails_is_not_tried_again_in_a_hurry",
    ),
    rule(
        "down: catch-up is tried again",
        "slack/catch_up.py",
        "for attempt in count(1):",
        "for attempt in range(1, 2):",
        "tests/slack/test_catch_up_trouble.py::test_while_slack_is_down_it_is_tried_again_ever_more_rarely",
    ),
)
"""Against what happens to calls of Slack's methods."""

THINKING = (
    rule(
        "throttled: it is asked again when it wants to be",
        "claude/retry.py",
        'PASSING = frozenset({"rate-limited", ',
        "PASSING = frozenset({",
        f"{STRUCK}[throttled]",
    ),
    rule(
        "throttled: but a person does not wait for longer than a bound",
        "claude/retry.py",
        " or answer.after > LEFT_ALONE",
        "",
        f"{MODEL}test_who_wants_to_be_left_alone_for_long_is_asked_again_by_timer",
    ),
    rule(
        "failing: its owner reads of it from the first failed try on",
        "claude/client.py",
        "            self.availability.tried(name, answer, wait)\n",
        "",
        f"{AWAY}test_a_server_that_fails_is_reported_from_the_first_failed_try",
    ),
    rule(
        "failing: until a call succeeds",
        "claude/availability.py",
        "                del self._failing[name]\n",
        "                pass\n",
        f"{AWAY}test_a_report_ends_when_a_call_succeeds",
    ),
    rule(
        "failing: after a restart, too",
        "soul/reach.py",
        "                    self._availability.remember(fault.model, fault.failure, first.at)\n",
        "                    pass\n",
        f"{AWAY}test_after_a_restart_it_is_reported_from_the_first_probe",
    ),
    rule(
        "overloaded: it is asked again",
        "claude/retry.py",
        "or tries >= TRIES or",
        "or True or",
        f"{MODEL}test_what_passes_in_a_moment_nobody_notices[529]",
    ),
    rule(
        "overloaded: who waits is answered later",
        "soul/unreachable.py",
        "return WAITS[min(tries, len(WAITS) - 1)]",
        "return None",
        f"{STRUCK}[overloaded]",
    ),
    rule(
        "cut: what people began to read is asked for once more",
        "mind/listening.py",
        'if call.event.outcome == "failed" and call.event.text:',
        "if False:",
        f"{BREAKS}test_what_breaks_off_in_the_middle_is_told_anew_in_the_same_message[cut]",
    ),
    rule(
        "cut: what was heard is not asked for again in the same call",
        "claude/retry.py",
        " or answer.texts or",
        " or",
        f"{BREAKS}test_what_breaks_off_in_the_middle_is_told_anew_in_the_same_message[cut]",
    ),
    rule(
        "cut: a half sentence stays readable",
        "slack/speaker.py",
        "        if stream and stream.ts == ts:\n            text = stream.text + end\n",
        "        if False:\n            text = stream.text + end\n",
        f"{BREAKS}test_what_breaks_off_twice_stays_readable_and_is_answered_later[cut]",
    ),
    rule(
        "stalled: a silent stream is given up",
        "claude/patience.py",
        "self._bytes_due = self._heard + self._limits.stall",
        "pass",
        f"{BREAKS}test_a_stream_that_stalls_in_a_sentence_is_told_anew_in_the_same_message",
    ),
    rule(
        "stalled: and asked for once more",
        "mind/listening.py",
        'if call.event.outcome == "failed" and call.event.text:',
        "if False:",
        f"{BREAKS}test_a_stream_that_stalls_in_a_sentence_is_told_anew_in_the_same_message",
    ),
    rule(
        "slow: each piece has a patience of its own",
        "claude/patience.py",
        "self._bytes_due = self._heard + self._limits.stall",
        "self._bytes_due = min(self._bytes_due, self._heard + self._limits.stall)",
        f"{MODEL}test_slow_tokens_are_waited_for",
    ),
    rule(
        "slow: but all of them together have an end",
        "claude/patience.py",
        "min(self._event_due, self._until)",
        "self._event_due",
        "tests/claude/test_patience.py::test_a_stream_without_an_end_is_given_up",
    ),
    rule(
        "slow: a message goes on in a new one before Slack ends it",
        "soul/speech.py",
        "if message.age > LONGEST_STREAM:",
        "if False:",
        f"{LONG}test_what_takes_long_goes_on_in_a_new_message_before_slack_ends_it",
    ),
    rule(
        "slow: how long it has grown is told by a clock that nobody sets",
        "soul/utterance.py",
        "self._scope.world.clock.steady() - self._grows_since",
        "self._scope.world.clock.now() - (self.intent.at if self.intent else 0.0)",
        f"{LONG}test_so_it_does_where_the_time_of_the_machine_is_set_back_meanwhile",
    ),
    rule(
        "late: its owner reads of it before the first word has come",
        "claude/availability.py",
        "            self._time(attempt, is_over=False)\n",
        "            pass\n",
        f"{AWAY}test_a_slow_model_is_reported_before_its_first_word_and_until_one_comes_in_time",
    ),
    rule(
        "malformed: what has no dialogue is asked for plainly",
        "mind/pipeline.py",
        "if not _will_do(turn, answer):",
        "if False:",
        f"{STRUCK}[malformed]",
    ),
    rule(
        "unbounded: the client ends the answer where it was to end",
        "claude/streamed.py",
        '                self._cut(ENDED, "endless")\n',
        "",
        f"{BOUNDS}test_the_client_ends_an_answer_at_a_mark_that_the_server_ignores",
    ),
    rule(
        "unbounded: the client ends an answer that is too long",
        "claude/streamed.py",
        '            self._cut(OVERLONG, "too-long")\n',
        "            pass\n",
        f"{BOUNDS}test_the_client_ends_an_answer_that_is_longer_than_it_may_be",
    ),
    rule(
        "unbounded: what is said once is not said again",
        "mind/sections.py",
        "again = not text.blank and mark.name not in self._private",
        "again = False",
        f"{ENDLESS}test_a_second_spoken_section_is_not_said_where_the_last_one_never_comes",
    ),
    rule(
        "unbounded: the stream is closed when all is there",
        "claude/client.py",
        "                    answer.close(ENDED)\n",
        "                    pass\n",
        f"{BOUNDS}test_the_connection_is_closed_when_no_more_is_wanted",
    ),
    rule(
        "refusal: another model is asked",
        "mind/pipeline.py",
        'if answer.outcome == "refused":\n                role',
        "if False:\n                role",
        f"{STRUCK}[refusal]",
    ),
    rule(
        "window: what is refused for its size is asked once more with less",
        "soul/calls.py",
        "    if less is None:",
        "    if True:",
        "tests/stories/test_too_long.py::"
        "test_what_a_server_refuses_for_its_size_is_asked_once_more_with_less",
    ),
    rule(
        "window: a prompt is kept below it before it is sent",
        "soul/calls.py",
        "if memory is not wanted.memory:",
        "if False:",
        "tests/stories/test_too_long.py::"
        "test_prompts_are_kept_below_a_window_that_is_set_before_they_are_sent",
    ),
)
"""Against what happens to the model."""

DEFENCES = (*ON_THE_WAY, *SOCKET, *CALLS, *SCOPE, *THINKING, *ACCOUNT)
