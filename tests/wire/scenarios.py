"""Wire scenarios; each line has unique text, which identifies its answer."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import ClientSession

from daemon.memory import WorkingMemory
from daemon.process import Turn
from daemon.turn.model_calls import call_model
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from daemon.turn.turn import Process
from rehearsal.claude.prompt import Body
from rehearsal.people import ALICE as OWNER
from rehearsal.people import ECHO
from tests.stories.stage import BOB, GENERAL, ME, reply
from tests.wire.ism_scenarios import ISM_SCENARIOS
from tests.wire.scenario import WireInput, WireScenario, echo, heard
from tests.wire.shared_page import SharedPage
from tests.wire.world import DEED

UNREACHABLE = "I can't gather my thoughts right now"
AT_FAULT = "I can't think right now"
MENDING = "Something of mine needs mending"
SAID = "You said: "
FAILED = "Something in me went wrong"
LOST_WORDS = "Forgive me, the words wouldn't come"
SLOW = "The model I think with answers, but has been slow"
AT_REST = "Nothing is running here"
WORDS = 3_000
"""Words of an answer of several messages."""


def long(body: Body) -> str:
    """Return numbered words with code."""
    rows = [" ".join(f"w{n}" for n in range(start, start + 10)) for start in range(0, WORDS, 10)]
    half = len(rows) // 2
    text = "\n".join([f"You said: {heard(body)}", *rows[:half], "```python", *rows[half:], "```"])
    return reply(text)


def stepwise(page: SharedPage) -> Mapping[str, Process]:
    """Return a process with two calls, two messages and an unrepeatable deed."""

    async def do() -> str:
        async with ClientSession() as session, session.post(f"http://127.0.0.1:{page.port}{DEED}") as answer:
            return await answer.text()

    async def conversation(turn: Turn) -> WorkingMemory:
        first = await call_model(turn, "weigh", turn.memory, "fast")
        said = [*await say(turn, "One moment, please.")]
        done = await turn.effect("deed", {}, do, repeatable=False)
        memory = turn.memory.with_memory(
            entry_as_memory(first), *map(entry_as_memory, said), entry_as_memory(done)
        )
        second = await call_model(turn, "judge", memory, "speak")
        words = ", ".join(entry.event.text for entry in turn.answers)
        told = await say(turn, f"{words}: {done.event.text}")
        return memory.with_memory(entry_as_memory(second), *map(entry_as_memory, told))

    return {"conversation": conversation}


SCENARIOS: Mapping[str, WireScenario] = {
    "dm": WireScenario(inputs=[WireInput(text="hi tea"), WireInput(text="and jazz", phase=1, root=0)]),
    "burst": WireScenario(
        inputs=[
            WireInput(text="one fish"),
            WireInput(text="two owls", during=1, root=0),
            WireInput(text="three elks", during=1, root=0),
        ],
        pace=0.1,
    ),
    "long": WireScenario(inputs=[WireInput(text="tell me all")], script=long, words=WORDS),
    "posts": WireScenario(
        inputs=[
            WireInput(text=f"{ME} what now", channel=GENERAL),
            WireInput(text="so there", who="bob", channel=BOB, phase=1),
        ],
        refused={"chat.startStream": "channel_type_not_supported"},
    ),
    "steps": WireScenario(
        inputs=[WireInput(text="do the deed")], script=echo, processes=stepwise, told=["One moment"]
    ),
    "outage": WireScenario(
        inputs=[WireInput(text="anyone home")], away=[0], last_phase=1, told=[UNREACHABLE]
    ),
    "account": WireScenario(
        inputs=[
            WireInput(text="anyone home", who="bob", channel=BOB),
            WireInput(text=f"{ME} what now", who="carol", channel=GENERAL),
        ],
        away=[0],
        penniless=True,
        pausable=False,
        settings={"owner_user_ids": frozenset({OWNER.id})},
        last_phase=1,
        told=[AT_FAULT, MENDING],
        # killed before a notice, the retry may succeed and answer
        endings=[
            [*[AT_FAULT] * before, MENDING, *[AT_FAULT] * (told - before), SAID, SAID]
            for told in (1, 2)
            for before in range(told + 1)
        ],
    ),
    "called-in": WireScenario(
        inputs=[
            WireInput(text="red it is", who="bob", channel=GENERAL, aside=True),
            WireInput(text=f"{ME} why so", channel=GENERAL, root=0),
            WireInput(text=f"{ME} and then", channel=GENERAL, phase=1, root=0),
        ],
        endings=[["You said: red it is, @Claudius why so", "You said: @Claudius and then"]],
    ),
    "streamed": WireScenario(
        inputs=[
            WireInput(text=f"{ME} what is the harbour called", who="echo", channel=GENERAL),
            WireInput(text=f"{ME} and the ferry", channel=GENERAL, phase=1, root=0),
        ],
        settings={"allowed_bots": frozenset({ECHO.user})},
        endings=[["You said: @Claudius what is the harbour called", "You said: @Claudius and the ferry"]],
    ),
    "missed": WireScenario(
        inputs=[WireInput(text="first tea"), WireInput(text="then jazz", phase=1, missed=True)]
    ),
    **ISM_SCENARIOS,
}
