"""Core scenarios: outside events and texts that people may read at the end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tests.core.changed_code_scenarios import NEW_CODE
from tests.core.file_world import NO_FORM, NO_MARKDOWN, NO_REWRITING, PAGE, FileEarlier, as_edited, hearing
from tests.core.inner_life import ALONE, PLAN, begins, fails, goes_on
from tests.core.inner_life_checks import check_inner_life
from tests.core.ism_processes import check_ism_run, choosing, running
from tests.core.open_thought_scripts import at_random, branching, clearing, collecting, thinking_on
from tests.core.reading_processes import reading, reads
from tests.core.scenario import CoreScenario, below, dm, top
from tests.core.tool_processes import (
    APPROVED,
    SIZE_GIVEN,
    UNKNOWN,
    buying,
    check_shop,
    check_shop_that_asks,
    shopping,
    shopping_anew,
    shopping_by_size,
)
from tests.core.unusual_processes import (
    BRIEF,
    FIRST,
    LONG,
    SECOND,
    acting,
    acting_anew,
    away,
    brief,
    check_ended_as_failed,
    check_given_up,
    check_single_effect,
    deadly,
    deciding,
    departing,
    dying,
    endless,
    fickle,
    going,
    long_outage,
    looking,
    outage,
    planning,
    poisonous,
    refusing,
    refusing_once,
    replanning,
    rewritten,
    shorter,
    speaking_beside,
    stammering,
    stubborn,
    ticking_off,
)
from tests.core.waiting_scenarios import CUT, FAILED, SLOW, UNREACHABLE, WAITING, pressed

UNSAYABLE = (
    "Something that I wanted to say here is missing: Slack wouldn't take it, in any form that I tried."
    " Whoever runs me has been told."
)
LOST = "Forgive me, the words wouldn't come. Would you say that again, perhaps a little differently?"


ALSO = "You said: work it out, also tea"


def pages(text: str) -> list[str]:
    return [text[start : start + PAGE] for start in range(0, len(text), PAGE)]


SCENARIOS: Mapping[str, CoreScenario] = {
    "dm": CoreScenario(
        inputs=[dm(1, "hi tea"), dm(2, "and jazz", phase=1)],
        endings=[["You said: hi tea", "You said: and jazz"]],
    ),
    "said-beside": CoreScenario(
        inputs=[dm(1, "hi")],
        endings=[[*pages(FIRST), *pages(SECOND)]],
        processes=speaking_beside,
        kill_intervals=(13,),
    ),
    "refused": CoreScenario(
        inputs=[dm(1, NO_MARKDOWN), dm(2, "and jazz", phase=1)],
        endings=[[f"You said: {NO_MARKDOWN}", "You said: and jazz"]],
    ),
    "refused-as-a-rewriting": CoreScenario(
        inputs=[dm(1, NO_REWRITING), dm(2, "and jazz", phase=1)],
        endings=[[f"You said: {NO_REWRITING}", "You said: and jazz"]],
    ),
    "refused-in-any-form": CoreScenario(
        inputs=[dm(1, NO_FORM), dm(2, "and jazz", phase=1)],
        endings=[[UNSAYABLE, "You said: and jazz"]],
    ),
    "burst": CoreScenario(
        inputs=[dm(1, "one"), dm(3, "three", during=1), dm(2, "two", during=1), dm(4, "four", phase=1)],
        endings=[["You said: one", "You said: two, three", "You said: four"]],
    ),
    "dm-goes-on": CoreScenario(
        inputs=[
            top(1, "one"),
            top(2, "two", phase=1),
            below(1, 3, "three", phase=2),
            top(4, "four", phase=3),
            top(5, "five", phase=3),
        ],
        endings=[
            [
                "Heard: one",
                "Heard: one, two",
                "Heard: one, two, three",
                "Heard: one, two, three, five, four",
                "Heard: one, two, three, four, five",
            ]
        ],
        script=hearing,
        sees_all=True,
        pausable=False,
        kill_intervals=(17, 23),
    ),
    "heard": CoreScenario(
        inputs=[
            dm(1, "context", heard=True, thread="c"),
            dm(2, "so?", thread="c"),
            dm(3, "aside", heard=True, thread="c", during=1),
            dm(4, "and now?", thread="c", phase=1),
        ],
        endings=[["You said: context, so?", "You said: aside, and now?"]],
    ),
    "called-in": CoreScenario(
        inputs=[dm(1, "so?"), dm(2, "and now?", phase=1)],
        endings=[["You said: before 1, before 2, so?", "You said: and now?"]],
        surroundings=FileEarlier,
    ),
    "called-in-unheard": CoreScenario(
        inputs=[dm(1, "so?"), dm(2, "and now?", phase=1), dm(3, "well?", phase=2)],
        endings=[
            ["You said: so?", "You said: before 1, before 2, and now?", "You said: well?"],
            [
                "You said: before 1, before 2, so?",
                "You said: and now?",
                "You said: well?",
            ],  # asked again after a kill
        ],
        surroundings=refusing_once,
    ),
    "called-in-new-code": CoreScenario(
        inputs=[dm(1, "so?")],
        endings=[
            ["You said: before 1, before 2, so?"],
            ["You said: after a break: before 1, before 2, so?"],
            [CUT, "You said: after a break: before 1, before 2, so?"],
            ["You said: before 1, before 2, so?", "You said: after a break: before 1, before 2, so?"],
        ],
        processes=rewritten,
        surroundings=FileEarlier,
        restarts=True,
    ),
    "long": CoreScenario(
        inputs=[dm(1, LONG), dm(2, "and jazz", phase=1)],
        endings=[[*pages(f"You said: {LONG}"), "You said: and jazz"]],
    ),
    "shorter": CoreScenario(
        inputs=[dm(1, "tell me")],
        endings=[pages(LONG), [BRIEF]],
        script=shorter,
    ),
    "slow": CoreScenario(
        inputs=[dm(1, "tell me")],
        endings=[[BRIEF], *([BRIEF[:cut], BRIEF[cut:]] for cut in range(1, len(BRIEF)))],
        script=brief,
        pace=150.0,
    ),
    "slow-model": CoreScenario(
        inputs=[dm(1, "hello")],
        endings=[[*told, "You said: hello"] for told in ([], [SLOW])],
        thinks_for=70.0,
    ),
    "two-threads": CoreScenario(
        inputs=[dm(1, "here", thread="a"), dm(2, "there", thread="b", during=1)],
        endings=[["You said: here", "You said: there"]],
        pausable=False,
        kill_intervals=(17, 19, 23),
    ),
    "edited": CoreScenario(
        inputs=[dm(1, "hi")],
        endings=[["You said: hi"], ["You said: after a break: hi"]],
        changes=True,
        restarts=True,
    ),
    "edited-amid": CoreScenario(
        inputs=[
            dm(1, "mlik"),
            dm(2, "milk", edits="1.000100", during=1),
            dm(3, "cream", edits="1.000100", during=2),
            dm(4, "and?", phase=1),
        ],
        endings=[["Read: cream", "Read: cream, and?"]],
        script=as_edited,
        sees_all=True,
    ),
    "outage": CoreScenario(
        inputs=[dm(1, "hello")],
        endings=[
            ["I was abou …", UNREACHABLE, "You said: hello"],
            ["I was abou …", "You said: hello"],
            [UNREACHABLE, "You said: hello"],
            ["You said: hello"],
        ],
        last_phase=1,
        script=outage,
    ),
    "long-outage": CoreScenario(
        inputs=[dm(1, "a"), dm(2, "b", phase=1), dm(3, "c", phase=2), dm(4, "d", phase=3)],
        endings=[
            [UNREACHABLE, "You said: a, b, c, d"],
            [UNREACHABLE, "You said: a, b, c", "You said: d"],
            [UNREACHABLE, "You said: a, b", "You said: c", "You said: d"],
            ["You said: a", "You said: b", "You said: c", "You said: d"],
        ],
        script=long_outage,
    ),
    "outage-new-code": CoreScenario(
        inputs=[dm(1, "hello")],
        endings=[
            [*told, f"You said: {note}hello"]
            for told in ([], [UNREACHABLE])
            for note in ("", "after a break: ")
        ],
        last_phase=1,
        processes=rewritten,
        script=away,
        restarts=True,
    ),
    "killed-late": CoreScenario(
        inputs=[dm(1, "hi")],
        endings=[["You said: hi"]],
        processes=dying,
        pausable=False,
    ),
    "killed-half-said": CoreScenario(
        inputs=[dm(1, "hi")],
        endings=[[CUT, FAILED], [FAILED]],  # perhaps nothing was posted yet
        processes=stammering,
        pausable=False,
        check=check_ended_as_failed,
    ),
    "thinks-on": CoreScenario(
        inputs=[dm(1, "one"), dm(2, "two", during=3)],
        endings=[["You said: one, two"], ["You said: one", "Also: two"]],
        script=thinking_on,
        sees_all=True,
    ),
    "branches": CoreScenario(
        inputs=[dm(1, "both"), dm(2, "enough", phase=1)],
        endings=[["A alone."]],
        script=branching,
        sees_all=True,
        pausable=False,
    ),
    "reads": CoreScenario(
        inputs=[dm(1, "how many?")],
        endings=[["12 in all, the last are plums"]],
        script=reading,
        processes=reads,
        sees_all=True,
    ),
    "cleared": CoreScenario(
        inputs=[dm(1, "how many?")],
        endings=[["Three steps."]],
        script=clearing,
        sees_all=True,
        pausable=False,
    ),
    "branches-stopped": CoreScenario(
        inputs=[dm(1, "both"), dm(2, "stop", phase=1, stops=True)],
        endings=[["Stopped."]],
        script=branching,
        sees_all=True,
        pausable=False,
    ),
    "fan-out": CoreScenario(
        inputs=[dm(1, "how many")],
        endings=[["Three apples."]],
        script=collecting,
        sees_all=True,
        pausable=False,
    ),
    **{
        f"at-random-{seed}": CoreScenario(
            inputs=[dm(1, "go"), dm(2, "and on", phase=1)],
            endings=[],
            script=at_random(seed),
            sees_all=True,
            pausable=False,
            kill_intervals=(47, 61),
        )
        for seed in range(1, 5)
    },
    "last-money": CoreScenario(inputs=[dm(1, "hi")], endings=[["You said: hi"]], price=1.0),
    "next-process": CoreScenario(
        inputs=[dm(1, "hi"), dm(2, "bye", phase=1)],
        endings=[["One more thing.", "Goodbye."]],
        processes=deciding,
        script=going,
    ),
    "endless": CoreScenario(inputs=[dm(1, "hi")], endings=[[FAILED]], processes=endless),
    "refusal": CoreScenario(inputs=[dm(1, "hm")], endings=[["Here, untagged."]], script=refusing),
    "fickle": CoreScenario(
        inputs=[dm(1, "hm", address="follow-up")], endings=[["A first thought."], [LOST], []], script=fickle
    ),
    "effect": CoreScenario(
        inputs=[dm(1, "delete it")],
        endings=[["Result: deleted"], ["Result: outcome unknown"]],
        processes=acting,
        check=check_single_effect,
    ),
    "effect-new-code": CoreScenario(
        inputs=[dm(1, "delete it")],
        endings=[
            ["Result: deleted"],
            ["Result: I do not know"],
            ["Result: deleted …", "Result: I do not know"],
            ["Result: deleted", "Result: I do not know"],  # said before the restart
        ],
        processes=acting_anew,
        restarts=True,
        check=check_single_effect,
    ),
    "card": CoreScenario(
        inputs=[dm(1, "plan it"), dm(2, "go on", phase=1)],
        endings=[["[3/3: all is told]", "Begun.", "Done."]],
        processes=planning,
    ),
    "card-new-code": CoreScenario(
        inputs=[dm(1, "plan it")],
        endings=[
            ["[2/3: all is told]", "Done."],
            ["[2/3: nothing is left]", "Done."],
            ["[2/3: nothing is left]", "I do not know"],
            ["[2/3: nothing is left]", "Done. …", "I do not know"],
            ["[2/3: nothing is left]", "Done.", "I do not know"],
        ],
        split_brain_endings=[  # older code may take over
            ["[2/3: all is told]", "I do not know"],
            ["[2/3: all is told]", "Done.", "I do not know"],
            ["[2/3: all is told]", "Done. …", "I do not know"],
        ],
        processes=replanning,
        restarts=True,
    ),
    "card-killed-late": CoreScenario(
        inputs=[dm(1, "plan it")],
        endings=[["Done."]],
        processes=ticking_off,
        pausable=False,
    ),
    "card-anew": CoreScenario(
        inputs=[dm(1, "plan it"), dm(2, "go on", phase=1)],
        endings=[["[3/3: 1]", "[3/3: 2]"]],
        processes=departing,
    ),
    "repeatable": CoreScenario(inputs=[dm(1, "look")], endings=[["Result: seen"]], processes=looking),
    "run": CoreScenario(
        inputs=[dm(1, "work it out"), dm(2, "also tea", during=2)],
        endings=[["You said: work it out, also tea"], ["You said: work it out", ALSO]],
        script=choosing,
        processes=running,
        sees_all=True,
        check=check_ism_run,
    ),
    "tool": CoreScenario(
        inputs=[dm(1, "order cups"), pressed(2, "approve", phase=1)],
        endings=[[APPROVED, "You said: order cups"], [APPROVED, UNKNOWN, "You said: order cups"]],
        script=buying,
        processes=shopping,
        sees_all=True,
        check=check_shop,
    ),
    "tool-asks": CoreScenario(
        inputs=[
            dm(1, "order cups"),
            pressed(2, "approve", phase=1),
            pressed(3, "choice-1", phase=2, answers="input", user="U1"),
        ],
        endings=[
            [APPROVED, *pages(SIZE_GIVEN), "You said: order cups"],
            [APPROVED, UNKNOWN, "You said: order cups"],
            [APPROVED, *pages(SIZE_GIVEN), UNKNOWN, "You said: order cups"],
        ],
        script=buying,
        processes=shopping_by_size,
        sees_all=True,
        check=check_shop_that_asks,
    ),
    "tool-new-code": CoreScenario(
        inputs=[dm(1, "order cups"), pressed(2, "approve", phase=1)],
        endings=[],
        script=buying,
        processes=shopping_anew,
        sees_all=True,
        restarts=True,
        check=check_single_effect,
    ),
    "stubborn": CoreScenario(
        inputs=[dm(1, "try")], endings=[[FAILED]], processes=stubborn, check=check_given_up
    ),
    "poison": CoreScenario(
        inputs=[dm(1, "bad"), dm(2, "worse", phase=1)],
        endings=[[FAILED, FAILED]],
        processes=poisonous,
        check=check_given_up,
    ),
    "deadly": CoreScenario(inputs=[dm(1, "bad")], endings=[[FAILED]], processes=deadly, pausable=False),
    "inner-life": CoreScenario(
        inputs=[dm(1, "hi tea", phase=2)],
        endings=[["You said: hi tea", "I thought of you."]],
        plan=PLAN,
        sees_all=True,
        last_phase=3,
        pausable=False,
        kill_intervals=(47, 61),
        check=partial(check_inner_life, steps=len(PLAN)),
    ),
    "inner-life-new-code": CoreScenario(
        inputs=[dm(1, "by the way", heard=True, thread="c")],
        endings=[[]],
        plan=(begins, goes_on),
        last_phase=1,
        sees_all=True,
        restarts=True,
        kill_intervals=(47, 61),
        check=partial(check_inner_life, steps=2),
    ),
    "inner-life-alone": CoreScenario(
        inputs=[dm(1, "by the way", phase=2, heard=True, thread="c")],
        endings=[[]],
        plan=ALONE,
        sees_all=True,
        last_phase=3,
        kill_intervals=(47, 61),
        check=partial(check_inner_life, steps=len(ALONE)),
    ),
    "inner-life-fails": CoreScenario(
        inputs=[dm(1, "by the way", heard=True, thread="c")],
        endings=[[]],
        plan=(begins, fails),
        last_phase=1,
        sees_all=True,
        kill_intervals=(47, 61),
        check=partial(check_inner_life, steps=1),
    ),
    **NEW_CODE,
    **WAITING,
}
