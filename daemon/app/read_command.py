"""`python -m daemon read FILE… -q "…"`: a reading in a terminal, with its own journal.

The same question on the same files resumes an interrupted reading. During an outage, calls are retried until
the time limit; a fault that the owner must mend ends the reading.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, TextIO

from config import KEY_HINT, Settings
from daemon.app.backend_watch import look_up_server
from daemon.app.discovery import PROCESSES, prompt_catalogue
from daemon.app.wiring import (
    make_claude,
    make_reading_setup,
    make_request_queue,
    make_sandboxes,
    models_by_role,
)
from daemon.claude.answer_stream import TOO_LONG, StreamedAnswer
from daemon.claude.availability import FAILURE_REASONS, PASSING_FAILURES, ModelAvailability
from daemon.claude.client import ClaudeClient
from daemon.claude.deadlines import CallStopped, StreamDeadline
from daemon.claude.request_queue import RequestQueue
from daemon.documents.citations import check_citations
from daemon.documents.document import Document, DocumentError
from daemon.documents.loading import read_document
from daemon.engine.clock import Clock, SystemClock
from daemon.engine.event import Entry, is_part, storable_text
from daemon.engine.execution import Hold
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import open_reader
from daemon.engine.worker import Worker
from daemon.errors import PostFailed, escaped_line
from daemon.kinds import (
    SOUL_KINDS,
    CellBegan,
    ConversationOpened,
    IncomingMessage,
    ModelCall,
    ReadingEnded,
    SoulTurnEnded,
)
from daemon.knowledge.person_notes import PersonModels
from daemon.knowledge.visibility import KnownChannels
from daemon.memory import WorkingMemory
from daemon.mind.steps import STEP_TEXTS
from daemon.model import LLM, Hear, ModelReply, Role, settings_naming_model
from daemon.ports import EarlierMessages, MessagePage, Open, PostedMessage, Speaker
from daemon.process import Turn
from daemon.reading.reading_steps import read_source
from daemon.sandbox.foreign_output import strip_control_characters
from daemon.settings.home import READS, create_home, project_root
from daemon.settings.limits import Limits
from daemon.settings.parse import ConfigError
from daemon.turn.history import ThreadHistories
from daemon.turn.prompt_files import PromptFiles
from daemon.turn.soul_program import SoulProgram
from daemon.turn.turn import TERMINAL_PLACE, Process, TurnDependencies
from daemon.turn.usage_limits import DailyBudget, LimitChecker

PAUSE = 5.0
"""Seconds before the first retry; doubled before each further one."""


LONGEST_PAUSE = 60.0


DOCTOR = "`python -m daemon doctor` looks at the way there."


AGAIN = "Then ask the same again: it goes on where it was."


ADVICE = {
    "unauthorized": (
        "{account.key} is not taken. Get a key {account.keys}, and put it into .env or the environment."
        f" {AGAIN} {DOCTOR}"
    ),
    "no-credit": (
        "the account of {account.key} has no credit left, or has reached its own limit. Add credit, or raise"
        f" the limit, {{account.billing}}. {AGAIN}"
    ),
    "forbidden": (
        "{account.key} may not use the model {model}. Allow it to {account.site}, or name another one in"
        f" {{settings}}. {AGAIN} {DOCTOR}"
    ),
    "unknown-model": (
        "there is no model {model} for this account. Correct {settings}, or {account.address} where another"
        f" server is asked. {AGAIN} {DOCTOR}"
    ),
    "bad-request": (
        "{model} does not understand what it is asked{cause}. Another model may: it is named in {settings}."
        f" {DOCTOR}"
    ),
}
"""Remedies for permanent failures, by word of ModelReply.failure."""


AWAY = (
    f"{{reason}}{{cause}} until RLM_MAX_TIME was over ({{model}}). Ask the same again later: it goes on where"
    f" it was. {DOCTOR}"
)


TRY = "No answer yet (try {tries}). {model}: {reason}{cause}.{pause} It is tried again until RLM_MAX_TIME."


LEFT_ALONE = " It asks to be left alone for {seconds:.0f} s."


class FailedTryLog:
    """Counter that prints each failed try."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._tries = 0

    def __call__(self, model: str, answer: StreamedAnswer) -> None:
        """Print a failed try; permanent failures are only printed at the end."""
        if answer.failure not in PASSING_FAILURES:
            return
        self._tries += 1
        pause = LEFT_ALONE.format(seconds=answer.after) if answer.after else ""
        self._say(
            TRY.format(
                tries=self._tries,
                model=model,
                reason=FAILURE_REASONS[answer.failure],
                cause=_in_brackets(answer.cause),
                pause=pause,
            )
        )


