"""Cognitive steps for processes: `memory, value = await step(turn, memory, …)`.

The owner words the questions (`prompts/steps/`). The returned memory contains the answer. After a stop, limit
or refusal the value is None, and the process has to return.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from daemon.answers.choice import ChoiceUnreadable, answer_schema, find_json_values
from daemon.answers.speech_gate import spoken_text
from daemon.memory import WorkingMemory
from daemon.mind.asking import Ask, apologize, ask_for_person, end_mark
from daemon.mind.pipeline import converse, pipeline_question
from daemon.model import Role
from daemon.prompts.chooser import fence_result, validation_fault
from daemon.prompts.elements import STEPS_BY_NAME
from daemon.prompts.prompt_catalogue import Placeholders
from daemon.turn.recall import MONOLOGUE, PipelineAnswer, entry_as_memory
from daemon.turn.turn import Turn

M = TypeVar("M", bound=BaseModel)


STEP_TEXTS: Mapping[str, Placeholders] = {
    "prompts/steps/decision": Placeholders({"question", "choices", "name"}, "choices"),
    "prompts/steps/mental_query": Placeholders({"statement", "name"}, "statement"),
    "prompts/steps/brainstorm": Placeholders({"question", "name"}, "question"),
    "prompts/steps/summarize": Placeholders({"name"}),
    "prompts/steps/extract": Placeholders({"question", "schema", "name"}, "schema"),
    "prompts/steps/unreadable": Placeholders({"error"}),
}
"""The texts of the steps, and the placeholders of each. A new step needs its line here, and its file."""


TRIES = 4
"""Most attempts to get a readable answer."""


class _Verdict(BaseModel):
    """The answer of a mental query, which says what it is about to whoever remembers it."""

    statement: str = ""
    is_true: bool


class _Ideas(BaseModel):
    """The answer of a brainstorm."""

    model_config = ConfigDict(str_strip_whitespace=True)
    ideas: list[str] = Field(min_length=1)


async def internal_monologue(
    turn: Turn, memory: WorkingMemory, guidance: str = "", *, role: Role = "speak", ask: Ask | None = None
) -> tuple[WorkingMemory, str | None]:
    """Return a thought that people do not see."""
    question = pipeline_question(turn, [STEPS_BY_NAME[MONOLOGUE]], guidance)
    asking = ask or partial(ask_for_person, turn)
    ends = end_mark(turn, [STEPS_BY_NAME[MONOLOGUE]])
    memory, call = await asking(MONOLOGUE, memory, question, role, None, ends)
    if call is None:
        return memory, None
    return memory.with_memory(entry_as_memory(call, turn.tag_suffix)), PipelineAnswer(call).monologue


async def external_dialogue(
    turn: Turn, memory: WorkingMemory, guidance: str = "", *, role: Role = "speak"
) -> tuple[WorkingMemory, str | None]:
    """Say an answer while it is streamed; an empty text is silence."""
    said = await converse(turn, ["external_dialogue"], guidance, memory=memory, role=role)
    return said.memory, said.text


async def decision(
    turn: Turn, memory: WorkingMemory, question: str, choices: Sequence[str], *, role: Role = "fast"
) -> tuple[WorkingMemory, str | None]:
    """Return a choice. Raises ValueError if there are none."""
    if not choices:
        raise ValueError("a decision needs something to choose from")
    listed = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    words = _words(turn, "decision", question=question, choices=listed)
    form: Any = Literal[tuple(choices)]
    model = create_model("Decision", decision=(form, ...))
    memory, answer = await _extracted(turn, memory, model, words, "decision", role)
    if answer is None:
        return memory, None
    return memory, answer.model_dump()["decision"]


async def mental_query(
    turn: Turn, memory: WorkingMemory, statement: str, *, role: Role = "fast"
) -> tuple[WorkingMemory, bool | None]:
    """Return True if the statement holds, in the model's view."""
    words = _words(turn, "mental_query", statement=statement)
    memory, answer = await _extracted(turn, memory, _Verdict, words, "mental_query", role)
    if answer is None:
        return memory, None
    return memory, answer.is_true


async def brainstorm(
    turn: Turn, memory: WorkingMemory, question: str, *, role: Role = "speak"
) -> tuple[WorkingMemory, list[str] | None]:
    """Return different ideas, at least one."""
    words = _words(turn, "brainstorm", question=question)
    memory, answer = await _extracted(turn, memory, _Ideas, words, "brainstorm", role)
    if answer is None:
        return memory, None
    return memory, list(dict.fromkeys(answer.ideas))


async def instruction(
    turn: Turn,
    memory: WorkingMemory,
    words: str,
    *,
    name: str = "instruction",
    role: Role = "speak",
    ask: Ask | None = None,
) -> tuple[WorkingMemory, str | None]:
    """Return the answer to an owner's text; people do not see it."""
    asking = ask or partial(ask_for_person, turn)
    memory, call = await asking(name, memory, words, role, None, ())
    if call is None:
        return memory, None
    return memory.with_memory(entry_as_memory(call)), spoken_text(call.event.text)


async def summarize(
    turn: Turn,
    memory: WorkingMemory,
    words: str = "",
    *,
    name: str = "summarize",
    role: Role = "fast",
    ask: Ask | None = None,
) -> tuple[WorkingMemory, str | None]:
    return await instruction(turn, memory, words or _words(turn, "summarize"), name=name, role=role, ask=ask)


async def extract(
    turn: Turn,
    memory: WorkingMemory,
    model: type[M],
    question: str,
    *,
    name: str = "extract",
    role: Role = "fast",
    ask: Ask | None = None,
    tries: int = TRIES,
) -> tuple[WorkingMemory, M | None]:
    """Return the answer as an instance of `model`."""
    schema = json.dumps(answer_schema(model) or model.model_json_schema(), ensure_ascii=False)
    words = _words(turn, "extract", question=question, schema=schema)
    return await _extracted(turn, memory, model, words, name, role, ask, tries)


async def _extracted(
    turn: Turn,
    memory: WorkingMemory,
    model: type[M],
    question: str,
    name: str,
    role: Role,
    ask: Ask | None = None,
    tries: int = TRIES,
) -> tuple[WorkingMemory, M | None]:
    asking = ask or partial(ask_for_person, turn)
    schema = answer_schema(model)
    asked = question
    for _ in range(tries):
        memory, call = await asking(name, memory, asked, role, schema, ())
        if call is None:
            return memory, None
        try:
            value = parse_extract(call.event.text, model)
        except ChoiceUnreadable as error:
            wrong = _words(turn, "unreadable", error=fence_result(str(error)))
            asked = f"{question}\n\n{wrong}"
        else:
            return memory.with_memory(entry_as_memory(call)), value
    if ask is None:
        memory = await apologize(turn, memory)
    return memory, None


def parse_extract(reply: str, model: type[M]) -> M:
    """Return the only value of this form. Raises ChoiceUnreadable with a text for the model."""
    found: list[M] = []
    wrong = "there is no whole JSON object in it"
    for value, sound in find_json_values(spoken_text(reply)):
        if not sound:
            continue
        try:
            found.append(model.model_validate(value))
        except ValidationError as error:
            wrong = validation_fault(error)
    if not found:
        raise ChoiceUnreadable(wrong)
    if any(one != found[0] for one in found):
        raise ChoiceUnreadable("it holds more than one answer")
    return found[0]


def _words(turn: Turn, step: str, **words: str) -> str:
    return turn.prompt(f"prompts/steps/{step}", **words)
