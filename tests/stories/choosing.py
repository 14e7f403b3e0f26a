"""Helpers for runs: replies of the chooser, acts of people, results."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from daemon.actions.action import ActionDefinition, Outcome, RunContext
from daemon.actions.registry import ActionRegistry
from daemon.app.discovery import PROCESSES
from daemon.app.wiring import with_playbooks
from daemon.engine.event import Entry
from daemon.kinds import ConversationOpened
from daemon.playbooks.built_in import respond, think
from daemon.playbooks.run import PlaybookPlayer
from daemon.slack.status import MOMENT
from rehearsal import people
from tests.stories.stage import Stage

IDS = {"alice": people.ALICE.id, "bob": people.BOB.id, "carol": people.CAROL.id}
FAST, SPEAK, EXPERT = "claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5"
ASKED = "please work out why the ferry is late"
ON_IT = "I am on it."


def choice(*actions: object, why: str = "it helps") -> str:
    return json.dumps({"why": why, "actions": list(actions)})


def looking(query: str = "ferry") -> dict[str, Any]:
    return {"name": "SearchMemory", "args": {"query": query}}


def turning(say: str = ON_IT, to: str = "problem_solving") -> str:
    return f"<aside>Hm.</aside><next>{to}</next><say>{say}</say><mood>focused</mood>"


def answers(stage: Stage, *texts: str) -> None:
    """Queue replies of the model."""
    for text in texts:
        stage.model.say(text)


async def deciding(stage: Stage, **settings: Any) -> None:
    """Restart the soul with the ISM."""
    await stage.sleep()
    await stage.wake(ism_enabled=True, **settings)


def calls(stage: Stage) -> list[str]:
    return [call.event.name for call in stage.entries("model-call")]


def ended(stage: Stage) -> list[str]:
    return [entry.event.reason for entry in stage.entries("ism-ended")]


def models(stage: Stage) -> list[str]:
    return [call.event.model for call in stage.entries("model-call")]


def offering(stage: Stage, *definitions: ActionDefinition) -> None:
    """Replace the actions of the next start, besides Think and Respond."""
    registry = ActionRegistry([think.definition(), respond.definition(), *definitions])
    stage.processes = with_playbooks(
        PROCESSES, PlaybookPlayer(registry=registry, loops=5), ["problem_solving"], expert=False
    )
    book = stage.words / "playbooks" / "problem_solving.md"
    names = ", ".join(registry.named)
    book.write_text(re.sub(r"^actions: .*$", f"actions: [{names}]", book.read_text(), flags=re.MULTILINE))


def raising(*, effect: bool) -> ActionDefinition:
    async def perform(_run: RunContext, _args: object) -> str:
        raise OSError("the bridge is up")

    return ActionDefinition(name="Break", description="Break.", perform=perform, effect=effect)


def coming_to(outcome: Outcome) -> ActionDefinition:
    """Return an action with this outcome."""

    async def perform(_run: RunContext, _args: object) -> Outcome:
        return outcome

    return ActionDefinition(name="Look", description="Look.", perform=perform)


def outcomes(stage: Stage) -> list[str]:
    return [entry.event.outcome for entry in stage.entries("turn-ended")]


def told(stage: Stage, nth: int = -1) -> str:
    """Return the text of the nth chooser request."""
    asked = [request for request in stage.model.requests if "why" in str(request.get("output_config"))]
    return json.dumps(asked[nth]["messages"], ensure_ascii=False)


async def press(stage: Stage, name: str, channel: str, ts: str, label: str) -> None:
    asked = {"user": IDS[name], "channel": channel, "ts": ts, "label": label}
    await _do(stage, "press", asked)


async def stop_button(stage: Stage, name: str, channel: str, root: str) -> None:
    """Press Slack's Stop button of a thread once it appears."""
    await stage.passing(MOMENT, lambda: stage.world.workspace.statuses.working(channel, root))
    await _do(stage, "stop", {"user": IDS[name], "channel": channel, "thread_ts": root})


async def _do(stage: Stage, what: str, asked: dict[str, str]) -> None:
    async with stage.session.post(f"{stage.url}/rehearsal/{what}", json=asked) as response:
        done = await response.json()
    assert done["ok"], done


def questions(stage: Stage) -> Sequence[Entry[Any]]:
    return stage.pending("asked")


async def shown(stage: Stage, channel: str, root: str) -> list[tuple[str, list[str]]]:
    """Return messages of a thread with their buttons."""
    replies = await stage.client("alice").conversations_replies(channel=channel, ts=root)
    return [
        (one["text"], [button["text"]["text"] for button in _buttons(one)]) for one in replies["messages"]
    ]


def _buttons(message: dict[str, Any]) -> list[dict[str, Any]]:
    blocks = [block for block in message.get("blocks", ()) if block["type"] == "actions"]
    return [button for block in blocks for button in block["elements"]]


def whispers(stage: Stage) -> list[tuple[str, str]]:
    """Return recipients and texts of ephemeral messages."""
    return [(one["user"], one["markdown_text"]) for one in stage.wire.told("chat.postEphemeral")]


async def pressed(stage: Stage, name: str, label: str) -> None:
    """Press a button of the pending question that people see, and settle."""
    [question] = [one for one in questions(stage) if one.event.said]
    *_, spoken = stage.soul.journal.entries_at(question.event.said)
    opened = stage.soul.journal.latest_of_kind(question.thread, ConversationOpened)
    assert opened is not None
    before = len(stage.entries("input"))
    await press(stage, name, opened.event.channel, spoken.event.ts, label)
    await stage.until(lambda: len(stage.entries("input")) > before)
    await stage.settled()
