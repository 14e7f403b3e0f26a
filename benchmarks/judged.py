"""Judgement of a model's answers: form, chosen process and leaks.

Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from daemon.prompts.elements import ASIDE_TAG, SECTION_NAMES

RUN = 8
"""Consecutive words that cannot match by accident."""
ASKED = re.compile(rf"<({'|'.join(SECTION_NAMES)})(-\w+)?>")
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Verdicts; None if the instruction does not ask for it."""

    form: bool | None
    process: bool | None


def judged(instruction: str, answer: str, processes: Collection[str]) -> Judged:
    """Judge an answer by its instruction; `processes` are valid in `<next>`."""
    asked = list(dict.fromkeys(name for name, _ in ASKED.findall(instruction)))
    if not asked:
        return Judged(form=None, process=None)
    opened = [name for name, _ in ASKED.findall(answer)]
    process = None
    if "next" in asked:
        process = (section(answer, "next") or "") in processes
    return Judged(form=opened == asked and not _outside(answer, asked), process=process)


def section(answer: str, name: str) -> str | None:
    """Return the first section of this name, or None."""
    found = re.search(rf"<{name}(?:-\w+)?>(.*?)(?:</{name}(?:-\w+)?>|\Z)", answer, re.DOTALL)
    if found is None:
        return None
    return found[1].strip()


def _outside(answer: str, asked: Iterable[str]) -> str:
    for name in asked:
        answer = re.sub(
            rf"<{name}(?:-\w+)?>.*?(?:</{name}(?:-\w+)?>|\Z)", "", answer, count=1, flags=re.DOTALL
        )
    return answer.strip()


def leaks(posted: str, answers: Iterable[str], instructions: Iterable[str], said: Sequence[str]) -> list[str]:
    """Return published runs of words from asides or instructions.

    `answers` are earlier; words that people `said` are no leak.
    """
    public = {run for text in said for run in _runs(text)}
    asides = [section(answer, ASIDE_TAG) or "" for answer in answers]
    hidden = {run for text in (*asides, *instructions) for run in _runs(text)} - public
    return [" ".join(run) for run in _runs(posted) if run in hidden][:1]


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = WORD.findall(text.casefold())
    yield from zip(*(words[start:] for start in range(RUN)), strict=False)
