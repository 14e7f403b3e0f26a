"""Ask an owner, with buttons, to approve a message of the inner life.

Each line of it is quoted, so that it does not look like the soul's own words.
"""

from __future__ import annotations

from dataclasses import replace

from daemon.answers.speech_gate import spoken_text
from daemon.inner_life.commands.message_commands import as_quotation
from daemon.kinds import UnpromptedMessage
from daemon.memory import WorkingMemory
from daemon.process import MentalProcess, Placeholders, Question, Turn, ask
from daemon.prompts.elements import clean_name_text
from daemon.prompts.prompt_catalogue import LABELS_TEXT
from daemon.turn.questions import report_unprompted_outcome, two_buttons, unprompted_message

LEAVE = "prompts/sentences/leave"


PATIENCE = 86_400.0
"""Seconds without an answer after which the message is dropped."""


async def asking_leave(turn: Turn) -> WorkingMemory:
    """Ask an owner whether a message of the inner life may be said."""
    message = unprompted_message(turn)
    assert message is not None
    text = spoken_text(message.text)
    if not (text and turn.deciders):
        await report_unprompted_outcome(turn, "refused")
        return turn.memory
    answer = await ask(turn, "leave", _question(turn, message, text))
    if answer.value == "approve":
        agreed = replace(message, text=text, leave=False)
        if not await turn.send("agreed", message.to, agreed):
            await report_unprompted_outcome(turn, "refused")
    elif answer.by:
        await report_unprompted_outcome(turn, "declined")
    else:
        await report_unprompted_outcome(turn, "unanswered")
    return turn.memory.with_memory(*answer.memories)


def _question(turn: Turn, message: UnpromptedMessage, text: str) -> Question:
    owners, place = turn.deciders, clean_name_text(message.place)
    asked = turn.prompt(LEAVE, owner=f"<@{owners[0]}>", place=place, text=as_quotation(text))
    return Question(
        text=asked,
        to=owners,
        owners=owners,
        choices=two_buttons(turn.text(LABELS_TEXT), "approve", "decline"),
        wait=PATIENCE,
    )


PROCESS = MentalProcess(
    name="asking_leave",
    run=asking_leave,
    called="the inner life wants something said where an owner has to agree",
    texts={LEAVE: Placeholders({"owner", "place", "text"}, "text")},
)
