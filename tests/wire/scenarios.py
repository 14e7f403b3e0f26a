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
from tests.wire.board import Board
from tests.wire.deciding import DECIDING
from tests.wire.scenario import Line, Scenario, echo, heard
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


def stepwise(page: Board) -> Mapping[str, Process]:
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


SCENARIOS: Mapping[str, Scenario] = {
    "dm": Scenario(lines=[Line(text="hi tea"), Line(text="and jazz", phase=1, root=0)]),
    "burst": Scenario(
        lines=[
            Line(text="one fish"),
            Line(text="two owls", during=1, root=0),
            Line(text="three elks", during=1, root=0),
        ],
        pace=0.1,
    ),
    "long": Scenario(lines=[Line(text="tell me all")], script=long, words=WORDS),
    "posts": Scenario(
        lines=[
            Line(text=f"{ME} what now", channel=GENERAL),
            Line(text="so there", who="bob", channel=BOB, phase=1),
        ],
        refused={"chat.startStream": "channel_type_not_supported"},
    ),
    "steps": Scenario(lines=[Line(text="do the deed")], script=echo, processes=stepwise, told=["One moment"]),
    "outage": Scenario(lines=[Line(text="anyone home")], away=[0], last_phase=1, told=[UNREACHABLE]),
    "account": Scenario(
        lines=[
            Line(text="anyone home", who="bob", channel=BOB),
            Line(text=f"{ME} what now", who="carol", channel=GENERAL),
        ],
        away=[0],
        penniless=True,
        crowded=True,
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
    "called-in": Scenario(
        lines=[
            Line(text="red it is", who="bob", channel=GENERAL, aside=True),
            Line(text=f"{ME} why so", channel=GENERAL, root=0),
            Line(text=f"{ME} and then", channel=GENERAL, phase=1, root=0),
        ],
        endings=[["You said: red it is, @Claudius why so", "You said: @Claudius and then"]],
    ),
    "streamed": Scenario(
        lines=[
            Line(text=f"{ME} what is the harbour called", who="echo", channel=GENERAL),
            Line(text=f"{ME} and the ferry", channel=GENERAL, phase=1, root=0),
        ],
        settings={"allowed_bots": frozenset({ECHO.user})},
        endings=[["You said: @Claudius what is the harbour called", "You said: @Claudius and the ferry"]],
    ),
    "missed": Scenario(lines=[Line(text="first tea"), Line(text="then jazz", phase=1, missed=True)]),
    **DECIDING,
}
