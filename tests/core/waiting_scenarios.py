"""Scenarios of executions that look up, ask and wait."""

from __future__ import annotations

from collections.abc import Mapping

from tests.core.asking_processes import (
    MAY_I,
    asking,
    careful,
    deliberate,
    failing_background_task,
    interruptible_thinking,
    learned,
    remembering,
    remembering_anew,
    thinking,
    waiting,
)
from tests.core.branch_processes import STRANGER, check_relayed_once, sending, sent, thinking_of_it
from tests.core.file_world import PAGE, CoreInput
from tests.core.outage_processes import (
    always_away,
    asking_then_receiving,
    bounded,
    half_asked,
    handing_on,
    killing_after_the_answer,
    killing_after_the_question,
    often_away,
    once_away,
    thinking_in_outages,
    withdrawing,
)
from tests.core.scenario import CoreScenario, below, dm, top
from tests.core.unusual_processes import LONG, breaking, check_single_effect

UNREACHABLE = "I can't gather my thoughts right now"
SLOW = "This takes me longer than usual"
FAILED = "Something in me went wrong"
CUT = "You said…"
"""Answer cut by an ellipsis."""
*PAGES, LAST = [MAY_I[start : start + PAGE] for start in range(0, len(MAY_I), PAGE)]
YES = "May I?\n[Alice chose “Yes”]"
MAY_IT = "<@U9>, may I do this? *Remember*\n[Alice chose “Approve”]"


def pressed(
    ts: int, label: str, phase: int, answers: str = "approval", user: str = "U9", **more: str
) -> CoreInput:
    """Return a press; U9 is an owner."""
    return dm(ts, label, phase=phase, answers=answers, user=user, **more)


def stop(ts: int, **more: int) -> CoreInput:
    return dm(ts, "stop", stops=True, **more)


def relayed(ts: int, label: str, phase: int, user: str = "U9") -> CoreInput:
    """Return a press for a branch, in the root's conversation."""
    return pressed(ts, label, phase, "wished", user, root="1.000100")


