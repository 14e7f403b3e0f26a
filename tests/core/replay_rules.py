"""Rules of replay, branches and children, each taken out: then a test fails that shows what it is for."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

AGAIN = "tests/engine/test_kills.py::test_an_execution_that_runs_again_after_each_step_comes_to_the_same"
FAILING = "tests/engine/test_failing.py::test_"
MISSED = "tests/engine/test_missed.py::test_"

REPLAYING: tuple[Mutant, ...] = (
    rule(
        "where all is to be read back, all is",
        "engine/worker.py",
        "self._replays_always = replays_always",
        "self._replays_always = False",
        "tests/engine/test_kills.py::test_where_all_is_read_back_a_program_runs_once_more_after_each_step",
    ),
    rule(
        "replay: a new step passes by no context that is recorded",
        "engine/recorded.py",
        "if passed and not by_content(passed) and context_of(passed) in line:",
        "if False:",
        f"{MISSED}a_context_that_nobody_comes_to_is_missed_by_the_first_new_step_beside_it",
    ),
    rule(
        "replay: all contexts are claimed before any runs",
        "engine/durable_steps.py",
        "        execution.record.claim(path)",
        "        asyncio.get_running_loop().call_later(0, execution.record.claim, path)",
        f"{AGAIN}[branches]",
    ),
    rule(
        "replay: what suspends must have read all that is recorded",
        "engine/turns.py",
        "            execution.record.ends(execution.path)\n",
        "",
        f"{MISSED}what_suspends_must_have_read_all_that_is_recorded",
    ),
    rule(
        "replay: a branch that returns must have read all that is recorded of it",
        "engine/durable_steps.py",
        "        context.returns()\n",
        "",
        f"{MISSED}a_branch_that_returns_early_is_found_out_before_the_trunk_goes_on",
    ),
    rule(
        "replay: parts of a step that was not done are no step",
        "engine/recorded.py",
        "if there in line and not is_part(unread):",
        "if there in line:",
        f"{MISSED}a_step_may_come_before_one_of_which_only_parts_are_written",
    ),
    rule(
        "replay: what was finished before a restart is taken over once",
        "engine/recorded.py",
        "            if fits and entry.key not in self._taken:",
        "            if fits:",
        f"{AGAIN}[what was done is read]",
    ),
    rule(
        "replay: code that swallows that it does not fit cannot go on",
        "engine/durable_steps.py",
        "        if self.execution.latched:\n            raise self.execution.latched\n",
        "",
        f"{FAILING}code_that_swallows_that_it_does_not_fit_begins_again_all_the_same",
    ),
    rule(
        "replay: a wait takes a delay",
        "engine/asking.py",
        "asked = fingerprint(name, event, within)",
        "asked = fingerprint(name, event, within and self.execution.clock.now() + within)",
        f"{AGAIN}[expected]",
    ),
)
BRANCHING: tuple[Mutant, ...] = (
    rule(
        "branches: all are awaited, whatever one of them ends with",
        "engine/durable_steps.py",
        "results = await asyncio.gather(*tasks, return_exceptions=True)",
        "results: list[T | BaseException] = [*await asyncio.gather(*tasks)]",
        f"{FAILING}a_branch_that_suspends_does_not_end_the_turn_before_the_others_are_through",
    ),
    rule(
        "branches: the kind of an error decides, and not which came first",
        "engine/exceptions.py",
        "for kind in (asyncio.CancelledError, Fenced, Nondeterminism, Exception, RunAgain, Suspended):",
        "for kind in (BaseException,):",
        f"{FAILING}of_several_errors_their_kinds_decide_and_not_which_came_first",
    ),
    rule(
        "branches: code that swallows what one ended with cannot go on",
        "engine/durable_steps.py",
        "            raise self._latch(error)",
        "            raise error",
        f"{FAILING}code_that_swallows_what_a_branch_ended_with_does_not_go_on",
    ),
    rule(
        "branches: only the trunk receives",
        "engine/asking.py",
        "if self.path != self.execution.path:",
        "if False:",
        f"{FAILING}a_branch_is_told_nothing_that_comes_meanwhile[_receives]",
    ),
    rule(
        "branches: only the trunk is interruptible",
        "engine/durable_steps.py",
        "if interruptible and self.path != self.execution.path:",
        "if False:",
        f"{FAILING}a_branch_is_told_nothing_that_comes_meanwhile[_is_interrupted]",
    ),
)
CHILDREN: tuple[Mutant, ...] = (
    rule(
        "children: the id of one is read back",
        "engine/context.py",
        "        await self._deliver(first, spawned, spawned.event.thread)\n",
        "        child = spawned.event.thread\n"
        "        child = child if child in self.execution.names else self._free_name(label)\n"
        "        await self._deliver(first, spawned, child)\n",
        f"{AGAIN}[three branches]",
    ),
    rule(
        "children: a join reads only what had ended when it woke",
        "engine/context.py",
        "if not ended or ended[0].seq > before:",
        "if not ended:",
        f"{AGAIN}[three branches]",
    ),
    rule(
        "children: one that ends stops its own",
        "engine/context.py",
        '        await self.cancel(reason=f"{self.execution.thread} has ended")\n',
        "",
        f"{AGAIN}[family]",
    ),
)
REPLAYS: tuple[Mutant, ...] = (*REPLAYING, *BRANCHING, *CHILDREN)
