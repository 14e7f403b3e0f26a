"""The rules of streams, of the queue before local models, and of long waits; the others are in rules.py."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

LIVING = "tests/claude/test_living_stream.py::"
QUEUE = "tests/claude/test_request_queue.py::"
ONE = "tests/stories/test_one_at_a_time.py::"
LONG = "tests/stories/test_long_waits.py::"

STREAM: tuple[Mutant, ...] = (
    rule(
        "stream: any byte is a sign of life",
        "claude/answer_events.py",
        "        patience.heard()\n",
        "",
        f"{LIVING}test_a_comment_in_the_middle_of_an_answer_is_a_sign_of_life",
    ),
    rule(
        "stream: comments alone do not begin an answer",
        "claude/patience.py",
        "self._event_due = self._clock.steady() + first_event",
        "self._event_due = math.inf",
        f"{LIVING}test_without_a_first_event_a_call_ends_whatever_else_comes",
    ),
    rule(
        "stream: comments alone do not keep one that has begun",
        "claude/patience.py",
        "self._event_due = self._heard + self._limits.events",
        "self._event_due = math.inf",
        f"{LIVING}test_comments_without_end_end_an_answer_that_has_begun",
    ),
    rule(
        "stream: a slow model that lives is not broken off",
        "claude/client.py",
        '        if is_listed(request["model"]):\n            return began + max',
        "        if True:\n            return began + max",
        f"{LIVING}test_a_slow_model_that_lives_is_not_broken_off_after_ten_minutes",
    ),
    rule(
        "stream: an event has an end",
        "claude/answer_events.py",
        "    if size > MOST_BYTES:\n",
        "    if False:\n",
        f"{LIVING}test_an_endless_line_is_given_up_in_bounded_memory[data]",
    ),
    rule(
        "stream: one answer, and nothing after its end",
        "claude/client.py",
        "                        if answer.ended:\n",
        "                        if False:\n",
        f"{LIVING}test_of_two_answers_in_a_stream_the_first_one_counts",
    ),
    rule(
        "queue: people come first",
        "claude/request_queue.py",
        "return place.urgency, served",
        "return 0, served",
        f"{QUEUE}test_people_come_first_then_branches_then_what_nobody_waits_for",
    ),
    rule(
        "queue: threads take turns",
        "claude/request_queue.py",
        "            self._served[place.root] = self._served[place.thread] = next(self._admissions)\n",
        "",
        f"{QUEUE}test_threads_take_turns_and_each_keeps_its_own_order",
    ),
    rule(
        "queue: one request at a time",
        "claude/request_queue.py",
        "            if len(self._running) >= (self.most(place.model) or ONE):\n                break\n",
        "",
        f"{ONE}test_two_people_are_answered_one_after_the_other",
    ),
    rule(
        "queue: a tick gives way to a person",
        "claude/request_queue.py",
        "            place.gives_way.set()\n",
        "            pass\n",
        f"{ONE}test_a_tick_in_flight_gives_way_to_a_person_and_is_made_again",
    ),
    rule(
        "queue: what gave way is made again",
        "soul/calls.py",
        "        while made.gave_way:\n",
        "        while False:\n",
        f"{ONE}test_a_tick_in_flight_gives_way_to_a_person_and_is_made_again",
    ),
    rule(
        "queue: what gave way is paid for",
        "soul/calls.py",
        '            await self._ctx.note(made, "tried")\n            await self._purse.aclose()\n',
        "            await self._purse.aclose()\n",
        f"{ONE}test_a_tick_gives_way_as_often_as_somebody_comes",
    ),
    rule(
        "wait: a status says that it takes long",
        "soul/long_waits.py",
        "    if wait.signs == 1:\n        turn.show(worded(turn, STATUS))\n",
        "    if wait.signs == 1:\n        pass\n",
        f"{LONG}test_who_waits_for_a_slow_model_sees_a_status_and_reads_one_sentence",
    ),
    rule(
        "wait: the status is shown again",
        "slack/status.py",
        "            self._line.refresh(self._is_at_work)\n",
        "",
        f"{LONG}test_who_waits_for_a_slow_model_sees_a_status_and_reads_one_sentence",
    ),
    rule(
        "wait: a sentence says so, too",
        "soul/long_waits.py",
        "    elif _is_waited_for(turn):\n",
        "    elif False:\n",
        f"{LONG}test_who_waits_in_the_queue_is_told_so",
    ),
    rule(
        "wait: but not to somebody who need not be answered",
        "soul/long_waits.py",
        "    return expects and turn.addressed",
        "    return turn.addressed",
        f"{LONG}test_a_message_that_need_not_be_answered_gets_no_sentence",
    ),
    rule(
        "wait: what Slack did not take is unsaid",
        "soul/soul_program.py",
        "            if self._world.waits.has_failed(ctx.execution):\n",
        "            if False:\n",
        f"{LONG}test_where_slack_does_not_take_the_sentence_the_answer_is_not_lost",
    ),
    rule(
        "wait: what was half said at a kill is settled",
        "soul/soul_program.py",
        "        if not ctx.execution.is_new:\n            await long_waits",
        "        if False:\n            await long_waits",
        "slow-model/kills",
    ),
)
"""What keeps a slow model alive, and people before it patient."""
