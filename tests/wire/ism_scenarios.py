"""Wire scenarios with ISM runs, and their scripted model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from aiohttp import ClientSession

from daemon.actions.action import ActionDefinition, RunContext
from daemon.actions.registry import ActionRegistry
from daemon.app.discovery import PROCESSES
from daemon.app.wiring import with_playbooks
from daemon.playbooks.built_in import respond, think
from daemon.playbooks.run import PlaybookPlayer
from daemon.prompts.prompt_catalogue import Playbook
from daemon.settings.limits import Limits
from daemon.turn.turn import Process
from rehearsal.claude.prompt import Body, texts
from rehearsal.people import CAROL
from tests.stories.choosing import EXPERT, choice, looking, turning
from tests.stories.stage import GENERAL, ME, reply
from tests.texts import WORDS
from tests.wire.scenario import MESSAGE, WireInput, WireScenario, echo, heard
from tests.wire.shared_page import SharedPage
from tests.wire.world import DEED

PROBLEM, ON_IT = "please work out why the ferry is late", "I am on it"
FOUND, SO_FAR, ASIDE, STOPPED = "Found out", "So far", "I'll set the other thing aside", "Stopped."
MAY_I, LIMIT = f"<@{CAROL.id}>, may I do this?", "That is as far as I may go"
CUT = FOUND[0]
"""Least text heard before the stop."""
UNFINISHED = (WORDS / "prompts" / "unfinished.md").read_text().strip()
NEW = "weather"
"""Word that marks a new matter."""
OWNED = {"ism_enabled": True, "owner_user_ids": frozenset({CAROL.id})}


def deciding(*rounds: object, of_expert: Sequence[object] = ()) -> Callable[[Body], str]:
    """Return a script with these rounds; the expert has its own."""
    return planning(lambda body: of_expert if body["model"] == EXPERT else rounds)


def planning(plan_for: Callable[[Body], Sequence[object]]) -> Callable[[Body], str]:
    """Return a script with a plan for each run."""

    def script(body: Body) -> str:
        asked, schema = texts(body["messages"][-1]["content"])[-1], _schema(body)
        if "kind" in schema:
            return json.dumps({"kind": "new" if NEW in said(body)[-1] else "more"})
        if "actions" in schema:
            plan = plan_for(body)
            chosen = sum('"actions"' in text for text in _texts(body, "assistant"))
            actions = plan[chosen % len(plan)]
            return choice(*(actions if isinstance(actions, tuple) else [actions]))
        if not _names("say", asked):
            return "It may well be the new timetable."
        if _names("next", asked):
            return turning(f"{ON_IT}: {heard(body)}") if "work out" in heard(body) else echo(body)
        return reply(f"{SO_FAR if UNFINISHED in asked else FOUND}: {', '.join(_unanswered(body))}")

    return script


def _names(section: str, note: str) -> bool:
    return bool(re.search(rf"<{section}(?:-\w+)?>", note))


def _schema(body: Body) -> Mapping[str, Any]:
    form = (body.get("output_config") or {}).get("format")
    return form["schema"]["properties"] if form else {}


def _texts(body: Body, role: str) -> Iterator[str]:
    for message in body["messages"]:
        if message["role"] == role:
            yield from texts(message["content"])


def said(body: Body) -> list[str]:
    return MESSAGE.findall("\n".join(_texts(body, "user")))


def _unanswered(body: Body) -> list[str]:
    answers = "\n".join(_texts(body, "assistant"))
    return [words for words in said(body) if words.removeprefix(ME).strip() not in answers]


class Everything(ActionRegistry):
    """Registry whose actions are in every playbook."""

    def offered_by(self, playbook: Playbook) -> list[ActionDefinition]:
        return list(self.named.values())


def deleting(page: SharedPage) -> Mapping[str, Process]:
    """Make a run's action with approval that must not repeat."""

    async def delete(_run: RunContext, _args: object) -> str:
        async with ClientSession() as session, session.post(f"http://127.0.0.1:{page.port}{DEED}") as answer:
            return await answer.text()

    action = ActionDefinition(
        name="Delete",
        description="Delete the old timetable.",
        perform=delete,
        effect=True,
        approval=True,
        repeatable=False,
    )
    player = PlaybookPlayer(registry=Everything([think.definition(), respond.definition(), action]), loops=5)
    return with_playbooks(PROCESSES, player, ["problem_solving"], expert=False)


def remembering(text: str) -> Mapping[str, Any]:
    return {"name": "Remember", "args": {"text": text}}


ISM_SCENARIOS: Mapping[str, WireScenario] = {
    "decides": WireScenario(
        inputs=[WireInput(text=PROBLEM)],
        script=deciding(("Think", looking()), remembering("The ferry is late."), "Respond"),
        settings=OWNED,
        endings=[[ON_IT, FOUND]],
        told=[FOUND],
    ),
    "interrupted": WireScenario(
        inputs=[
            WireInput(text=PROBLEM),
            WireInput(text="the one to the island", during=3, root=0),
            WireInput(text="and how is the weather", during=6, root=0),
            WireInput(text="carry on", phase=1, root=0),
        ],
        script=deciding("Think", "Think", "Think", "Respond"),
        settings=OWNED,
        endings=[
            [ON_IT, ASIDE, "You said: and how is the weather", FOUND],
            [ON_IT, ASIDE, "You said: and how is the weather", "You said: the one to the island", FOUND],
            [ON_IT, FOUND, "You said: and how is the weather", "You said: carry on"],
        ],
        told=[ASIDE, FOUND],
        gap=300.0,
    ),
    "approved": WireScenario(
        inputs=[
            WireInput(text=f"{ME} {PROBLEM}", channel=GENERAL),
            WireInput(text="Approve", does="presses", who="bob", channel=GENERAL, phase=1),
            WireInput(text="Approve", does="presses", who="carol", channel=GENERAL, phase=2),
            WireInput(text="Continue", does="presses", who="carol", channel=GENERAL, phase=3),
        ],
        script=deciding("Delete", "Think", "Respond"),
        processes=deleting,
        settings={**OWNED, "limit_turn": Limits(calls=3)},
        endings=[[ON_IT, MAY_I, SO_FAR, LIMIT, FOUND]],
        told=[MAY_I, SO_FAR, LIMIT, FOUND],
    ),
    "stopped": WireScenario(
        inputs=[WireInput(text=PROBLEM), WireInput(text="stop", during=3, root=0, stops=True)],
        script=deciding("Think", "Respond"),
        settings=OWNED,
        endings=[[ON_IT, STOPPED], [ON_IT, CUT], [ON_IT, FOUND, "You said: stop"]],
        told=[STOPPED, FOUND, "You said: stop"],
    ),
    "stopped-short": WireScenario(
        inputs=[
            WireInput(text=PROBLEM),
            WireInput(text="octagonal_sign", does="reacts", during=3, into=80, root=0, stops=True),
        ],
        script=deciding("Respond"),
        settings=OWNED,
        endings=[[ON_IT, CUT], [ON_IT, STOPPED]],
        told=[FOUND, STOPPED],
    ),
    "escalated": WireScenario(
        inputs=[WireInput(text=PROBLEM)],
        script=deciding("Escalate", of_expert=("Think", "Respond")),
        settings={**OWNED, "claude_model_expert": EXPERT},
        endings=[[ON_IT, FOUND]],
        told=[FOUND],
    ),
}
