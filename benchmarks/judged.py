"""What a model made of a prompt: its form, the process that it chose, and what of its secrets people read.

Pure functions of what was asked, what came and what was posted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from daemon.prompts.elements import ASIDE_TAG, SECTION_NAMES

RUN = 8
"""Words in a row that are no accident."""
ASKED = re.compile(rf"<({'|'.join(SECTION_NAMES)})(-\w+)?>")
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A call as it was judged: None where it was not asked for that."""

    form: bool | None
    process: bool | None


def judged(instruction: str, answer: str, processes: Collection[str]) -> Judged:
    """Judge an answer by the instruction that asked for it; `processes` are what `<next>` may hold."""
    asked = list(dict.fromkeys(name for name, _ in ASKED.findall(instruction)))
    if not asked:
        return Judged(form=None, process=None)
    opened = [name for name, _ in ASKED.findall(answer)]
    process = None
    if "next" in asked:
        process = (section(answer, "next") or "") in processes
    return Judged(form=opened == asked and not _outside(answer, asked), process=process)


def section(answer: str, name: str) -> str | None:
    """Return the text of the first section of this name; None where there is none."""
    found = re.search(rf"<{name}(?:-\w+)?>(.*?)(?:</{name}(?:-\w+)?>|\Z)", answer, re.DOTALL)
    if found is None:
        return None
    return found[1].strip()


def _outside(answer: str, asked: Iterable[str]) -> str:
    """Return what stands in none of these sections."""
    for name in asked:
        answer = re.sub(
            rf"<{name}(?:-\w+)?>.*?(?:</{name}(?:-\w+)?>|\Z)", "", answer, count=1, flags=re.DOTALL
        )
    return answer.strip()


def leaks(posted: str, answers: Iterable[str], instructions: Iterable[str], said: Sequence[str]) -> list[str]:
    """Return what people read that was not meant for them: words of asides, and of instructions, in a row.

    `answers` are those of earlier calls; what people `said` themselves is no leak.
    """
    public = {run for text in said for run in _runs(text)}
    asides = [section(answer, ASIDE_TAG) or "" for answer in answers]
    hidden = {run for text in (*asides, *instructions) for run in _runs(text)} - public
    return [" ".join(run) for run in _runs(posted) if run in hidden][:1]


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = WORD.findall(text.casefold())
    yield from zip(*(words[start:] for start in range(RUN)), strict=False)
