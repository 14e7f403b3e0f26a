"""Scenarios of code that changes during an execution."""

from __future__ import annotations

from collections.abc import Mapping

from tests.core.asking_processes import asking_anew, moving
from tests.core.scenario import CoreScenario, dm
from tests.core.unusual_processes import reworded, rewritten
from tests.core.waiting_scenarios import CUT

BEGUN = (
    ["You said: hi"],
    ["You said: hi", "You said: after a break: hi"],
    [CUT, "You said: after a break: hi"],
)
ASKED = (["You said: hi"], ["You said: hi", "Which one?"], ["You said: hi", "Which one? …"])
"""Texts before `process-gone` continues without its process."""
NEW_CODE: Mapping[str, CoreScenario] = {
    "new-code": CoreScenario(
        inputs=[dm(1, "hi")],
        endings=[
            ["You said: hi"],
            ["You said: after a break: hi"],
            [CUT, "You said: after a break: hi"],
            ["You said: hi", "You said: after a break: hi"],  # said before the restart
        ],
        processes=rewritten,
        restarts=True,
        kill_intervals=(13, 17, 19, 20, 23),  # 19 and 20 cut the new text
    ),
    "new-prompt": CoreScenario(
        inputs=[dm(1, "hi")],
        endings=[
            ["You said: hi"],
            ["You said: after a break: hi"],
            [CUT, "You said: after a break: hi"],
            ["You said: hi", "You said: after a break: hi"],
        ],
        processes=reworded,
        restarts=True,
    ),
    "asked-new-code": CoreScenario(
        inputs=[dm(1, "one"), dm(2, "two", phase=1), dm(3, "three", phase=2), dm(4, "four", phase=3)],
        endings=[
            ["Which one?", "How many?", "So: two, three", "Which one?"],
            ["Which one? …", "Which one?", "How many?", "So: two, three", "Which one?"],
        ],
        processes=asking_anew,
        restarts=True,
    ),
    "process-gone": CoreScenario(
        inputs=[dm(1, "hi"), dm(2, "two", during=1), dm(3, "three", phase=1)],
        endings=[
            ["You said: hi", "Which one?", "You said: after a break: two, three"],
            *([*begun, "You said: two", "You said: three"] for begun in BEGUN),
            *([*begun, "You said: after a break: two", "You said: three"] for begun in ASKED),
        ],
        processes=moving,
        restarts=True,
    ),
}
