"""The rules of what is recorded without a wait, of looking only when something came, of what is at hand."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

SOON = "tests/engine/test_unawaited.py::test_"
AT_HAND = "tests/engine/test_at_hand.py::test_"
FOLDED = "tests/knowledge/test_projection.py::test_"

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
        "engine/durable_steps.py",
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
        "        if not found:\n            self._none_since = arrived",
        "        self._none_since = arrived",
        f"{SOON}what_arrives_is_heard_and_again_as_long_as_it_waits",
    ),
    rule(
        "looks: what arrives does so though nobody waits for it",
        "engine/writer.py",
        "            if isinstance(result, Written):\n",
        "            if isinstance(result, Written) and not append.done.done():\n",
        f"{SOON}it_is_heard_though_whoever_brought_it_is_gone",
    ),
    rule(
        "looks: what was spent since is counted",
        "soul/budget.py",
        "        if newest == self._newest:\n",
        "        if self._newest is not None:\n",
        "tests/soul/test_budget.py::test_an_owner_lets_the_day_go_on_by_as_much_again",
    ),
    rule(
        "at hand: what was forgotten is not",
        "engine/at_hand.py",
        "            self._written.clear()\n",
        "            pass\n",
        "tests/engine/test_erasing.py::test_the_words_are_gone_and_all_else_stays",
    ),
    rule(
        "at hand: what came before it is asked of the file",
        "engine/at_hand.py",
        "written[0].seq <= since + 1 and",
        "",
        f"{AT_HAND}what_came_before_it_is_asked_of_the_file",
    ),
    rule(
        "at hand: what another daemon wrote is asked of the file",
        "engine/at_hand.py",
        " and written[-1].seq == upto",
        "",
        f"{AT_HAND}what_another_daemon_writes_is_seen",
    ),
    rule(
        "at hand: and what it wrote before the last of ours, too",
        "engine/at_hand.py",
        "if others or written",
        "if written",
        f"{AT_HAND}what_another_daemon_writes_is_seen",
    ),
    rule(
        "at hand: each reader is given events of its own",
        "engine/at_hand.py",
        "found.append(self._read(one))",
        "found.append(self.__dict__.setdefault(one.seq, self._read(one)))",
        f"{AT_HAND}what_a_program_changes_of_it_nobody_else_is_told",
    ),
    rule(
        "at hand: it follows from, and closes, what it does in the file",
        "engine/writer.py",
        "return Written(seq=seq, row=row)",
        "return Written(seq=seq, row=append.row)",
        f"{AT_HAND}whatever_one_asks_for_is_as_it_stands_in_the_file",
    ),
    rule(
        "at hand: what a former life wrote is asked of the file",
        "engine/journal.py",
        "mine = 0 < self._wrote_first <= since + 1 and",
        "mine =",
        f"{FOLDED}what_a_former_life_wrote_is_folded_though_only_something_else_was_written_since",
    ),
    rule(
        "at hand: what another daemon wrote is folded",
        "engine/journal.py",
        " and self._wrote_last >= upto",
        "",
        f"{FOLDED}what_another_daemon_wrote_is_folded_also_where_something_else_came_after_it",
    ),
    rule(
        "at hand: and where something of ours came after it, too",
        "engine/journal.py",
        "if seq != self._wrote_last + 1:",
        "if self._wrote_last == -1:",
        f"{FOLDED}what_another_daemon_wrote_is_folded_also_where_something_else_came_after_it",
    ),
    rule(
        "at hand: what came since is folded",
        "engine/journal.py",
        "return mine and self.newest(*kinds) <= since",
        "return mine",
        f"{FOLDED}what_a_former_life_wrote_is_folded_though_only_something_else_was_written_since",
    ),
)
