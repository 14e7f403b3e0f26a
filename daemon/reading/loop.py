"""Recursion: a model reads what is longer than its window, by small programs and by calling itself.

The loop of the seed (recursive-language-models.md): prompt, model, code, execution, observation, and again,
until there is a final answer. It talks to nothing but the Node that it is given: one reading, and where its
calls, its cells and its entries go.

What stands in an answer of a model that reads: cells of code, or its final words. Pure.

The dialects of the public implementations count alike: fences of `repl` or `python`, of backticks or tildes,
or on a single line, and a final answer as FINAL(…), FINAL_VAR(…), SUBMIT(…) or "Final Answer: …".
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
"""Brings the text that is to be read, or lists and dicts of texts and other plain values.

Raises ContextError if it cannot.
"""


Interrupt = Callable[[], Awaitable[bool | Sequence[Memory]]]
"""Looks between two rounds what came meanwhile: True ends the reading, memories are what was said."""


LANGUAGES = frozenset({"repl", "python", "py", "python3"})


FENCE = re.compile(r"\s{0,3}(?P<ticks>`{3,}+(?![^`]*+`)|~{3,}+)\s*+(?P<info>(?P<language>[\w+-]*+).*+)$")
"""Gives nothing back that it has taken: so it takes no longer than the line is."""


INLINE = re.compile(
    r"(?<!`)(?P<ticks>`{3,}+)(?P<language>[\w+-]++)[ \t]++"
    r"(?P<code>(?:(?!(?P=ticks)).){1,4000}+)(?P=ticks)(?!`)"
)
"""A whole block on one line."""


BEFORE_INLINE = re.compile(r"[-*+]?|\d{1,9}\)|.*[.:;!?…][*_]{0,3}")
"""What may stand before such a block: whole sentences, or a list's mark; else it is part of a sentence."""


TITLE = re.compile(r"(?!(?:import|from)\s)[\w\s.,/:#-]*+|[({\[].*+")
"""Words after the language of a fence that are no code."""


ATTRIBUTES = re.compile(r"(?:[\w-]++=(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'(\[{]++)\s*+)++")
"""Words that are none either where code follows them: `title=look`."""


LINE = re.compile(r"\r\n|\r|\n")
"""Where a line ends for Python, which a cell is; other ends of lines may stand in a text of it."""


OPEN_STRING = "unterminated triple-quoted"
"""How Python begins to say of a string, formatted or not, that it is never closed."""


MOST_FENCES = 50
"""Fences within strings of one cell that are looked at."""


MOST_GLUED = 10
"""Lines of one cell that end with a fence, and are tried as its end; and cells for which that is done."""


BRACKETS = re.compile(r"[()]")


LAST = re.compile(r"\)[ \t]*$", re.MULTILINE)


TRIES = 50
"""Brackets within a quoted answer that are tried as its end."""


FAR = 500
"""Lines after its first in which a final answer ends."""


FINAL = re.compile(r"\s*(?P<name>FINAL|FINAL_VAR|SUBMIT)\((?P<rest>.*)$")


LABEL = re.compile(
    r"[ ]{0,3}(?P<heading>\#{1,6}[ \t]+)?(?P<marks>[*_]{0,3})"
    r"(?:(?:the|my|here[ \t]+is[ \t]+(?:the|my))[ \t]+)?final[ \t]+answer(?:[ \t]+is)?"
    r"(?P<shut>[*_]{0,3})[ \t]*(?:[:\uff1a](?P<closed>[*_]{0,3})(?P<rest>.*))?$",
    re.IGNORECASE,
)
"""A line that begins a final answer in prose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderAnswer:
    """What a model wrote: its cells in order; where there is none, its final answer.

    `final` is the text of it, `variable` the name of the variable that holds it. `finals` counts how many
    different ones were given: with more than one none counts.
    """

    cells: tuple[str, ...] = ()
    final: str | None = None
    variable: str = ""
    finals: int = 0


def parse_reader_answer(text: str, *, whole: bool = True) -> ReaderAnswer:
    """What stands in this answer. What is not closed counts only where the answer is `whole`."""
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
    """The cells, and the lines that stand in no fence, by their places."""
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
    """Return the code of the blocks that end this line, unless they are part of a sentence."""
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
    """Return the code that stands in the line of the fence itself, before the rest of its block, if any."""
    first = fence["info"].removeprefix(fence["language"]).strip()
    is_title = TITLE.fullmatch(first) or (ATTRIBUTES.fullmatch(first) and "".join(block).strip())
    if is_title or _fault("\n".join([first, *block])):
        return []
    return [first]


def _glued_cell(block: Sequence[str], ticks: str) -> list[str] | None:
    """Return the lines of a cell whose fence is closed at the end of its last line; None if it is not so."""
    ends = [place for place, line in enumerate(block) if line.rstrip().endswith(ticks)]
    if not ends or not _fault("\n".join(block)):
        return None
    for place in ends[:MOST_GLUED]:
        cell = [*block[:place], block[place].rstrip().rstrip(ticks[0])]
        if not _fault("\n".join(cell)):
            return cell
    return None


def _end_of_block(lines: Sequence[str], start: int, ticks: str, *, is_code: bool) -> int:
    """Return the place of the fence that ends the block which begins at `start`; without one, of the end.

    In code that is the first one that does not stand in a string: a prompt may put a text between fences.
    Where each one seems to, a string was never closed, and the first one counts.
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
    """Yield the places of the lines that may close a block with a fence of these ticks, or tildes."""
    for place in range(start, len(lines)):
        fence = FENCE.match(lines[place])
        if fence and not fence["info"].strip() and fence["ticks"].startswith(ticks):
            yield place


