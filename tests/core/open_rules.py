"""Rules of open thought, each taken out: then a test or a scenario fails that shows what it is for."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

THOUGHT = "tests/stories/test_open_thought.py::test_"
DEEDS = "tests/stories/test_open_deeds.py::test_"
STOPS = "tests/stories/test_open_stops.py::test_"
REPEATING = "tests/stories/test_open_repeating.py::test_"
FINAL = "tests/mind/test_final.py::test_"
MISSPELT = "tests/stories/test_open_misspelt.py::test_"
PLANS = "tests/stories/test_open_plans.py::test_"
TRACED = "tests/stories/test_trace_asked.py::test_"
IN_THREAD = "        if self._turn.began_with(IN_THREAD):\n"
FIFTY = f"{THOUGHT}fifty_branches_meet_the_bound_of_their_root_and_an_owner_is_asked_once"

OPEN: tuple[Mutant, ...] = (
    rule(
        "open thought: a final answer stops the branches below",
        "soul/tree.py",
        "        if branches:\n            await self._ctx.cancel(",
        "        if False:\n            await self._ctx.cancel(",
        f"{THOUGHT}a_final_answer_stops_the_branches_and_says_so",
    ),
    rule(
        "open thought: and what they come to is delivered to nobody",
        "soul/tree.py",
        "        if watches:\n",
        "        if False:\n",
        f"{THOUGHT}a_final_answer_stops_the_branches_and_says_so",
    ),
    rule(
        "open thought: a stop ends the branches",
        "soul/questions.py",
        'branches = await turn.ctx.cancel_all(f"{turn.thread} was stopped")',
        "branches = ()",
        f"{THOUGHT}a_stop_ends_all_of_it",
    ),
    rule(
        "open thought: a branch that is stopped while it fails has ended",
        "soul/soul_program.py",
        '            await ctx.end_thread("", "cancelled")\n',
        "            pass\n",
        f"{DEEDS}a_branch_that_fails_when_it_is_stopped_has_ended",
    ),
    rule(
        "open thought: what is sent to a thread at work is noticed at once",
        "engine/worker.py",
        "                    if other in self._busy:\n                        self._notice(other)\n",
        "                    if other in self._busy:\n                        pass\n",
        f"{THOUGHT}a_stop_ends_all_of_it",
    ),
    rule(
        "open thought: calls to itself are bounded",
        "processes/deliberation.py",
        "        if self._left > 0:\n            self._left -= 1\n",
        "        if True:\n            self._left -= 1\n",
        f"{THOUGHT}at_the_cap_it_gives_what_it_has_and_an_owner_may_let_it_go_on",
    ),
    rule(
        "open thought: calls on their way count",
        "soul/gauge.py",
        "on_their_way = replace(spent, calls=spent.calls + self._calling[root])",
        "on_their_way = spent",
        FIFTY,
    ),
    rule(
        "open thought: one question of a branch at a time",
        "processes/relaying.py",
        "    if not await turn.wait_for_other_wishes():\n",
        "    if False:\n",
        FIFTY,
    ),
    rule(
        "open thought: what an owner said of a bound counts for all that had asked",
        "processes/relaying.py",
        "    answer = await turn.answered_since(question)\n",
        "    answer = None\n",
        FIFTY,
    ),
    rule(
        "open thought: a warning is said once",
        "soul/turn.py",
        'if await self.claim(f"warned:{self.root}:{which}:{since}"):',
        "if True:",
        f"{THOUGHT}it_is_told_how_near_a_bound_is_once_at_each_mark",
    ),
    rule(
        "open thought: a foreign thread is as unknown as none",
        "actions/deeds.py",
        "if not self._turn.tree.knows(to):",
        "if not to.startswith('sess-'):",
        f"{THOUGHT}a_thread_that_is_not_there_is_answered_like_a_foreign_one",
    ),
    rule(
        "open thought: open steps are questioned once",
        "processes/deliberation.py",
        'or "steps-open" in self._codes):',
        "or False):",
        f"{THOUGHT}a_plan_with_open_steps_is_nudged_once",
    ),
    rule(
        "open thought: an answer after which nothing can come is told so once",
        "processes/deliberation.py",
        'self._remarked("empty", {"empty"}, deeds)',
        'self._remarked("empty", set(), deeds)',
        f"{THOUGHT}an_answer_after_which_nothing_can_come_is_told_so_once",
    ),
    rule(
        "open thought: what is said again is told so once",
        "processes/deliberation.py",
        'self._remarked("repeated", REMARKED, deeds)',
        'self._remarked("repeated", set(), deeds)',
        f"{REPEATING}what_it_says_again_is_remarked_and_then_ended",
    ),
    rule(
        "open thought: and is not carried out again",
        "processes/deliberation.py",
        "        if self._repeats(thought):\n",
        "        if False:\n",
        f"{REPEATING}what_was_begun_is_not_begun_again",
    ),
    rule(
        "open thought: after something new has come the same is no repetition",
        "mind/stagnation.py",
        "            return False\n    return True\n",
        "            pass\n    return True\n",
        f"{REPEATING}who_waits_repeats_nothing",
    ),
    rule(
        "open thought: a misspelt tag is told",
        "processes/deliberation.py",
        "        for wrong in parsed.misspelt:\n",
        "        for wrong in parsed.misspelt[:0]:\n",
        f"{MISSPELT}what_is_valid_is_carried_out_and_what_is_misspelt_is_told",
    ),
    rule(
        "open thought: in code and in other markup there is no misspelt tag",
        "mind/misspelt_tags.py",
        "        if tag.start < inside_foreign or self._is_indented_code(tag):\n",
        "        if False:\n",
        "tests/mind/test_misspelt_tags.py::test_other_brackets_are_only_words",
    ),
    rule(
        "open thought: nor in the thoughts of another model",
        "mind/misspelt_tags.py",
        '            if kind == "thought":\n                inside = end\n',
        '            if kind == "thought":\n                pass\n',
        "tests/mind/test_misspelt_tags.py::test_other_brackets_are_only_words",
    ),
    rule(
        "open thought: it calls itself by the tag of the seed, too",
        "mind/payloads.py",
        '    return (slug, ask, f"ask-{slug.title()}", f"ask-{slug.upper()}")\n',
        '    return (slug, f"ask-{ask}")\n',
        f"{MISSPELT}it_calls_itself_by_the_tag_of_the_seed",
    ),
    rule(
        "open thought: it is told the id of its thread",
        "processes/deliberation.py",
        IN_THREAD,
        "        if False:\n",
        f"{MISSPELT}a_branch_is_told_its_own_id",
    ),
    rule(
        "open thought: who was not told it at first is not told it when it goes on",
        "processes/deliberation.py",
        IN_THREAD,
        "        if True:\n",
        "tests/core/test_golden.py::"
        "test_each_turn_is_replayed_to_the_same_end_or_begins_again_openly[branches]",
    ),
    rule(
        "open thought: an answer that closes a step of its plan goes on",
        "processes/deliberation.py",
        "        if plan and advances(plan, self._turn.plans()):\n",
        "        if False:\n",
        f"{PLANS}answers_that_each_close_a_step_go_on_to_the_end",
    ),
    rule(
        "open thought: other words are no progress",
        "mind/open_thought.py",
        "    if before and len(plan.left) >= len(before[-1].left):\n        return False\n",
        "",
        f"{PLANS}a_plan_does_not_advance_by_words",
    ),
    rule(
        "open thought: a step closes once",
        "mind/open_thought.py",
        "    if opened & now - closed:\n",
        "    if opened & now:\n",
        f"{PLANS}a_step_that_is_opened_and_closed_again_is_no_progress",
    ),
    rule(
        "open thought: the plans of an earlier one do not count",
        "soul/train_of_thought.py",
        "        if ended.event.process not in (None, THINKING):\n",
        "        if ended.event.process == THINKING * 2:\n",
        f"{PLANS}the_steps_of_an_earlier_thought_do_not_count",
    ),
    rule(
        "open thought: a trace counts all of its steps",
        "soul/train_of_thought.py",
        "    since = began_after(journal, thread, last.seq)\n",
        "    since = last.seq - 1\n",
        f"{TRACED}a_trace_counts_all_steps_of_open_thought_with_its_branches",
    ),
    rule(
        "open thought: and those of its branches",
        "soul/facts.py",
        "        yield from journal.tree(spawned.event.thread, ModelCall)\n",
        "        yield from journal.tree(spawned.event.thread, ModelCall)[:0]\n",
        f"{TRACED}a_trace_counts_all_steps_of_open_thought_with_its_branches",
    ),
    rule(
        "open thought: the terminal counts branches",
        "trace.py",
        "        yield from _entries(reading, branch.event.thread)\n",
        "        _entries(reading, branch.event.thread)\n",
        f"{TRACED}the_terminal_counts_and_shows_branches_too",
    ),
    rule(
        "open thought: what cannot be read is asked again three times",
        "processes/deliberation.py",
        "        if count >= IN_A_ROW and not self._alone:\n",
        "        if False:\n",
        f"{DEEDS}what_cannot_be_read_is_answered_with_its_position",
    ),
    rule(
        "open thought: code says nothing",
        "mind/open_thought.py",
        'if silent["hides"]:',
        "if False:",
        f"{FINAL}only_what_stands_in_it_is_said[after code]",
    ),
    rule(
        "open thought: a quotation says nothing",
        "mind/open_thought.py",
        "        if QUOTED.match(line):\n            return\n",
        "",
        f"{FINAL}only_what_stands_in_it_is_said[after a quotation]",
    ),
    rule(
        "open thought: a self-call without iteration is answered",
        "processes/deliberation.py",
        'elif self._capacity == "none":',
        "elif False:",
        f"{THOUGHT}where_iteration_is_not_allowed_it_takes_one_step",
    ),
    rule(
        "open thought: branches of earlier turns are known",
        "soul/tree.py",
        "        return [*self._open(Spawned), *self._spawned]\n",
        "        return self._spawned\n",
        "branches",
    ),
    rule(
        "open thought: what was cleared goes, whether it is folded on or from the beginning",
        "soul/past.py",
        "kept.update(dict.fromkeys(entry.event.keep))",
        "kept = dict.fromkeys([*(seq for seq in kept if seq not in entry.event.keep), *entry.event.keep])",
        "tests/soul/test_past.py::test_a_clearing_that_its_own_turn_keeps_stands_once_and_goes_with_the_next_one",
    ),
    rule(
        "open thought: a clearing is true, what this turn is about stays",
        "actions/deeds.py",
        "if seq < self._turn.number and seq not in came]",
        "if seq]",
        "tests/stories/test_open_clearing.py::test_who_clears_all_keeps_what_this_turn_is_about",
    ),
    rule(
        "a stop: what fails and is stopped ends its branches, too",
        "soul/soul_program.py",
        "        if stops and turn.thread != INNER:\n",
        "        if False:\n",
        f"{STOPS}a_stop_of_a_turn_that_fails_ends_the_branches_too",
    ),
    rule(
        "a stop: a reminder stays",
        "engine/asking.py",
        "for entry in others if not is_watch(entry)]",
        "for entry in others]",
        f"{STOPS}a_stop_ends_no_reminder",
    ),
    rule(
        "a branch that is told to end asks nothing any more",
        "soul/wishes.py",
        "        ends = journal.of(thread, Cancel, ThreadEnded)\n",
        "        ends = journal.of(thread, Cancel)[:0]\n",
        f"{STOPS}a_stop_while_it_thinks_leaves_no_question_of_a_branch",
    ),
    rule(
        "a branch that has ended needs no answer any more",
        "soul/questions.py",
        "        until=wishes.wisher(turn),\n",
        "        until=(),\n",
        f"{STOPS}where_a_branch_ends_nobody_is_asked_for_it_any_more",
    ),
    rule(
        "a turn that does not say where its thread is leaves it there",
        "soul/past.py",
        "        if isinstance(event, TurnEnded) and event.process is not None:\n",
        "        if isinstance(event, TurnEnded):\n",
        f"{STOPS}what_is_asked_beside_it_ends_no_thought",
    ),
    rule(
        "who goes on beside a thought leaves it there",
        "soul/ending.py",
        "    return _thinks_meanwhile(turn)\n",
        "    return False\n",
        f"{STOPS}a_run_that_goes_on_beside_it_ends_no_thought",
    ),
)
