"""The rules of the core, and how each is taken out. mutants.py shows what then goes wrong."""

from __future__ import annotations

from tests.core.mutant import Mutant


def _life(rule: str, file: str, old: str, new: str, shown_by: str) -> Mutant:
    return Mutant(rule=rule, file=f"daemon/{file}", old=old, new=new, shown_by=shown_by)


MUTANTS = (
    _life(
        "speech is looked for in Slack before it is repeated",
        "life/speech.py",
        "        if keyed := next(",
        "        own = []\n        if keyed := next(",
        "dm",
    ),
    _life(
        "an attempt that did not write the intent never streams",
        "life/speech.py",
        "if intent.seq < self._scope.epoch:",
        "if False:",
        "dm",
    ),
    _life(
        "a message that was begun, of which nothing came, gets the owner's sentence",
        "life/speech.py",
        "if not text and ts is None:",
        "if not text:",
        "fickle",
    ),
    _life(
        "a replay never trips over the purse",
        "life/scope.py",
        "if found := self.read(key):\n            if found",
        "if (found := self.read(key)) and self.world.budget.reserved(1).__enter__():\n            if found",
        "last-money",
    ),
    _life(
        "drift is said",
        "life/scope.py",
        'if found.body["saw"] != saw:',
        "if False:",
        "tests/core/test_core.py::test_a_replay_that_would_ask_otherwise_says_so",
    ),
    _life(
        "an effect of unknown outcome is not repeated, unless it is repeatable",
        "life/scope.py",
        "if intent.seq < self.epoch and not repeatable:",
        "if False:",
        "effect",
    ),
    _life(
        "what a turn took is fixed for ever",
        "life/turn.py",
        'journal.many(began.body["took"])',
        'journal.open("perception", thread=began.thread)',
        "burst",
    ),
    _life(
        "a body reads the past as of its first begin",
        "life/turn.py",
        "past(journal, began.thread, began.seq)",
        "past(journal, began.thread, journal.last() + 1)",
        "dm",
    ),
    _life(
        "a body reads the owner's texts as of its first begin",
        "life/turn.py",
        'return str(self._texts.read(self.began.body["texts"][name]).body["text"])',
        "return self._texts._good[name]",
        "edited",
    ),
    _life(
        "recall is in the order in which turns kept",
        "life/past.py",
        '[seq for e in keeping for seq in e.body["keep"]]',
        'sorted(seq for e in keeping for seq in e.body["keep"])',
        "burst",
    ),
    _life(
        "what was heard stands before what is answered",
        "life/turn.py",
        "[*before.heard, *self.answers]",
        "[*self.answers]",
        "heard",
    ),
    _life("what was heard is taken once", "life/past.py", "since=since or 0", "since=0", "heard"),
    _life(
        "messages are taken together",
        "life/begin.py",
        'waiting = world.journal.open("perception", thread=thread)',
        'waiting = world.journal.open("perception", thread=thread)[:1]',
        "burst",
    ),
    _life(
        "messages are answered in Slack's order",
        "life/turn.py",
        "return sorted(messages, key=",
        "return sorted(messages, key=lambda _: 0) or sorted(messages, key=",
        "burst",
    ),
    _life(
        "appends are fenced by the attempt",
        "journal/writer.py",
        "if held != epoch:",
        "if False:",
        "dm/meetings",
    ),
    _life(
        "the lease is looked at before each effect",
        "life/scope.py",
        "if not self.world.journal.held(self.thread, self.epoch):",
        "if False:",
        "dm/pauses",
    ),
    _life(
        "a fenced daemon does not sweep what it lost",
        "life/waker.py",
        "self._lost.add(thread)",
        "pass",
        "dm/meetings",
    ),
    _life(
        "a fresh body's path is taken when its perceptions are seen open",
        "life/begin.py",
        "    thread = first.thread\n",
        '    thread = first.thread\n    path = _path(world, f"{thread}@{first.seq}")\n',
        "dm/pauses",
    ),
    _life(
        "what may happen once across threads has a natural key",
        "processes/conversation.py",
        'f"greeted:{person}"',
        'f"greeted:{person}:{turn.thread}"',
        "two-threads",
    ),
    _life(
        "a body is tried five times",
        "life/ending.py",
        "attempts(turn.world, turn.path) > max_attempts or",
        "False or",
        "deadly",
    ),
    _life(
        "three failures at one key are enough",
        "life/ending.py",
        "default=0) >= SAME_PLACE",
        "default=0) >= 1000",
        "poison",
    ),
    _life(
        "a failing body's own messages are told from the one that says so",
        "life/ending.py",
        '.strip(), "failed")',
        ".strip())",
        "poison",
    ),
    _life(
        "after a change of code a half body is not replayed",
        "life/live.py",
        'if turn.began.body["code"] != self._soul.code:',
        "if False:",
        "new-code",
    ),
    _life(
        "what a body began to say is settled before it is let go",
        "life/ending.py",
        "    for speech in _begun(turn):\n        await speech.settle()\n",
        "",
        "new-code",
    ),
    _life(
        "a fresh body hears what the old one had done",
        "life/turn.py",
        "keep = [*self._heard, log.seq]",
        "keep = [*self._heard]",
        "new-code",
    ),
    _life(
        "a watch becomes exactly one perception",
        "life/begin.py",
        'key=f"{watch.key}/woke"',
        'key=f"{watch.key}/woke@{__import__("os").getpid()}"',
        "outage/pauses",
    ),
    _life(
        "a new message takes up what is postponed",
        "life/begin.py",
        'if "carries" in w.body]',
        "if False]",
        "long-outage",
    ),
    _life("people are told of an outage once", "life/ending.py", "if tries == 0:", "if True:", "long-outage"),
    _life(
        "a half sentence is closed before the outage is told",
        "mind/pipeline.py",
        'await speech.close(partial + " …")',
        "pass",
        "outage",
    ),
)
