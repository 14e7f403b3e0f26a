"""The stories of bodies that look up, ask and wait. scenarios.py collects them."""

from __future__ import annotations

from collections.abc import Mapping

from tests.core.minds import once_effect
from tests.core.seekers import (
    asking,
    careful,
    deliberate,
    learned,
    remembering,
    thinking,
    waiting,
    wondering,
)
from tests.core.story import Scenario, dm

WAITING: Mapping[str, Scenario] = {
    "looked": Scenario(
        events=[
            dm(1, "long"),
            dm(2, "also", during=1),
            dm(3, "the weather?", during=3),
            dm(4, "go on", phase=1),
        ],
        endings=[
            ["One moment.", "You said: the weather?", "Thought of also, go on, long, weather"],
            ["Thought of also, long", "You said: the weather?", "You said: go on"],
        ],
        script=thinking,
        processes=wondering,
    ),
    "looked-alone": Scenario(
        events=[dm(1, "long"), dm(2, "the weather?", during=1)],
        endings=[
            ["One moment.", "You said: the weather?", "Thought of long, weather"],
        ],
        last_phase=2,
        script=thinking,
        processes=wondering,
    ),
    "halted": Scenario(
        events=[dm(1, "long"), dm(2, "stop", during=2, rank="stop"), dm(3, "and jazz", phase=1)],
        endings=[["Stopped.", "You said: and jazz"]],
        script=thinking,
        processes=wondering,
    ),
    "stopped-short": Scenario(
        events=[dm(1, "hi"), dm(2, "stop", during=1, rank="stop")],
        endings=[["I was about …"], ["Stopped."], ["You said: hi", "You said: stop"]],
    ),
    "approved": Scenario(
        events=[
            dm(1, "delete it"),
            dm(2, "keep the logs", phase=1),
            dm(3, "yes", phase=2, rank="answer", answers="approval"),
            dm(4, "yes", phase=3, rank="answer", answers="approval", user="U9"),
        ],
        endings=[
            ["May I?\n[Alice chose “Yes”]", "You said: keep the logs", "Result: deleted (True)"],
            ["May I?\n[Alice chose “Yes”]", "You said: keep the logs", "Result: outcome unknown (True)"],
        ],
        script=deliberate,
        processes=careful,
        extra=once_effect,
    ),
    "withdrawn": Scenario(
        events=[
            dm(1, "delete it"),
            dm(2, "stop", phase=1, rank="stop"),
            dm(3, "yes", phase=2, rank="answer", answers="approval", user="U9"),
        ],
        endings=[["May I?", "Stopped."]],
        script=deliberate,
        processes=careful,
    ),
    "asked": Scenario(
        events=[
            dm(1, "one"),
            dm(2, "the second", phase=1),
            dm(3, "four", phase=2),
            dm(5, "said aside", phase=2, heard=True),
            dm(4, "of them", phase=2),
        ],
        endings=[["Which one?", "How many?", "So: the second, four"]],
        processes=asking,
    ),
    "waited": Scenario(events=[dm(1, "hi")], endings=[["Back: nobody"]], last_phase=1, processes=waiting),
    "afterthought": Scenario(
        events=[dm(1, "hi"), dm(2, "and jazz", during=2)],
        endings=[["You said: hi", "You said: and jazz"]],
        script=learned,
        processes=remembering,
    ),
    "asked-new-code": Scenario(
        events=[dm(1, "one"), dm(2, "two", phase=1), dm(3, "three", phase=2), dm(4, "four", phase=3)],
        endings=[["Which one?", "Which one?", "How many?", "So: three, four"]],
        processes=asking,
        code=("1", "2"),
    ),
}
