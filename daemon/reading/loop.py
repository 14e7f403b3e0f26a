"""Recursive reading: a model reads texts longer than its window by small programs and sub-calls.

Prompt, code and observation repeat until a final answer (seed: recursive-language-models.md). Forms of public
implementations are accepted: fences of `repl` or `python`, also on one line; FINAL(…), FINAL_VAR(…),
SUBMIT(…) or "Final Answer: …".
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, Protocol

from daemon.answers.repetition import RepetitionDetector
from daemon.answers.speech_gate import strip_thoughts
from daemon.engine.event import Entry
from daemon.kinds import CellRan, Ending, ModelCall, ReadingBegan, ReadingEnded, SystemMessage
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.prompts.elements import escape_tags
from daemon.settings.limits import ReadingLimits
from daemon.turn.recall import entry_as_memory

Load = Callable[[], Awaitable[Any]]
"""Function that returns the context: a text, or lists and dicts of texts and other plain values.

Raises ContextLoadError.
"""


Interrupt = Callable[[], Awaitable[bool | Sequence[Memory]]]
"""Function called between two rounds: returns True to end the reading, or the messages said meanwhile."""


LANGUAGES = frozenset({"repl", "python", "py", "python3"})


FENCE = re.compile(r"\s{0,3}(?P<ticks>`{3,}+(?![^`]*+`)|~{3,}+)\s*+(?P<info>(?P<language>[\w+-]*+).*+)$")
"""Line that may begin or end a fenced block; possessive quantifiers keep the search linear."""


INLINE = re.compile(
    r"(?<!`)(?P<ticks>`{3,}+)(?P<language>[\w+-]++)[ \t]++"
    r"(?P<code>(?:(?!(?P=ticks)).){1,4000}+)(?P=ticks)(?!`)"
)
"""Code block on a single line."""


BEFORE_INLINE = re.compile(r"[-*+]?|\d{1,9}\)|.*[.:;!?…][*_]{0,3}")
"""Text that may precede a block on its line: a sentence or a bullet."""


TITLE = re.compile(r"(?!(?:import|from)\s)[\w\s.,/:#-]*+|[({\[].*+")
"""Words after a fence's language that are not code."""


ATTRIBUTES = re.compile(r"(?:[\w-]++=(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'(\[{]++)\s*+)++")
"""Attributes before the code, such as `title=look`."""


LINE = re.compile(r"\r\n|\r|\n")
"""Python's line ends; other line separators may stand in strings."""


OPEN_STRING = "unterminated triple-quoted"
"""Beginning of Python's error message about an unclosed string."""


MOST_FENCES = 50
"""Most fences in a cell's strings that are tried as its end."""


MOST_GLUED = 10
"""Most lines ending in a fence that are tried as the end of a cell, and most cells for which this is done."""


BRACKETS = re.compile(r"[()]")


LAST = re.compile(r"\)[ \t]*$", re.MULTILINE)


TRIES = 50
"""Most brackets that are tried as the end of a quoted answer."""


FAR = 500
"""Most lines of a final answer."""


FINAL = re.compile(r"\s*(?P<name>FINAL|FINAL_VAR|SUBMIT)\((?P<rest>.*)$")


