"""Scripts of open thought, whose replies follow from the conversation."""

from __future__ import annotations

import random
import re

from daemon.engine.event import digest
from daemon.model import ModelReply
from tests.core.file_world import Script, said

OVER = "<aside>This wants some thought.</aside><next>deliberation</next><say></say><mood>calm</mood>"
SPOKEN = re.compile(r'<message from="Alice">\n(.*?)\n</message>')
FINAL = "claudius-response"


def written(text: str) -> ModelReply:
    return ModelReply(outcome="ok", model="echo", text=text, stop_reason="end_turn")


def final(text: str) -> ModelReply:
    return written(f"<{FINAL}>{text}</{FINAL}>")


def thinking_on(seen: str, _calls: int) -> ModelReply:
    """Call itself three times, then answer all messages."""
    words = SPOKEN.findall(seen)
    if FINAL in seen:
        return said(f"Also: {words[-1]}")
    if "<next>" not in seen:
        return written(OVER)
    thoughts = seen.count("<claudius>")
    if thoughts < 3:
        return written(f"Hm.<claudius>Thought {thoughts + 1}.</claudius>")
    return final(f"You said: {', '.join(words)}")


def clearing(seen: str, _calls: int) -> ModelReply:
    """Think three steps and clear earlier ones."""
    words = SPOKEN.findall(seen)
    if "Third." in seen:
        return final("Three steps.")
    if "Second." in seen:
        return written('<clear-context keep="1"/><claudius>Third.</claudius>')
    if "First." in seen:
        return written('<clear-context keep="3"/><claudius>Second.</claudius>')
    return written("<claudius>First.</claudius>" if "<next>" in seen and words else OVER)


def branching(seen: str, _calls: int) -> ModelReply:
    """Answer in one branch; wait in the other until a message ends it."""
    words = SPOKEN.findall(seen)
    if "look at a" in seen and not words:
        return final("A")
    if "look at b" in seen and not words:
        return written('<set-timer in="2h" label="b"/>')
    if "<next>" not in seen:
        return written(OVER)
    if "<spawn-thread" not in seen:
        branches = "".join(
            f'<spawn-thread suggested_sub_id="{one}"><initial-payload>look at {one}</initial-payload>'
            "</spawn-thread>"
            for one in "ab"
        )
        return written(f"Both.{branches}")
    if len(words) < 2:
        return written("I wait for b.")
    return final("A alone.")


def collecting(seen: str, _calls: int) -> ModelReply:
    """Collect two items, one without result."""
    if "Count the apples" in seen and not SPOKEN.findall(seen):
        return final("Three.")
    if "Count the pears" in seen and not SPOKEN.findall(seen):
        return written("I do not know.")
    if "<next>" not in seen:
        return written(OVER)
    if "<fan-out>" not in seen:
        return written("<fan-out><item>Count the apples.</item><item>Count the pears.</item></fan-out>")
    return final("Three apples.")


FRAGMENTS = (
    "<claudius>On.</claudius>",
    '<spawn-thread suggested_sub_id="x"><initial-payload>Look {n}.</initial-payload></spawn-thread>',
    "<fan-out><item>One {n}.</item><item>Two {n}.</item></fan-out>",
    '<fan-out collect="false"><item>Three {n}.</item><item>Four {n}.</item></fan-out>',
    '<send to="nowhere">Hello?</send>',
    '<todo-until condition="all"><step done="true">a</step><step>b</step></todo-until>',
    '<clear-context keep="3"/>',
    '<send to="x" to="y">unreadable</send>',
    "<claudius>never closed",
    "<thought>Nothing follows.</thought>",
    "<!-- a comment --> and words",
)


def at_random(seed: int) -> Script:
    """Return a random script, fixed for a conversation."""

    def script(seen: str, _calls: int) -> ModelReply:
        chance = random.Random(digest([seed, seen]))
        if SPOKEN.search(seen) and "<next>" not in seen:
            return written(OVER)
        if FINAL in seen and SPOKEN.search(seen):
            return said("And that was it.")
        if chance.random() < len(seen) / 4_000:  # longer thoughts end sooner
            return final("This is it.")
        fragments = chance.sample(FRAGMENTS, chance.randint(1, 3))
        number = str(chance.random())  # distinct branches: no two calls are equal
        return written(" ".join(fragments).replace("{n}", number))

    return script
