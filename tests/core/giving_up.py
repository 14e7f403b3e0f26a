"""Who is given up and who only rests, each rule taken out; promises.py collects them."""

from __future__ import annotations

from tests.core.mutant import rule

UNFIT = "tests/stories/test_unfit.py::test_what_nobody_can_read_is_closed_and_nobody_else_waits"

GIVES_UP = (
    rule(
        "what is given up stays so, though the daemon dies before it is told",
        "engine/turns.py",
        "if hopeless or journal.get(_begin_of(execution, FAILED)):",
        "if hopeless:",
        "tests/engine/test_failing.py::test_what_is_given_up_does_not_run_again",
    ),
    rule(
        "unfit: what cannot be loaded is not loaded for ever",
        "engine/turns.py",
        "        if half and tries >= MOST_TRIES:\n",
        "        if half and tries < 0:\n",
        UNFIT,
    ),
    rule(
        "unfit: what its thread has spent is counted without it",
        "engine/reading.py",
        "self._of_all(sorted(rows))",
        "self._entries(sorted(rows))",
        UNFIT,
    ),
    rule(
        "damage: what others do is found without it",
        "engine/reading.py",
        "self._of_all(self._store.kind(names, since, at))",
        "self._entries(self._store.kind(names, since, at))",
        "tests/stories/test_damage.py::test_a_damaged_entry_stops_its_own_thread_and_no_other",
    ),
)