def _fault(code: str) -> str:
    """Return the words in which Python refuses the code; empty if it is whole."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its escapes, say: whoever runs it is told
        try:
            compile(code, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            return error.msg or "invalid syntax"
        except (ValueError, MemoryError, RecursionError) as error:
            return str(error) or type(error).__name__
    return ""


def _finals(prose: Sequence[str]) -> list[tuple[str, str]]:
    """Each call of a final that begins a line, as its name and what stands in its brackets."""
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
    """Return each answer that a label begins, as `_finals` does. It goes on to the next label, or the end."""
    labels = {at: label for at, line in prose.items() if (label := _label(line))}
    found = []
    for at, after in pairwise([*labels, len(lines)]):
        answer = [_labelled_words(labels[at]), *lines[at + 1 : after]]
        content = "\n".join(answer).strip()
        found += _finals(content.split("\n")) or [("FINAL", content)]
    return [final for final in found if final[1]]


def _label(line: str) -> re.Match[str] | None:
    """Return the label in this line, if it has one: without a colon only a heading or bold words are one."""
    label = LABEL.match(line)
    if label is None or label["rest"] is not None:
        return label
    is_marked = label["heading"] or (label["marks"] and label["shut"])
    return label if is_marked else None


def _labelled_words(label: re.Match[str]) -> str:
    """Return what stands in the line of a label, without the end of marks that began before it."""
    words = label["rest"] or ""
    if label["shut"] or label["closed"]:
        return words
    return words.rstrip().removesuffix(label["marks"])


def _closing(rest: str) -> int:
    """Where the bracket stands that closes what comes before this: the first that makes all brackets even, or
    ends a literal in quotes; where there is none, the last bracket that ends a line, else the end."""
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
    """The text of a literal in quotes; anything else as it is."""
    try:
        literal = ast.literal_eval(content)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return content
    if isinstance(literal, str):
        return literal
    return content


Ended = Entry[ReadingEnded]


MOST_CELLS = 10
"""Cells of one answer that are run."""


SILENT = 3
"""Answers in a row with nothing to run, after which it goes no further."""


class ReadingHost(Protocol):
    """One reading: the root, or one that a cell called. Each of its steps is recorded, and read back."""

    limits: ReadingLimits

    def system(self) -> Memory:
        """The owner's words on how to read."""

    def prompt(self, name: str, **words: str) -> str:
        """A text of the owner's of prompts/reading/, filled."""

    async def begin(self, question: str, *, whole: bool = True) -> Entry[ReadingBegan]:
        """It begins: the context is there, and its shape is known; what is short is `whole`, if it may be."""

    async def ask(self, name: str, memory: WorkingMemory, *, last: bool = False) -> Entry[ModelCall]:
        """Ask the model of this depth. The `last` call may go past the reading's own bounds."""

    async def run(self, code: str) -> Entry[CellRan]:
        """Run this cell in a sandbox in which `context` is known, after all cells before it."""

    async def tell_model(self, text: str) -> Entry[SystemMessage]:
        """The model is told this."""

    async def reached_limit(self) -> Ending | None:
        """Which bound stands in the way of another call."""

    async def end(self, answer: str, reason: Ending, *, partial: bool, iterations: int) -> Ended:
        """It has come to this."""


async def run_reading(node: ReadingHost, question: str, interrupt: Interrupt | None = None) -> Ended:
    """Answer a question about the context of this node.

    What is long never stands in a prompt, only its shape does; what is short is read in one call, which does
    better then. Raises nothing for what models and cells do.
    """
    began = await node.begin(question)
    if began.event.fault:
        return await node.end(began.event.fault, "unreadable", partial=True, iterations=0)
    reading = ReadingLoop(node, interrupt, began)
    if began.event.short:
        ended = await reading.answer_in_one_call()
        if ended:
            return ended
        reading = ReadingLoop(node, interrupt, await node.begin(question, whole=False))
    return await reading.run()