class TerminalModel:
    """Models of the roles in `models`, called through `claude`."""

    def __init__(self, claude: ClaudeClient, clock: Clock, models: Mapping[Role, str]) -> None:
        self._claude = claude
        self._clock = clock
        self._models = models
        self.gave_up: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Reason why no model will answer, once known; from then on calls wait for cancellation."""
        self.request = claude.request
        self.bounded_request = claude.bounded_request
        self.highest_cost = claude.highest_cost
        self.window = claude.window
        self.excess_tokens = claude.excess_tokens

    async def call(
        self, request: Mapping[str, Any], hear: Hear | None, hold: Hold, stop: asyncio.Event
    ) -> ModelReply:
        failed: ModelReply | None = None
        pause = PAUSE
        while True:
            reply = await self._claude.call(request, hear, hold, stop)
            if reply.outcome == "cancelled" and failed:
                await self._leave_unanswered(AWAY, failed)
            if reply.outcome != "failed" or reply.failure == TOO_LONG:
                return reply
            if reply.failure not in PASSING_FAILURES:
                await self._leave_unanswered(ADVICE.get(reply.failure, ADVICE["bad-request"]), reply)
            failed = reply
            with suppress(CallStopped):
                async with StreamDeadline(self._clock, math.inf, stop):
                    await self._clock.sleep(max(pause, reply.after))
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _leave_unanswered(self, why: str, reply: ModelReply) -> NoReturn:
        """Set `gave_up`, and leave the call pending, to be resumed later."""
        if not self.gave_up.done():
            model = reply.model
            self.gave_up.set_result(
                why.format(
                    model=model,
                    reason=FAILURE_REASONS.get(reply.failure, reply.failure),
                    cause=_in_brackets(reply.cause),
                    account=self._claude.account,
                    settings=" or ".join(settings_naming_model(model, self._models)) or "RLM_MODELS",
                )
            )
        while True:
            await asyncio.Event().wait()


def _in_brackets(cause: str) -> str:
    return f" ({cause})" if cause else ""


ANSWERED, FAILED, PARTIAL = 0, 1, 2
"""Exit statuses."""


HERE = ConversationOpened(
    team="",
    channel="terminal",
    ts="1.000000",
    where=TERMINAL_PLACE,
    place="a terminal",
    audience="dm",
    user="terminal",
    called_by="1.000000",
)


ALONE = "context"
"""Name of a single file in citations."""


JOINED = re.compile("[^\u200c\u200d]+")
"""Pattern of text between zero-width joiners, which many scripts and emojis need."""


GRACE = 0.5
"""Seconds to end at a stop; unfinished work is resumed at the next start."""


BAR = 24
"""Characters of the progress bar."""


REASONS = {
    "iterations": "it came to its bound of rounds (RLM_MAX_ITERATIONS)",
    "calls": "it came to its bound of calls (RLM_MAX_CALLS)",
    "money": "it came to its bound of dollars (RLM_MAX_USD, or BUDGET_DAILY_USD)",
    "time": "it came to its bound of time (RLM_MAX_TIME)",
    "stuck": "it went in circles, or wrote nothing that could be run",
    "stopped": "it was stopped",
    "failed": "the model refused, or was asked for more than it can take (its journal says which)",
    "answered": "the model's final answer was empty",
}


async def read_in_terminal(
    settings: Settings,
    paths: Sequence[Path],
    question: str,
    place: Path | None = None,
    open: Open | None = None,
    clock: Clock | None = None,
) -> int:
    """Print the answer to stdout and the progress to stderr; return the exit status.

    `place`: path of the journal; by default below `SOUL_HOME/reads/`. Raises ConfigError without a model or
    if the path has another journal, JournalError if the journal cannot be written.
    """
    if settings.claude == "rehearsed":
        raise ConfigError(f"ANTHROPIC_API_KEY is missing; a script reads nothing. {KEY_HINT}")
    try:
        documents = [await read_document(path.name, _bytes(path)) for path in paths]
    except DocumentError as error:
        print(escaped_line(str(error)), file=sys.stderr)
        return FAILED
    if len({document.name for document in documents}) < len(documents):
        raise ConfigError(
            "Two of the files have one name: rename one, so that it can be said which is meant."
        )
    for document in documents:
        for note in document.notes:
            print(escaped_line(note), file=sys.stderr)
    asked = ReadingInput(documents=documents, question=storable_text(question))
    async with make_sandboxes(settings) as sandboxes:
        where = _usable_path(place, asked) if place else _journal_place(settings, asked)
        ended = await _run_reading(settings, where, asked, open or sandboxes.open, clock or SystemClock())
    return _print_outcome(ended, documents)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingInput:
    """Documents of a reading and the question about them."""

    documents: Sequence[Document]
    question: str

    @property
    def digest(self) -> str:
        hasher = hashlib.sha256(self.question.encode())
        for document in self.documents:
            hasher.update(f"\0{document.name}\0{document.text}".encode(errors="surrogatepass"))
        return hasher.hexdigest()[:12]

    @property
    def key(self) -> str:
        return f"asked:{self.digest}"

    async def load(self) -> Any:
        if len(self.documents) == 1:
            return self.documents[0].text
        return {document.name: document.text for document in self.documents}

    async def process(self, turn: Turn) -> WorkingMemory:
        await read_source(turn, self.question, self.load)
        return turn.memory


def _print_outcome(ended: ReadingEnded | str | None, documents: Sequence[Document]) -> int:
    if isinstance(ended, str):
        print(escaped_line(f"No model answered: {ended}"), file=sys.stderr)
        return FAILED
    if ended is None:
        print("Nothing came of it: its journal says why.", file=sys.stderr)
        return FAILED
    why = REASONS.get(ended.reason, ended.reason)
    if not ended.answer:
        print(escaped_line(f"No answer: {why}."), file=sys.stderr)
        return FAILED
    _print_answer(ended.answer, documents)
    if not ended.partial:
        return ANSWERED
    print(escaped_line(f"Read in part: {why}."), file=sys.stderr)
    return PARTIAL


def _print_answer(answer: str, documents: Sequence[Document]) -> None:
    citable = [*documents]
    if len(documents) == 1:
        citable.append(replace(documents[0], name=ALONE))
    checked = check_citations(answer, citable)
    print(JOINED.sub(_printable_part, checked.text))
    if checked.dropped:
        print(f"citations left out that do not hold: {checked.dropped}", file=sys.stderr)


def _printable_part(part: re.Match[str]) -> str:
    return strip_control_characters(part[0].encode())


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or error.__class__.__name__
        raise DocumentError(f"{path} cannot be read ({reason}): name another file.") from error


async def _run_reading(
    settings: Settings, place: Path, asked: ReadingInput, open: Open, clock: Clock
) -> ReadingEnded | str | None:
    """Run or resume the reading; return its end, or the reason why no model answers."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        journal = await enter(Journal(place, clock, SOUL_KINDS))
        progress = ReadingProgress(settings.reading.iterations, sys.stderr)
        claude = await enter(make_claude(settings, clock, "", FailedTryLog(progress.say)))
        await look_up_server(claude, clock)
        model = TerminalModel(claude, clock, models_by_role(settings))
        world = _make_terminal_dependencies(
            settings, journal, model, make_request_queue(settings, claude), clock, asked.process, open
        )
        opened, _ = await journal.open_thread("thread:terminal", HERE)
        message = IncomingMessage(
            user="terminal", name="terminal", text=asked.question, ts=HERE.ts, address="dm"
        )
        await journal.append(opened.thread, message, key=asked.key, author="terminal", cause=opened.seq)
        following = asyncio.create_task(progress.follow(journal))
        async with Worker(journal, clock, SoulProgram(world), grace=GRACE) as worker:
            worker.wake(opened.thread)
            ends: set[asyncio.Future[Any]] = {following, journal.died, model.gave_up}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            following.result()
        following.cancel()
        progress.say(f"{place}: `python -m daemon trace {opened.thread} --journal {place}` shows how.")
        if model.gave_up.done():
            return model.gave_up.result()
        return _last_ending(journal)