WAITING: Mapping[str, CoreScenario] = {
    "looked": CoreScenario(
        inputs=[
            dm(1, "long"),
            dm(2, "also", during=1),
            dm(3, "the weather?", during=3),
            dm(4, "go on", phase=1),
        ],
        endings=[
            ["One moment.", "You said: the weather?", "Thought of also, go on, long, weather"],
            ["Thought of also, long", "You said: the weather?", "Hm."],
        ],
        script=thinking,
        processes=interruptible_thinking,
    ),
    "looked-alone": CoreScenario(
        inputs=[dm(1, "long"), dm(2, "the weather?", during=1)],
        endings=[
            ["One moment.", "You said: the weather?", "Thought of long, weather"],
        ],
        split_brain_endings=[["Thought of long", "You said: the weather?"]],
        last_phase=2,
        script=thinking,
        processes=interruptible_thinking,
    ),
    "looked-late": CoreScenario(
        inputs=[dm(1, "long"), dm(2, "the weather?", during=1), dm(3, "go on", phase=2)],
        endings=[
            ["One moment.", "You said: the weather?", "Thought of go on, long, weather"],
            ["Thought of long", "You said: the weather?", "Hm."],
        ],
        script=thinking,
        processes=interruptible_thinking,
    ),
    "halted": CoreScenario(
        inputs=[dm(1, "long"), stop(2, during=2), dm(3, "and jazz", phase=1)],
        endings=[["Stopped.", "You said: and jazz"]],
        split_brain_endings=[["Thought of long", "You said: stop", "You said: and jazz"]],
        script=thinking,
        processes=interruptible_thinking,
    ),
    "stopped-short": CoreScenario(
        inputs=[dm(1, "hi"), stop(2, during=1)],
        endings=[["I was about …"], ["Stopped."]],
        split_brain_endings=[["You said: hi", "You said: stop"]],
    ),
    "put-off-and-stopped": CoreScenario(
        inputs=[dm(1, "hi"), dm(2, "and jazz", during=1), stop(3, during=2)],
        endings=[
            [*told, end, *more]
            for told in ([], [UNREACHABLE])
            for end in ("I was about …", "Stopped.")
            for more in ([], ["You said: and jazz"])
        ],
        split_brain_endings=[
            [*told, "You said: hi, and jazz", "You said: stop"] for told in ([], [UNREACHABLE])
        ],
        script=once_away,
    ),
    "half-said-and-stopped": CoreScenario(
        inputs=[dm(1, "hi"), dm(2, "stop", phase=1, stops=True)],
        endings=[[CUT, UNREACHABLE, "Stopped."], [UNREACHABLE, "Stopped."]],
        script=always_away,
        kill_intervals=(17, 23),
    ),
    "stopped-after-a-break": CoreScenario(
        inputs=[dm(1, "tell me"), dm(2, "stop", during=2, stops=True)],
        endings=[
            [LONG[:PAGE], f"{LONG[PAGE:]} …", "Stopped."],
            *([LONG[:PAGE], f"{LONG[PAGE:end]} …", "Stopped."] for end in range(PAGE + 1, len(LONG))),
            *([f"{LONG[:end]} …", "Stopped."] for end in range(1, PAGE + 1)),
            ["I was about …"],
            ["Stopped."],
        ],
        script=breaking,
        pausable=False,
    ),
    "approved": CoreScenario(
        inputs=[
            dm(1, "delete it"),
            dm(2, "keep the logs", phase=1),
            pressed(3, "no", phase=2, user="U1"),
            pressed(4, "yes", phase=3),
            pressed(5, "no", phase=3),
        ],
        endings=[
            [YES, "You said: keep the logs", "Result: deleted (True)"],
            [YES, "You said: keep the logs", "Result: outcome unknown (True)"],
        ],
        script=deliberate,
        processes=careful,
        check=check_single_effect,
    ),
    "approved-at-length": CoreScenario(
        inputs=[dm(1, "delete it at length"), pressed(2, "yes", phase=1)],
        endings=[
            [*PAGES, f"{LAST}\n[Alice chose “Yes”]", "Result: deleted (False)"],
            [*PAGES, f"{LAST}\n[Alice chose “Yes”]", "Result: outcome unknown (False)"],
        ],
        script=deliberate,
        processes=careful,
        check=check_single_effect,
    ),
    "approved-both": CoreScenario(
        inputs=[
            dm(1, "delete it"),
            dm(2, "delete that", phase=1),
            pressed(3, "yes", phase=2, answers="another"),
            pressed(4, "no", phase=3),
        ],
        endings=[
            ["May I?\n[Alice chose “No”]", YES, "Result: deleted (False)", "As you wish."],
            ["May I?\n[Alice chose “No”]", YES, "Result: outcome unknown (False)", "As you wish."],
        ],
        script=deliberate,
        processes=careful,
        check=check_single_effect,
    ),
    "withdrawn": CoreScenario(
        inputs=[
            dm(1, "delete it"),
            stop(2, phase=1),
            pressed(3, "yes", phase=2),
        ],
        endings=[["May I?", "Stopped."]],
        script=deliberate,
        processes=careful,
    ),
    "withdrawn-first": CoreScenario(
        inputs=[
            dm(1, "delete it"),
            dm(2, "keep the logs", phase=1),
            pressed(3, "yes", phase=1),
            stop(4, phase=1),
        ],
        endings=[["May I?", "Stopped."]],
        script=deliberate,
        processes=careful,
    ),
    "asked": CoreScenario(
        inputs=[
            dm(1, "one"),
            dm(6, "an aside", phase=1, user="U2"),
            dm(2, "the second", phase=2),
            dm(3, "four", phase=3),
            dm(5, "said aside", phase=3, heard=True),
            dm(4, "of them", phase=3),
        ],
        endings=[["Which one?", "You said: an aside", "How many?", "So: the second, four"]],
        processes=asking,
    ),
    "answered-at-the-top": CoreScenario(
        inputs=[
            top(1, "one"),
            top(2, "the second", phase=1),
            top(3, "four", phase=2),
            top(4, "aside", phase=3),
        ],
        endings=[["Which one?", "How many?", "So: the second, four", "You said: aside"]],
        processes=asking,
    ),
    "waited": CoreScenario(
        inputs=[dm(1, "hi"), dm(2, "and jazz", during=1)],
        endings=[["You said: hi, and jazz", "Back: nobody"]],
        last_phase=1,
        processes=waiting,
    ),
    "endured": CoreScenario(
        inputs=[dm(1, "hello")],
        endings=[["I have thought about it."], [UNREACHABLE, "I have thought about it."]],
        last_phase=3,
        script=often_away,
        processes=thinking_in_outages,
    ),
    "woken-beside": CoreScenario(
        inputs=[
            dm(1, "delete it"),
            dm(2, "and jazz", phase=1),
            dm(4, "four", phase=2),
            dm(3, "three", phase=2),
            pressed(5, "yes", phase=2),
        ],
        endings=[
            [YES, *told, *said]
            for told in ([], [UNREACHABLE])
            for said in (
                ["You said: and jazz", "Done: three, four"],
                ["You said: and jazz, four, three", "Done: "],  # received while waiting for the model
            )
        ],
        script=once_away,
        processes=asking_then_receiving,
    ),
    "bounded": CoreScenario(
        inputs=[
            dm(1, "think"),
            pressed(2, "continue", phase=1, answers="more"),
            pressed(3, "continue", phase=2, answers="more"),
        ],
        endings=[[*["Shall I go on?\n[Alice chose “Go on”]"] * 2, "Thoughts: 5"]],
        processes=bounded,
    ),
    "bounded-short": CoreScenario(
        inputs=[dm(1, "think"), pressed(2, "stop", phase=1, answers="more")],
        endings=[["Shall I go on?\n[Alice chose “Stop”]", "Thoughts: 2"]],
        processes=bounded,
    ),
    "handed-on": CoreScenario(
        inputs=[
            dm(1, "one"),
            dm(2, "well", phase=1, user="U2"),
            dm(3, "the second", phase=2),
            dm(4, "thanks", phase=3),
        ],
        endings=[
            ["I am on it.", "Which of them?", "You said: well", "So: the second", "You said: thanks"],
        ],
        processes=handing_on,
    ),
    "doomed": CoreScenario(
        inputs=[dm(1, "one")],
        endings=[["Which one?", FAILED]],
        processes=killing_after_the_question,
        pausable=False,
        last_phase=1,
    ),
    "killed-half-asked": CoreScenario(
        inputs=[dm(1, "one")],
        # killed before the receipt, the text keeps its buttons in this Slack
        endings=[["May I?", FAILED], ["May I? [Yes] …", FAILED]],
        processes=half_asked,
        pausable=False,
    ),
    "killed-withdrawing": CoreScenario(
        inputs=[dm(1, "one"), dm(2, "two", phase=1)],
        endings=[["May I?", "Never mind."]],
        processes=withdrawing,
        pausable=False,
    ),
    "killed-when-answered": CoreScenario(
        inputs=[dm(1, "one"), dm(2, "the second", phase=1)],
        endings=[["Which one?", FAILED]],
        processes=killing_after_the_answer,
        pausable=False,
    ),
    "afterthought": CoreScenario(
        inputs=[dm(1, "hi"), dm(2, "and jazz", during=2)],
        endings=[["You said: hi", "You said: and jazz"]],
        script=learned,
        processes=remembering,
    ),
    "afterthought-new-code": CoreScenario(
        inputs=[dm(1, "hi")],
        endings=[
            ["You said: hi"],
            ["You said: after a break: hi"],
            [CUT, "You said: after a break: hi"],
            ["You said: hi", "You said: after a break: hi"],  # said before the restart
        ],
        script=learned,
        processes=remembering_anew,
        restarts=True,
    ),
    "afterthought-poison": CoreScenario(
        inputs=[dm(1, "hi")],
        endings=[["You said: hi"]],
        processes=failing_background_task,
    ),
    "withdrawn-for-a-branch": CoreScenario(
        inputs=[
            top(1, "delete it", user="U9"),
            below(1, 2, "stop", phase=1, user="U9", stops=True),
            relayed(3, "yes", phase=2),
        ],
        endings=[["May I?", "Stopped."]],
        script=deliberate,
        processes=sending,
        check=check_relayed_once,
    ),
    "approved-for-a-branch": CoreScenario(
        inputs=[
            top(1, "delete it", user="U9"),
            below(1, 2, "keep the logs", phase=1, user="U9"),
            relayed(3, "no", phase=2, user=STRANGER),
            relayed(4, "yes", phase=3),
            relayed(5, "no", phase=3),
        ],
        endings=[
            [YES, "You said: keep the logs", "It came to deleted, said U9"],
            [YES, "You said: keep the logs", "It came to outcome unknown, said U9"],
        ],
        script=deliberate,
        processes=sending,
        check=check_relayed_once,
    ),
    "approved-in-the-open": CoreScenario(
        inputs=[top(1, "write it down", user="U9"), relayed(2, "approve", phase=1)],
        endings=[[MAY_IT, "The branch: Written."], [MAY_IT, "The branch: Perhaps."]],
        script=sent,
        processes=thinking_of_it,
        sees_all=True,
        check=check_relayed_once,
    ),
}
