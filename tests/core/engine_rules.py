"""Rules of the engine, each taken out: then a test of tests/engine fails that shows what it is for."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule
from tests.core.replay_rules import REPLAYS
from tests.core.suspect_rules import SUSPECTING
from tests.core.wait_rules import WAITING

AGAIN = "tests/engine/test_kills.py::test_an_execution_that_runs_again_after_each_step_comes_to_the_same"
KILLS = "tests/engine/test_kills.py::test_any_boundary_may_be_the_last"
LEASES = "tests/engine/test_leases.py::test_"
OUTAGE = "tests/engine/test_outage.py::test_"
CHANGES = "tests/engine/test_changes.py::test_"
FAILING = "tests/engine/test_failing.py::test_"
AGAINST = "tests/stories/test_again.py::test_"

REPLAY: tuple[Mutant, ...] = (
    rule(
        "engine: what a step asks is compared when it is read back",
        "engine/recorded.py",
        "if fingerprint and _asks_else(entry, fingerprint):",
        "if False:",
        f"{AGAIN}[yes to X is not yes to Y]",
    ),
    rule(
        "engine: what returns must have read all that is recorded",
        "engine/recorded.py",
        'left = [key for key in self._unread if key.startswith(f"{path}/")]',
        "left = []",
        f"{AGAIN}[early return]",
    ),
    rule(
        "engine: a new step passes by none that is recorded",
        "engine/recorded.py",
        "            if there in line and not is_part(unread):",
        "            if False:",
        f"{AGAIN}[a step is inserted]",
    ),
    rule(
        "engine: what was finished before a restart is taken over",
        "engine/durable_steps.py",
        "old = self.execution.record.take_over(asked, finished)",
        "old = None",
        f"{AGAIN}[what was done is read]",
    ),
    rule(
        "engine: what is named by content stands alone",
        "engine/recorded.py",
        "            if by_content(above):\n                break",
        "            if False:\n                break",
        f"{AGAIN}[another order, and one more]",
    ),
    rule(
        "engine: nothing is received while anything recorded is unread",
        "engine/asking.py",
        "        if self.execution.record.replaying:\n            return []\n        came",
        "        came",
        f"{AGAIN}[received late]",
    ),
    rule(
        "engine: after two restarts it has failed",
        "engine/turns.py",
        "execution.restarts > MAX_RESTARTS or",
        "",
        f"{AGAIN}[at each press]",
    ),
    rule(
        "engine: code that swallows the end of its turn cannot go on",
        "engine/durable_steps.py",
        "        if self._latched:\n            raise self._latched",
        "        if False:\n            raise self._latched",
        f"{FAILING}code_that_swallows_the_end_of_its_turn_does_not_go_on",
    ),
    rule(
        "engine: appends are fenced by the attempt",
        "engine/execution.py",
        "self._fence = Fence(thread=self.thread, epoch=epoch)",
        "self._fence = None",
        f"{LEASES}an_attempt_that_was_overtaken_writes_nothing",
    ),
    rule(
        "engine: the lease is looked at before each effect",
        "engine/execution.py",
        "if not self.journal.holds(self.thread, self.epoch):",
        "if False:",
        f"{LEASES}an_attempt_that_was_overtaken_does_nothing_in_the_world",
    ),
    rule(
        "engine: no turn begins beside that of another worker",
        "engine/turns.py",
        ", fence=Fence(thread=thread, epoch=epoch)",
        "",
        f"{LEASES}a_turn_is_not_begun_beside_that_of_another_worker",
    ),
    rule(
        "engine: a turn that another worker has ended is not resumed",
        "engine/turns.py",
        "            requires=began.seq,\n        )\n        if not ours:",
        "        )\n        if not ours:",
        f"{LEASES}a_turn_that_another_worker_has_ended_is_not_resumed",
    ),
    rule(
        "engine: an effect of unknown outcome is not repeated",
        "engine/durable_steps.py",
        "doubtful = begun.seq < self.execution.epoch and not repeatable",
        "doubtful = False",
        f"{KILLS}[0-order]",
    ),
)
OUTAGES: tuple[Mutant, ...] = (
    rule(
        "outage: an execution waits once, and not each of its contexts",
        "engine/outage.py",
        "                if wait.over:\n                    continue\n",
        "",
        f"{OUTAGE}all_contexts_of_an_execution_sleep_on_one_wait",
    ),
    rule(
        "outage: those that slept together are given up together",
        "engine/outage.py",
        "                if wait.gave_up:\n                    raise wait.gave_up\n",
        "",
        f"{OUTAGE}contexts_that_slept_together_are_given_up_together",
    ),
    rule(
        "outage: a life begins with a probe",
        "engine/outage.py",
        "first = subject not in self._around.probed",
        "first = False",
        f"{OUTAGE}it_is_told_once_though_each_life_takes_it_up",
    ),
    rule(
        "outage: it ends when the same is reached elsewhere",
        "engine/worker.py",
        "            execution.outages.try_now()",
        "            execution.outages.asleep",
        f"{OUTAGE}it_ends_when_another_execution_reaches_the_same",
    ),
    rule(
        "outage: an early try that fails is followed by a whole wait",
        "engine/outage.py",
        "if wait is None or wait.deaf or not self.asleep:",
        "if wait is None or not self.asleep:",
        f"{OUTAGE}a_try_before_its_time_that_fails_is_followed_by_a_whole_wait",
    ),
    rule(
        "outage: a few try first",
        "engine/worker.py",
        "waiting[:FEW]",
        "waiting",
        f"{OUTAGE}a_few_try_first_and_wake_the_others_when_they_succeed",
    ),
    rule(
        "outage: what is half told is told before a stop ends it",
        "engine/turns.py",
        "        await execution.outages.settle()\n",
        "",
        f"{AGAINST}an_apology_that_was_begun_is_known_though_a_stop_ends_what_it_was_for",
    ),
    rule(
        "outage: that it waits is told before what is said meanwhile is heard",
        "engine/outage.py",
        "            await self._tell(wait)  # before it is heard: what was begun answers none of it\n",
        "",
        f"{OUTAGE}that_it_waits_is_told_before_what_is_said_meanwhile_is_heard",
    ),
    rule(
        "outage: the trunk accepts before each try",
        "engine/outage.py",
        "if not accepts or self._execution.stopping.is_set():",
        "if True:",
        f"{OUTAGE}a_message_is_accepted_while_it_waits_and_it_is_tried_at_once",
    ),
    rule(
        "outage: after an acceptance it tries at once",
        "engine/outage.py",
        "            self._at_once = True\n",
        "",
        f"{OUTAGE}a_message_is_accepted_while_it_waits_and_it_is_tried_at_once",
    ),
    rule(
        "outage: not all try again at the same moment",
        "engine/outage.py",
        "return seconds * (1 + CHANCE * random.random())",
        "return seconds",
        f"{OUTAGE}not_all_try_again_at_the_same_moment",
    ),
    rule(
        "outage: a message ends a wait once",
        "engine/outage.py",
        "            self._awoken |= came\n",
        "",
        f"{OUTAGE}a_message_that_cannot_be_accepted_ends_the_wait_once",
    ),
    rule(
        "outage: a stop ends it",
        "engine/outage.py",
        "        if self._execution.stopping.is_set():\n            raise error\n",
        "",
        f"{OUTAGE}a_stop_ends_it",
    ),
    rule(
        "outage: that it was given up is recorded",
        "engine/durable_steps.py",
        "            return await self.execution.append(event, key)\n        if isinstance(done, Entry):",
        "            raise\n        if isinstance(done, Entry):",
        f"{OUTAGE}what_was_given_up_is_not_tried_again",
    ),
)
ANSWERS: tuple[Mutant, ...] = (
    rule(
        "answers: each counts once",
        "engine/answers.py",
        "if entry.seq not in self._used and self._answers(entry, waits):",
        "if self._answers(entry, waits):",
        f"{AGAIN}[two alike questions]",
    ),
    rule(
        "answers: an old button counts for the same question",
        "engine/answers.py",
        "        same = asked.event.asks_the_same(waits.event)\n        return same and",
        "        return False and",
        f"{CHANGES}an_old_button_counts_once_for_the_same_question_after_a_restart",
    ),
    rule(
        "answers: whoever pressed in vain is told",
        "engine/turns.py",
        "        if void or execution.abandoned:",
        "        if execution.abandoned and not void:",
        f"{CHANGES}a_yes_is_void_when_what_the_action_does_has_changed",
    ),
    rule(
        "answers: one that comes too late is known to be stale",
        "engine/execution.py",
        "return self.turn == self.id and all(self._answers.question(entry) for entry in self.first_inputs)",
        "return False",
        f"{CHANGES}a_press_that_comes_too_late_gets_an_execution_of_its_own",
    ),
    rule(
        "restart: the log is read when nothing is half done",
        "engine/turns.py",
        "        execution.fix_log()\n",
        "",
        f"{CHANGES}what_was_half_done_is_settled_before_the_log_is_read",
    ),
    rule(
        "restart: nobody's children are stopped",
        "engine/turns.py",
        "if isinstance(entry.event, Spawned) and self._journal.get(key) is None:",
        "if False:",
        f"{CHANGES}what_was_half_done_is_settled_before_the_log_is_read",
    ),
    rule(
        "given up: a root stops no child of another execution",
        "engine/context.py",
        "child for child in pending if child.seq in own",
        "child for child in pending if own",
        f"{FAILING}a_root_that_is_given_up_stops_what_it_spawned_and_nothing_else",
    ),
    rule(
        "journal: what is moot is closed by whoever comes first",
        "engine/writer.py",
        "closes=(*row.closes, *self._store.still_pending(row.moot))",
        "closes=(*row.closes, *row.moot)",
        "tests/engine/test_journal.py::test_what_is_moot_is_closed_once_whoever_comes_first",
    ),
    rule(
        "given up: what came and was not taken up is not answered",
        "engine/execution.py",
        " and not isinstance(entry.event, Input)\n",
        "\n",
        f"{FAILING}the_end_of_a_wait_that_came_while_it_failed_is_not_taken_for_answered",
    ),
    rule(
        "stop: it reaches what is in flight",
        "engine/turns.py",
        "            execution.stopping.set()",
        "            execution.fresh()",
        f"{CHANGES}the_program_says_what_interrupts_also_at_the_begin_of_an_attempt",
    ),
    rule(
        "stop: it is found at the begin of an attempt",
        "engine/turns.py",
        "        self.running[began.thread] = execution\n        self.notice(began.thread)\n",
        "        self.running[began.thread] = execution\n",
        f"{CHANGES}the_program_says_what_interrupts_also_at_the_begin_of_an_attempt",
    ),
    rule(
        "sends: what comes for an ended thread is closed visibly",
        "engine/turns.py",
        "has_ended = bool(self._journal.of(thread, ThreadEnded))",
        "has_ended = False",
        f"{CHANGES}a_message_to_a_thread_that_has_ended_is_closed_visibly",
    ),
)
GIVING_UP: tuple[Mutant, ...] = (
    rule(
        "engine rests: a stop is heard at once",
        "engine/attempts.py",
        "    if Rank.STOP in came:\n        return 0.0\n",
        "",
        f"{FAILING}a_stop_cuts_the_pause_and_nothing_of_it_runs_again",
    ),
    rule(
        "engine rests: what is said cuts no two pauses in a row",
        "engine/attempts.py",
        "if came & SPEAKING and not _came_early(journal, found):",
        "if came & SPEAKING:",
        f"{FAILING}what_somebody_says_cuts_one_pause_and_not_two_in_a_row",
    ),
    rule(
        "engine rests: what failed runs no more once somebody stops it",
        "engine/turns.py",
        "if has_failed and is_overruled(journal, began):",
        "if False:",
        f"{FAILING}a_stop_cuts_the_pause_and_nothing_of_it_runs_again",
    ),
    rule(
        "engine fails: three times at one place are enough",
        "engine/attempts.py",
        "default=0) >= SAME_PLACE",
        "default=0) >= 1000",
        f"{FAILING}three_failures_at_one_place_are_enough",
    ),
    rule(
        "engine fails: what is not its own does not count",
        "engine/attempts.py",
        "own = [entry for entry in found if entry.event.fault]",
        "own = list(found)",
        f"{FAILING}a_failure_that_is_not_its_own_counts_for_nothing",
    ),
    rule(
        "engine fails: what cannot be told is ended without a word",
        "engine/turns.py",
        "if is_beyond_words(journal, began, suspected.counted):",
        "if False:",
        f"{FAILING}where_even_the_end_cannot_be_told_it_is_ended_without_a_word",
    ),
    rule(
        "engine fails: what cannot be begun is not tried for ever",
        "engine/turns.py",
        "        if tries >= MOST_TRIES:\n            event = self._unfit(thread)",
        "        if False:\n            event = self._unfit(thread)",
        f"{FAILING}what_cannot_be_begun_is_given_up_visibly",
    ),
)
ENGINE: tuple[Mutant, ...] = (*REPLAY, *REPLAYS, *OUTAGES, *WAITING, *ANSWERS, *SUSPECTING, *GIVING_UP)