def _last_ending(journal: Journal) -> ReadingEnded | None:
    for ended in reversed(journal.entries_of_kind(ReadingEnded)):
        if not is_part(ended.key):
            return ended.event
    return None


def _journal_place(settings: Settings, asked: ReadingInput) -> Path:
    folder = settings.soul_home / READS
    create_home(settings.soul_home)
    create_home(folder)
    digest = asked.digest
    number = 1
    while True:
        path = folder / f"{digest}-{number}.db"
        if not _is_there(path) or _is_cut_off(path):
            return path
        number += 1


def _usable_path(path: Path, asked: ReadingInput) -> Path:
    """Return the path if no file is there, or the same reading, interrupted. Raises ConfigError otherwise."""
    if not _is_there(path):
        return path
    with open_reader(path, SOUL_KINDS) as journal:
        keys = [entry.key for entry in journal.entries_of_kind(IncomingMessage)]
    if keys == [asked.key] and _is_cut_off(path):
        return path
    raise ConfigError(f"{path} holds another journal, or a reading that is over: name a new file.")


def _is_there(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _is_cut_off(path: Path) -> bool:
    """True if the reading in this journal did not end; then say that it is resumed."""
    with open_reader(path, SOUL_KINDS) as journal:
        if journal.entries_of_kind(SoulTurnEnded):
            return False
    print("Going on where it was cut off.", file=sys.stderr)
    return True


def _make_terminal_dependencies(
    settings: Settings,
    journal: Journal,
    model: LLM,
    queue: RequestQueue,
    clock: Clock,
    process: Process,
    open: Open,
) -> TurnDependencies:
    budget = DailyBudget(journal, clock, settings.budget_daily_usd)
    nothing = Limits()
    return TurnDependencies(
        journal=journal,
        llm=model,
        speaker=NullSpeaker(),
        clock=clock,
        budget=budget,
        gauge=LimitChecker(journal, clock, budget, turn=nothing, thread=nothing, person=nothing),
        pasts=ThreadHistories(journal),
        people=PersonModels(journal, KnownChannels(journal)),
        reach=ModelAvailability(journal, clock, models_by_role(settings)),
        texts=PromptFiles(project_root(), journal, prompt_catalogue(PROCESSES.values(), STEP_TEXTS)),
        surroundings=NullSpeaker(),
        processes={"reading": process},
        initial="reading",
        readings=make_reading_setup(settings, open),
        queue=queue,
    )


class NullSpeaker(Speaker):
    """Speaker and Surroundings of a reading, which has no workspace."""

    async def earlier_messages(self, thread: str) -> EarlierMessages:
        return EarlierMessages()

    def status(self, *_: object) -> None: ...

    def pages(self, text: str, *_: object) -> Sequence[MessagePage]:
        return [MessagePage(text=text, upto=len(text))] if text else []

    def page_end(self, text: str, since: int) -> int:
        return len(text)

    async def own_messages(self, *_: object) -> Sequence[PostedMessage]:
        return ()

    async def name(self, person: str) -> str:
        return ""

    async def start(self, *_: object, **__: object) -> Any:
        raise PostFailed("there is nobody to speak to")

    def report_left_out(self, thread: str, word: str) -> None: ...

    extend = finish = leave_message = replace = retract = show_card = whisper = open_dm = start


class ReadingProgress:
    """Progress of a reading: one changing line in a terminal, elsewhere one line per round."""

    def __init__(self, rounds: int, out: TextIO) -> None:
        self._rounds = rounds
        self._out = out
        self._lively = out.isatty()
        self._done = self._pieces = self._cells = 0
        self._usd = 0.0

    async def follow(self, journal: Journal) -> None:
        async for entries in journal.follow_entries(0):
            for entry in entries:
                self._count(entry)
                if isinstance(entry.event, SoulTurnEnded):
                    if self._lively:
                        print(file=self._out)
                    return
            self._show()

    def say(self, line: str) -> None:
        """Print a line above the line of the progress."""
        if self._lively:
            print("\r\x1b[K", end="", file=self._out)
        print(escaped_line(line), file=self._out, flush=True)

    def _count(self, entry: Entry[Any]) -> None:
        event = entry.event
        if isinstance(event, CellBegan):
            self._cells += 1
        if not isinstance(event, ModelCall):
            return
        self._usd += event.cost
        if event.name == "llm_query":
            self._pieces += 1
            return
        if event.name == "recurse" and not is_part(entry.key):
            self._done += 1
        if not self._lively:
            print(self._line(), file=self._out, flush=True)

    def _line(self) -> str:
        return (
            f"reading · round {self._done} of {self._rounds} · programs: {self._cells}"
            f" · pieces: {self._pieces} · ${self._usd:.2f}"
        )

    def _show(self) -> None:
        if self._lively:
            filled = min(self._done * BAR // self._rounds, BAR)
            bar = "█" * filled + "░" * (BAR - filled)
            print(f"\r{bar} {self._line()}\x1b[K", end="", file=self._out, flush=True)