LABEL = re.compile(
    r"[ ]{0,3}(?P<heading>\#{1,6}[ \t]+)?(?P<marks>[*_]{0,3})"
    r"(?:(?:the|my|here[ \t]+is[ \t]+(?:the|my))[ \t]+)?final[ \t]+answer(?:[ \t]+is)?"
    r"(?P<shut>[*_]{0,3})[ \t]*(?:[:\uff1a](?P<closed>[*_]{0,3})(?P<rest>.*))?$",
    re.IGNORECASE,
)
"""Label of a final answer in prose, such as "Final Answer:"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderAnswer:
    """Parsed answer: cells or, without cells, the final answer.

    `variable` names the variable that holds it. `finals` counts different final answers, of which none is
    used if there are several.
    """

    cells: tuple[str, ...] = ()
    final: str | None = None
    variable: str = ""
    finals: int = 0


def parse_reader_answer(text: str, *, whole: bool = True) -> ReaderAnswer:
    lines = LINE.split(text)
    cells, prose = _split(lines, whole)
    if cells:
        return ReaderAnswer(cells=tuple(cells))
    finals = _finals([*prose.values()])
    if whole and not finals:
        finals = _labelled(lines, prose)
    found = list(dict.fromkeys(finals))
    if len(found) != 1:
        return ReaderAnswer(finals=len(found))
    name, content = found[0]
    if name == "FINAL_VAR":
        return ReaderAnswer(variable=_unquoted(content), finals=1)
    return ReaderAnswer(final=_unquoted(content), finals=1)


def _split(lines: Sequence[str], whole: bool) -> tuple[list[str], dict[int, str]]:
    cells: list[str] = []
    prose: dict[int, str] = {}
    at = 0
    while at < len(lines):
        fence = FENCE.match(lines[at])
        at += 1
        if not fence:
            inline = _inline_cells(lines[at - 1])
            cells += inline
            if not inline:
                prose[at - 1] = lines[at - 1]
            continue
        is_code = fence["language"].lower() in LANGUAGES
        end = _end_of_block(lines, at, fence["ticks"], is_code=is_code)
        glued = None
        if is_code and len(cells) < MOST_GLUED:
            glued = _glued_cell(lines[at:end], fence["ticks"])
        if glued:
            cells.append("\n".join(glued))
            end = at + len(glued) - 1
        elif is_code and (whole or end < len(lines)):
            cells.append("\n".join([*_code_of_fence(fence, lines[at:end]), *lines[at:end]]))
        at = end + 1
    return [cell for cell in cells if cell.strip()], prose


def _inline_cells(line: str) -> list[str]:
    cells: list[str] = []
    end = len(line)
    for block in reversed([*INLINE.finditer(line)]):
        if block["language"].lower() not in LANGUAGES or line[block.end() : end].strip():
            break
        cells.append(block["code"].strip())
        end = block.start()
    if cells and BEFORE_INLINE.fullmatch(line[:end].strip()):
        return cells[::-1]
    return []


def _code_of_fence(fence: re.Match[str], block: Sequence[str]) -> list[str]:
    first = fence["info"].removeprefix(fence["language"]).strip()
    is_title = TITLE.fullmatch(first) or (ATTRIBUTES.fullmatch(first) and "".join(block).strip())
    if is_title or _fault("\n".join([first, *block])):
        return []
    return [first]


def _glued_cell(block: Sequence[str], ticks: str) -> list[str] | None:
    ends = [place for place, line in enumerate(block) if line.rstrip().endswith(ticks)]
    if not ends or not _fault("\n".join(block)):
        return None
    for place in ends[:MOST_GLUED]:
        cell = [*block[:place], block[place].rstrip().rstrip(ticks[0])]
        if not _fault("\n".join(cell)):
            return cell
    return None


def _end_of_block(lines: Sequence[str], start: int, ticks: str, *, is_code: bool) -> int:
    """Return the index of the closing fence, or of the end.

    Fences in strings are skipped; if all are in strings, a string is unclosed and the first fence counts.
    """
    if not is_code:
        return next(_closing_fences(lines, start, ticks), len(lines))
    passed: list[int] = []
    for place in [*islice(_closing_fences(lines, start, ticks), MOST_FENCES), len(lines)]:
        fault = _fault("\n".join(lines[start:place]))
        if not fault or not (passed or fault.startswith(OPEN_STRING)):
            return place
        if not fault.startswith(OPEN_STRING):
            break
        passed.append(place)
    return passed[0]


def _closing_fences(lines: Sequence[str], start: int, ticks: str) -> Iterator[int]:
    for place in range(start, len(lines)):
        fence = FENCE.match(lines[place])
        if fence and not fence["info"].strip() and fence["ticks"].startswith(ticks):
            yield place


def _fault(code: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cell's execution shows the warnings
        try:
            compile(code, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            return error.msg or "invalid syntax"
        except (ValueError, MemoryError, RecursionError) as error:
            return str(error) or type(error).__name__
    return ""


def _finals(prose: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    at = 0
    while at < len(prose):
        begun = FINAL.match(prose[at])
        if begun is None:
            at += 1
            continue
        rest = "\n".join([begun["rest"], *prose[at + 1 : at + 1 + FAR]])
        content = rest[: _closing(rest)]
        found.append((begun["name"], content.strip()))
        at += 1 + content.count("\n")
    return found


def _labelled(lines: Sequence[str], prose: Mapping[int, str]) -> list[tuple[str, str]]:
    labels = {at: label for at, line in prose.items() if (label := _label(line))}
    found = []
    for at, after in pairwise([*labels, len(lines)]):
        answer = [_labelled_words(labels[at]), *lines[at + 1 : after]]
        content = "\n".join(answer).strip()
        found += _finals(content.split("\n")) or [("FINAL", content)]
    return [final for final in found if final[1]]


def _label(line: str) -> re.Match[str] | None:
    label = LABEL.match(line)
    if label is None or label["rest"] is not None:
        return label
    is_marked = label["heading"] or (label["marks"] and label["shut"])
    return label if is_marked else None


def _labelled_words(label: re.Match[str]) -> str:
    words = label["rest"] or ""
    if label["shut"] or label["closed"]:
        return words
    return words.rstrip().removesuffix(label["marks"])


def _closing(rest: str) -> int:
    quoted = rest.lstrip().startswith(("'", '"'))
    open_brackets = 1
    tries = 0
    for bracket in BRACKETS.finditer(rest):
        if bracket[0] == "(":
            open_brackets += 1
            continue
        open_brackets -= 1
        at = bracket.start()
        if not quoted and open_brackets == 0:
            return at
        if quoted and tries < TRIES:
            tries += 1
            content = rest[:at].strip()
            if _unquoted(content) != content:
                return at
    last = len(rest)
    for line_end in LAST.finditer(rest):
        last = line_end.start()
    return last


def _unquoted(content: str) -> str:
    try:
        literal = ast.literal_eval(content)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return content
    if isinstance(literal, str):
        return literal
    return content


Ended = Entry[ReadingEnded]


MOST_CELLS = 10
"""Most cells of one answer that are run."""


SILENT = 3
"""Number of answers in a row without code after which the reading ends."""


class ReadingHost(Protocol):
    """Interface of a reading to its turn, which records each step."""

    limits: ReadingLimits

    def system(self) -> Memory:
        """Return the owner's instructions for readings."""

    def prompt(self, name: str, **words: str) -> str:
        """Return the text prompts/reading/`name` with its placeholders filled."""

    async def begin(self, question: str, *, whole: bool = True) -> Entry[ReadingBegan]:
        """Record the shape of the context; with `whole`, the text of a short context."""

    async def ask(self, name: str, memory: WorkingMemory, *, last: bool = False) -> Entry[ModelCall]:
        """Ask the model for this depth; the `last` call may exceed the reading's limits."""

    async def run(self, code: str) -> Entry[CellRan]:
        """Run a cell after all earlier ones. Its code can use the variable `context`."""

    async def tell_model(self, text: str) -> Entry[SystemMessage]: ...

    async def reached_limit(self) -> Ending | None:
        """Return the limit that is reached; None if there is none."""

    async def end(self, answer: str, reason: Ending, *, partial: bool, iterations: int) -> Ended: ...