class ReadingLoop:
    """One reading on its way. The prompt only grows."""

    def __init__(self, node: ReadingHost, interrupt: Interrupt | None, began: Entry[ReadingBegan]) -> None:
        self._node = node
        self._began = began
        self._interrupt = interrupt
        self._memory = working_memory([node.system(), entry_as_memory(began)])
        self._iterations = 0
        self._silent = 0
        """How many answers in a row had nothing to run."""
        self._circles = RepetitionDetector(exact=True)

    async def answer_in_one_call(self) -> Ended | None:
        """In one call, which sees it all; None where that is too long for the model."""
        self._iterations = 1
        began = self._began.event
        words = self._node.prompt(
            "short", question=escape_tags(began.question), context=escape_tags(began.shape)
        )
        call = await self._node.ask("read", working_memory([]).with_region("instruction", words))
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
        """Round after round, to its end."""
        while True:
            if await self._interrupted():
                return await self._ended("stopped")
            reason = await self._bound()
            if reason:
                return await self._unfinished(reason)
            self._iterations += 1
            ended = await self._round()
            if ended:
                return ended

    async def _bound(self) -> Ending | None:
        if self._iterations >= self._node.limits.iterations:
            return "iterations"
        return await self._node.reached_limit()

    async def _interrupted(self) -> bool:
        if self._interrupt is None:
            return False
        came = await self._interrupt()
        if isinstance(came, bool):
            return came
        self._memory = self._memory.with_memory(*came)
        return False

    async def _round(self) -> Ended | None:
        """One call, and the cells that came of it; the end, where it is one."""
        rounds = f"{self._iterations}/{self._node.limits.iterations}"
        asked = self._memory.with_region("instruction", self._node.prompt("turn", round=rounds))
        call = await self._node.ask("recurse", asked)
        match call.event.outcome:
            case "cancelled":
                return await self._broken_off(call.event)
            case "over-budget":
                return await self._unfinished("money")
        if not call.event.is_usable:
            return await self._ended("failed")
        self._memory = self._memory.with_memory(entry_as_memory(call))
        text = strip_thoughts(call.event.text)
        wrote = parse_reader_answer(text, whole=call.event.outcome == "ok")
        if wrote.final is not None:
            return await self._answered(wrote.final)
        if wrote.variable:
            wrote = ReaderAnswer(cells=(f"FINAL_VAR({wrote.variable!r})",))
        if not wrote.cells:
            return await self._nothing_to_run(wrote)
        self._silent = 0
        return await self._cells(wrote.cells[:MOST_CELLS])

    async def _cells(self, cells: Sequence[str]) -> Ended | None:
        came = []
        for code in cells:
            ran = await self._node.run(code)
            self._memory = self._memory.with_memory(entry_as_memory(ran))
            if ran.event.final is not None:
                return await self._answered(ran.event.final)
            came.append(f"{code}\n{ran.event.text}")
        match self._circles.observe_round("\n".join(came)):
            case "nudge":
                await self._tell("again")
            case "end":
                return await self._unfinished("stuck")
        return None

    async def _nothing_to_run(self, wrote: ReaderAnswer) -> Ended | None:
        """An answer without a cell is no answer yet: it may have been a thought."""
        self._silent += 1
        if self._silent >= SILENT:
            return await self._unfinished("stuck")
        if wrote.finals:
            await self._tell("twice")
        else:
            await self._tell("codeless")
        return None

    async def _tell(self, name: str) -> None:
        told = await self._node.tell_model(self._node.prompt(name))
        self._memory = self._memory.with_memory(entry_as_memory(told))

    async def _broken_off(self, call: ModelCall) -> Ended:
        """A call was broken off: the time is over, or somebody did that. What is known by now is said."""
        if call.ran_out_of_time:
            return await self._unfinished("time")
        return await self._stopped()

    async def _stopped(self) -> Ended:
        """Whoever stopped it is heard."""
        await self._interrupted()
        return await self._ended("stopped")

    async def _unfinished(self, reason: Ending) -> Ended:
        """Something stands in the way: one more call says what is known by now."""
        asked = self._memory.with_region("instruction", self._node.prompt("unfinished"))
        call = await self._node.ask("extract", asked, last=True)
        if call.event.outcome == "cancelled" and not call.event.ran_out_of_time:
            return await self._stopped()
        answer = ""
        if call.event.is_usable:
            text = strip_thoughts(call.event.text)
            answer = parse_reader_answer(text).final or text.strip()
        return await self._ended(reason, answer)

    async def _answered(self, answer: str, *, partial: bool = False) -> Ended:
        return await self._node.end(answer, "answered", partial=partial, iterations=self._iterations)

    async def _ended(self, reason: Ending, answer: str = "") -> Ended:
        """It goes no further, for this reason; the answer is what is known by now."""
        return await self._node.end(answer, reason, partial=True, iterations=self._iterations)
