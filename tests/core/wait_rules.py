"""Rules of the engine about waits, each taken out: then a test fails that shows what it is for."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

WAITS = "tests/engine/test_waits.py::test_"
FAILING = "tests/engine/test_waits_failing.py::test_"

WAITING: tuple[Mutant, ...] = (
    rule(
        "waits: a match counts what came after what was received",
        "engine/asking.py",
        "after = self.execution.seen",
        "after = self.execution.journal.last()",
        f"{WAITS}it_counts_what_came_after_what_was_received_and_not_after_the_wait",
    ),
    rule(
        "waits: what a wait was given is not seen twice",
        "engine/execution.py",
        "        return given.event.upto\n",
        "        return 0\n",
        f"{WAITS}two_waits_in_a_row_miss_nothing_and_see_nothing_twice",
    ),
    rule(
        "waits: they last as long as they were to",
        "engine/waits.py",
        "known.due = right + (known.due - known.at)",
        "pass",
        f"{WAITS}a_wait_lasts_as_long_as_it_was_to_though_the_clock_was_ahead",
    ),
    rule(
        "waits: a look costs no more than what is new",
        "engine/waits.py",
        "if self._read_upto is None:",
        "if True:",
        f"{WAITS}a_thousand_that_wait_cost_a_sweep_nothing",
    ),
    rule(
        "waits: the program says what a watch becomes",
        "engine/waits.py",
        "event = self._reminder(waiting, woke)",
        "event = woke",
        f"{WAITS}a_watch_becomes_what_the_program_makes_of_it",
    ),
    rule(
        "waits: that it was set right holds in another life, too",
        "engine/waits.py",
        "                if entry.seq in right:",
        "                if False:",
        f"{WAITS}that_it_was_set_right_holds_in_another_life_too",
    ),
    rule(
        "waits: what was set while the clock was ahead is looked at when that is set back",
        "engine/waits.py",
        "if now < self._now:",
        "if False:",
        f"{WAITS}a_wait_lasts_as_long_as_it_was_to_though_the_clock_was_ahead",
    ),
    rule(
        "waits: what came before a life began is not missed",
        "engine/waits.py",
        "            self._touched.add(seq)\n        self._look_when_due",
        "            pass\n        self._look_when_due",
        f"{WAITS}the_first_look_of_a_life_holds_up_nobody_and_misses_nothing",
    ),
    rule(
        "waits: a look at those alone that what came can have ended",
        "engine/waits.py",
        "return [(kind, match.thread, match.tree) for kind in match.kinds]",
        'return [(kind, "", True) for kind in match.kinds]',
        f"{WAITS}a_thousand_that_wait_cost_a_sweep_nothing",
    ),
    rule(
        "waits: the first look of a life holds up nobody",
        "engine/waits.py",
        "            await asyncio.sleep(0)\n        return upto",
        "        return upto",
        f"{WAITS}the_first_look_of_a_life_holds_up_nobody_and_misses_nothing",
    ),
    rule(
        "waits: one that cannot be ended is tried again",
        "engine/waits.py",
        "                    heapq.heappush(self._dues, (now + AGAIN, seq))\n",
        "",
        f"{FAILING}one_that_cannot_be_ended_is_tried_again_and_no_other_waits_for_it",
    ),
    rule(
        "waits: a program that cannot say what fits holds up nobody",
        "engine/waits.py",
        "        except EngineError:\n",
        "        except Exception:\n",
        f"{FAILING}a_program_that_cannot_say_what_fits_holds_up_no_other_and_not_its_time",
    ),
    rule(
        "waits: what fits is asked again where the program could not say it",
        "engine/waits.py",
        "            heapq.heappush(self._dues, (self._clock.now() + AGAIN, seq))\n",
        "",
        f"{FAILING}a_program_that_cannot_say_what_fits_holds_up_no_other_and_not_its_time",
    ),
)
