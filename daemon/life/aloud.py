"""What the others have heard of a body that waits, as the body itself will keep it. Asked by turn.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from daemon.entry import Entry
from daemon.life.speech import PART
from daemon.mind.answer import Answer

ANSWERS = ("pipeline", "plainly")


def aloud(body: Iterable[Entry]) -> Iterator[Entry]:
    """The receipts of what it said; where the model's answer was said, that call, and not twice the same."""
    answer: Entry | None = None
    said = ""
    for entry in body:
        if entry.kind == "model-call" and _speaks(entry):
            answer = entry
        elif entry.kind == "spoken":
            speech = entry.key.removesuffix("/receipt").partition(PART)[0]
            if answer:
                yield answer
                answer, said = None, speech
            elif speech != said:
                yield entry


def _speaks(call: Entry) -> bool:
    answer = Answer(call)
    return call.body["name"] in ANSWERS and bool(answer.said or answer.plainly)
