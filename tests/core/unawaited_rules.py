"""The rules of what is recorded without a wait, and of looking only when something came; each taken out."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

SOON = "tests/engine/test_unawaited.py::test_"

UNAWAITED: tuple[Mutant, ...] = (
    rule(
        "unawaited: whatever is awaited comes after it",
        "engine/execution.py",
        "        await self.saved()\n        entry, new",
        "        entry, new",
        f"{SOON}whatever_is_awaited_comes_after_it_wherever_it_is_killed",
    ),
    rule(
        "unawaited: what the world may see waits for what came before",
        "engine/steps.py",
        "            await self.execution.saved()\n",
        "",
        f"{SOON}what_the_world_may_see_waits_for_what_came_before",
    ),
    rule(
        "unawaited: the intent of what is not repeatable is awaited",
        "actions/binding.py",
        "    if one.repeatable:\n",
        "    if one.repeatable or one.effect:\n",
        "run/kills",
    ),
    rule(
        "unawaited: what could not be written takes with it what follows on it",
        "engine/writer.py",
        "if append.after and self._store.seq_of(append.after) is None:",
        "if False:",
        f"{SOON}what_follows_on_something_that_could_not_be_written_is_not_written_either",
    ),
    rule(
        "unawaited: what could not be written is written before what was paid for",
        "engine/unawaited.py",
        "                        one.seq = None\n",
        "                        one.receipt_of = one.receipt_of\n",
        f"{SOON}what_was_paid_for_meanwhile_is_not_paid_again",
    ),
    rule(
        "unawaited: a call names what it saw",
        "soul/calls.py",
        "        await execution.all_saved()  # the call did not wait, but names what it saw\n",
        "",
        "run",
    ),
    rule(
        "together: what is said first stands in the thread that was opened for it",
        "engine/writer.py",
        "opened = self._store.seq_of(append.opened_by, row.thread)",
        "opened = self._store.seq_of(append.opened_by)",
        "tests/engine/test_journal.py::test_what_is_said_first_comes_to_its_own_thread",
    ),
    rule(
        "together: where nobody opened the thread nothing is said there",
        "engine/writer.py",
        "            if opened is None:\n                return JournalError(",
        "            if False:\n                return JournalError(",
        "tests/engine/test_journal.py::test_what_is_said_first_comes_to_its_own_thread",
    ),
    rule(
        "looks: what arrives is asked for",
        "engine/journal.py",
        "                self._arrived[row.thread] = seq\n",
        "                self._arrived[row.thread] = 0\n",
        "looked/kills",
    ),
    rule(
        "looks: what waits is seen again",
        "engine/execution.py",
        "self._none_since = None if found else arrived",
        "self._none_since = arrived",
        f"{SOON}what_arrives_is_heard_and_again_as_long_as_it_waits",
    ),
    rule(
        "looks: what arrives does so though nobody waits for it",
        "engine/writer.py",
        "            if isinstance(append, Append) and isinstance(result, int):\n",
        "            if isinstance(append, Append) and isinstance(result, int) and not append.done.done():\n",
        f"{SOON}it_is_heard_though_whoever_brought_it_is_gone",
    ),
    rule(
        "looks: what was spent since is counted",
        "soul/budget.py",
        "        if newest == self._newest:\n",
        "        if self._newest is not None:\n",
        "tests/soul/test_budget.py::test_an_owner_lets_the_day_go_on_by_as_much_again",
    ),
)