async def run_reading(host: ReadingHost, question: str, interrupt: Interrupt | None = None) -> Ended:
    """Answer a question about the host's context.

    A prompt contains only the context's shape or, since it works better, all of a short one. Failures of
    models and cells are not raised.
    """
    began = await host.begin(question)
    if began.event.fault:
        return await host.end(began.event.fault, "unreadable", partial=True, iterations=0)
    reading = ReadingLoop(host, interrupt, began)
    if began.event.short:
        ended = await reading.answer_in_one_call()
        if ended:
            return ended
        reading = ReadingLoop(host, interrupt, await host.begin(question, whole=False))
    return await reading.run()


class ReadingLoop:
    def __init__(self, host: ReadingHost, interrupt: Interrupt | None, began: Entry[ReadingBegan]) -> None:
        self._host = host
        self._began = began
        self._interrupt = interrupt
        self._memory = working_memory([host.system(), entry_as_memory(began)])
        self._iterations = 0
        self._silent = 0
        self._circles = RepetitionDetector(exact=True)

    async def answer_in_one_call(self) -> Ended | None:
        """Answer in one call; None if the context is too long."""
        self._iterations = 1
        began = self._began.event
        words = self._host.prompt(
            "short", question=escape_tags(began.question), context=escape_tags(began.shape)
        )
        call = await self._host.ask("read", working_memory([]).with_region("instruction", words))
        outcome = call.event.outcome
        if call.event.is_usable:
            text = strip_thoughts(call.event.text).strip()
            return await self._answered(text, partial=outcome == "cut")
        if call.event.is_too_long:
            return None
        if call.event.ran_out_of_time:
            return await self._ended("time")
        if outcome == "cancelled":
            return await self._stopped()
        if outcome == "over-budget":
            return await self._ended("money")
        return await self._ended("failed")

    async def run(self) -> Ended:
        while True:
            if await self._take_news():
                return await self._ended("stopped")
            reason = await self._reached_limit()
            if reason:
                return await self._unfinished(reason)
            self._iterations += 1
            ended = await self._round()
            if ended:
                return ended

    async def _reached_limit(self) -> Ending | None:
        if self._iterations >= self._host.limits.iterations:
            return "iterations"
        return await self._host.reached_limit()

    async def _take_news(self) -> bool:
        """Add the messages that came to the memory; return True if the reading is to end."""
        if self._interrupt is None:
            return False
        news = await self._interrupt()
        if isinstance(news, bool):
            return news
        self._memory = self._memory.with_memory(*news)
        return False

    async def _round(self) -> Ended | None:
        rounds = f"{self._iterations}/{self._host.limits.iterations}"
        asked = self._memory.with_region("instruction", self._host.prompt("turn", round=rounds))
        call = await self._host.ask("recurse", asked)
        match call.event.outcome:
            case "cancelled":
                return await self._broken_off(call.event)
            case "over-budget":
                return await self._unfinished("money")
        if not call.event.is_usable:
            return await self._ended("failed")
        self._memory = self._memory.with_memory(entry_as_memory(call))
        text = strip_thoughts(call.event.text)
        parsed = parse_reader_answer(text, whole=call.event.outcome == "ok")
        if parsed.final is not None:
            return await self._answered(parsed.final)
        if parsed.variable:
            parsed = ReaderAnswer(cells=(f"FINAL_VAR({parsed.variable!r})",))
        if not parsed.cells:
            return await self._ask_for_code(parsed)
        self._silent = 0
        return await self._run_cells(parsed.cells[:MOST_CELLS])

    async def _run_cells(self, cells: Sequence[str]) -> Ended | None:
        seen = []
        for code in cells:
            ran = await self._host.run(code)
            self._memory = self._memory.with_memory(entry_as_memory(ran))
            if ran.event.final is not None:
                return await self._answered(ran.event.final)
            seen.append(f"{code}\n{ran.event.text}")
        match self._circles.observe_round("\n".join(seen)):
            case "nudge":
                await self._tell_model("again")
            case "end":
                return await self._unfinished("stuck")
        return None

    async def _ask_for_code(self, parsed: ReaderAnswer) -> Ended | None:
        """Ask again, since text without code may be a thought and not the answer."""
        self._silent += 1
        if self._silent >= SILENT:
            return await self._unfinished("stuck")
        if parsed.finals:
            await self._tell_model("twice")
        else:
            await self._tell_model("codeless")
        return None

    async def _tell_model(self, name: str) -> None:
        told = await self._host.tell_model(self._host.prompt(name))
        self._memory = self._memory.with_memory(entry_as_memory(told))

    async def _broken_off(self, call: ModelCall) -> Ended:
        if call.ran_out_of_time:
            return await self._unfinished("time")
        return await self._stopped()

    async def _stopped(self) -> Ended:
        await self._take_news()
        return await self._ended("stopped")

    async def _unfinished(self, reason: Ending) -> Ended:
        asked = self._memory.with_region("instruction", self._host.prompt("unfinished"))
        call = await self._host.ask("extract", asked, last=True)
        if call.event.outcome == "cancelled" and not call.event.ran_out_of_time:
            return await self._stopped()
        answer = ""
        if call.event.is_usable:
            text = strip_thoughts(call.event.text)
            answer = parse_reader_answer(text).final or text.strip()
        return await self._ended(reason, answer)

    async def _answered(self, answer: str, *, partial: bool = False) -> Ended:
        return await self._host.end(answer, "answered", partial=partial, iterations=self._iterations)

    async def _ended(self, reason: Ending, answer: str = "") -> Ended:
        return await self._host.end(answer, reason, partial=True, iterations=self._iterations)
