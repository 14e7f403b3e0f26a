"""The rules of looking up, asking and waiting, and how each is taken out. rules.py collects them."""

from __future__ import annotations

from tests.core.asking_rules import ASKING
from tests.core.mutant import Mutant, rule

LOOKING: tuple[Mutant, ...] = (
    *ASKING,
    rule(
        "what was seen is recorded before anyone judges it",
        "engine/asking.py",
        "            await self.execution.append(Received(inputs=seqs), key)\n            self.exec",
        "            self.exec",
        "looked/kills",
    ),
    rule(
        "what is not absorbed stays open",
        "engine/execution.py",
        "self.journal.still_pending(seqs_of(self.inputs))]",
        "self.journal.still_pending([entry.seq for entry in self.journal.inputs(self.thread)])]",
        "burst",
    ),
    rule(
        "a stop ends the call in flight",
        "soul/soul_program.py",
        "        if _is_stop(entry):\n            return True\n        if isinstance(entry",
        "        if isinstance(entry",
        "stopped-short/kills",
    ),
    rule(
        "an answer goes to the body that asked",
        "soul/soul_program.py",
        "                answers=taken.resumes.key,\n",
        "",
        "asked/kills",
    ),
    rule(
        "a body sees what it saw at first, in whichever turn it goes on",
        "engine/execution.py",
        "self.first = self._beginning()",
        "self.first = began",
        "approved/kills",
    ),
    rule(
        "a time ends a wait in the middle of a body",
        "engine/asking.py",
        "        if answer is None and deadline is not None:\n",
        "        if answer and deadline is not None:\n",
        "waited/kills",
    ),
    rule(
        "a body that is let go asks nobody any more",
        "engine/execution.py",
        "isinstance(entry.event, Asked | Waiting | Outage)]",
        "isinstance(entry.event, Waiting | Outage)]",
        "asked-new-code/kills",
    ),
    rule(
        "what a body that waits said aloud is kept at once",
        "soul/ending.py",
        'outcome="suspended", keep=_new(turn, memory))',
        'outcome="suspended")',
        "waited/kills",
    ),
    rule(
        "what an earlier turn of a body absorbed is paid once",
        "engine/execution.py",
        "*self.journal.still_pending(seqs_of(self.inputs))]",
        "*seqs_of(self.inputs)]",
        "looked/kills",
    ),
    rule(
        "an afterthought yields to whoever speaks",
        "soul/soul_program.py",
        "        return entry.event.rank in (Rank.MESSAGE, Rank.ANSWER)\n",
        "        return False\n",
        "afterthought/kills",
    ),
    rule(
        "a message drops the afterthoughts that wait",
        "soul/taking.py",
        "inputs=[*messages, *_ranked(waiting, Rank.AFTER)]",
        "inputs=messages",
        "tests/soul/test_taking.py::test_a_message_drops_the_afterthoughts_that_wait",
    ),
    rule(
        "a body does not look at what it answers itself",
        "engine/execution.py",
        "[entry for entry in self.journal.inputs(self.thread) if entry.seq not in mine]",
        "self.journal.inputs(self.thread)",
        "looked/kills",
    ),
    rule(
        "what came meanwhile is seen in Slack's order",
        "soul/turn.py",
        "in_order(await self.ctx.receive(self._may_take))",
        "only(Said, await self.ctx.receive(self._may_take))",
        "woken-beside/kills",
    ),
    rule(
        "a body that waits leaves its thread to whatever it was about",
        "soul/ending.py",
        'TurnEnded(outcome="suspended", keep=',
        "TurnEnded(outcome='suspended', process=[turn.process, *[e.event.to for e in "
        "turn.execution.entries(TransitionTaken)]][-1], keep=",
        "handed-on/kills",
    ),
    rule(
        "a body that failed waits for nothing any more",
        "engine/execution.py",
        'if event.outcome in ("failed", "stopped", "abandoned"):',
        "if False:",
        "doomed/kills",
    ),
    rule(
        "what stood in the way of a call is recorded",
        "soul/turn.py",
        "        return found.event\n\n    def _limited",
        "        return self._limited(limits)\n\n    def _limited",
        "bounded/kills",
    ),
    rule(
        "while a body replays nothing new stands in its way",
        "engine/durable_steps.py",
        "if found or self.execution.record.replaying:",
        "if found:",
        "bounded/kills",
    ),
    rule(
        "of an outage in its middle a body tells once",
        "engine/outage.py",
        "went_down(self._execution.thread, first)",
        "went_down(self._execution.thread, wait.entry)",
        "tests/engine/test_outage.py::test_a_wait_after_the_first_one_is_not_told_in_another_life",
    ),
)
