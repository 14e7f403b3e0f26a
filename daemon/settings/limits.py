"""Limits of the soul, prices of models, and programs that the soul may run.

A slot's value comes from a model, and so from people: it is one argument, and never run as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens of a call; `input` excludes cache reads and writes."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    def __add__(self, more: TokenUsage) -> TokenUsage:
        return TokenUsage(
            input=self.input + more.input,
            cache_read=self.cache_read + more.cache_read,
            cache_write=self.cache_write + more.cache_write,
            output=self.output + more.output,
        )

    @property
    def prompt(self) -> int:
        """Input tokens, including cached ones."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        return self.prompt + self.output


PROCESS_TIMEOUT = 600.0
"""Default seconds for a program of the inner life."""

CONTINUE = "continue"
"""Value of an owner's choice to continue past a limit."""

ITERATIONS = "iterations"
"""Name of the limit on self-calls for one message of a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Most calls of models, tokens, dollars, seconds and calls of tools; None: unlimited."""

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None
    tools: int | None = None


TURN = Limits(calls=40, tokens=600_000, usd=1.0, seconds=900.0, tools=30)
THREAD = Limits(calls=400, tokens=6_000_000, usd=5.0)

PERSON = Limits(calls=1_000, usd=3.0)
"""Default limits of a person per UTC day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """Limits of a reading and of all readings below it together.

    `depth`: levels below the first. `iterations`: rounds of each. `concurrency`: simultaneous calls. Texts
    below `threshold` estimated tokens are read in one call.
    """

    depth: int = 1
    iterations: int = 20
    calls: int = 500
    usd: float = 1.0
    seconds: float = 900.0
    concurrency: int = 16
    threshold: int = 8_000


READING = ReadingLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerLimits:
    """Limits of the inner life: seconds between ticks, dollars and messages per UTC day, reading of DMs."""

    pause: float = 60.0
    usd: float = 1.0
    messages: int = 10
    reads_dms: bool = False


DEFAULT_INNER_LIMITS = InnerLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimits:
    """Timeouts in seconds: `first_event` after the request (None: by model), `stall` between parts of a
    stream.
    """

    first_event: float | None = None
    stall: float = 60.0

    @property
    def events(self) -> float:
        """Most seconds without an event, despite comments and pings."""
        return max(WITHOUT_EVENT, self.first_event or 0.0)


WITHOUT_EVENT = 600.0
"""Seconds for which comments and pings keep a stream open."""

STREAM = StreamLimits()
IsSlot = Callable[[str], bool]

RUNNERS = re.compile(
    r"""
    chroot|chrt|entr|env|firejail|flock|ionice|ltrace|nice|nohup|parallel|script|setpriv|setsid|stdbuf
    |strace|systemd-run|taskset|time|timeout|unshare|watch|xargs  # that start another program
    |bwrap|busybox|docker|doas|kubectl|mosh|nsenter|pkexec|podman|rsh|runuser|screen|ssh|sshpass|su|sudo
    |tmux|toybox  # that start it elsewhere, or as somebody else
    |bunx?|crontab|deno|expect|g?make|np[mx]|pipx|pnpm|pwsh|tclsh|uvx?|wish|yarn  # that read code anywhere
    |ed|emacs|ex|gdb|lldb|mariadb|mysql|n?vim|psql|sqlite3|vi|view  # that have commands which start programs
    """,
    re.VERBOSE,
)
"""Programs that run what their arguments say, so that no argument may be a slot."""

RUN_BY_FIND = re.compile("-(exec|ok)(dir)?")
END_OF_OPTIONS = "--"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A family of interpreters.

    `flags` are option letters without a value, `code` those that take code. `inline`: without code options,
    the first operand is code.
    """

    names: re.Pattern[str]
    flags: str
    code: str
    inline: bool = False

    def runs_slot(self, arguments: Sequence[str], is_slot: IsSlot) -> bool:
        """True if a slot would be read as code or as a script's path.

        An unknown option may take a value, so the next operand does not count as code.
        """
        has_code, inline, expects = False, self.inline, "operand"
        for argument in arguments:
            if is_slot(argument):
                if not has_code or expects in ("code", "value"):
                    return True
                expects = "operand"
            elif argument == END_OF_OPTIONS:
                expects = "code" if expects == "code" else "operand"
            elif argument[:1] in ("-", "+"):
                expects = self._expected_after(argument, expects)
                inline = inline or expects == "code"
            else:
                has_code = has_code or expects != "value"
                expects = "operand"
                if has_code and not inline:
                    return False  # the script's arguments
        return False

    def _expected_after(self, option: str, expected: str) -> str:
        if re.fullmatch(f"-[{self.flags}]*[{self.code}]", option):
            return "code"
        if re.fullmatch(f"[-+][{self.flags}]+", option) or (option.startswith("--") and "=" in option):
            return "code" if expected == "code" else "operand"
        return "value"


INTERPRETERS = (
    Interpreter(names=re.compile("([akz]|ba|c|da|fi|mk|tc|ya)?sh"), flags="abefhiklmnprtuvxBCEHPT", code="c"),
    Interpreter(names=re.compile(r"(python|pypy)[\d.]*"), flags="bBdEiIOPqsSuvx", code="cm"),
    Interpreter(names=re.compile(r"perl[\d.]*"), flags="acfnpsStTuUvwWX", code="eE"),
    Interpreter(names=re.compile(r"ruby[\d.]*"), flags="aclnpsSvw", code="e"),
    Interpreter(names=re.compile("node(js)?"), flags="i", code="ep"),
    Interpreter(names=re.compile(r"php[\d.]*"), flags="nq", code="BEFRrf"),
    Interpreter(names=re.compile(r"lua(jit)?[\d.]*"), flags="Eiv", code="e"),
    Interpreter(names=re.compile("Rscript|osascript"), flags="s", code="e"),
    Interpreter(names=re.compile("[gmn]?awk"), flags="S", code="ef", inline=True),
    Interpreter(names=re.compile("g?sed"), flags="Einrsuz", code="ef", inline=True),
)


def would_run_slot(argv: Sequence[str], is_slot: IsSlot) -> bool:
    """True if a slot of `argv` would be read as code or a command.

    Unknown programs may run an interpreter in their arguments.
    """
    name, arguments = argv[0].rpartition("/")[2], argv[1:]
    if RUNNERS.fullmatch(name):
        return any(map(is_slot, arguments))
    for one in INTERPRETERS:
        if one.names.fullmatch(name):
            return one.runs_slot(arguments, is_slot)
    for place, argument in enumerate(arguments):
        rest = arguments[place:]
        if RUN_BY_FIND.fullmatch(argument) and rest[1:]:
            return is_slot(rest[1]) or would_run_slot(rest[1:], is_slot)
        if _is_started(rest) and would_run_slot(rest, is_slot):
            return True
    return False


def _is_started(argv: Sequence[str]) -> bool:
    name = argv[0].rpartition("/")[2]
    return len(argv) > 1 and argv[1][:1] == "-" and any(one.names.fullmatch(name) for one in INTERPRETERS)


CACHE_WRITE_FACTOR = 1.25
"""Price of a cache write relative to input, for Anthropic's five-minute cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """Prices in US dollars for a million tokens; cache writes are five-minute ones. `seen` is source and
    date.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    seen: str = ""

    def __str__(self) -> str:
        if self == FREE_PRICE:
            return "free"
        return f"{self.input:g}/{self.output:g}/{self.cache_read:g}"


def make_price(input: float, output: float, cached: float) -> ModelPrice:
    return ModelPrice(input=input, output=output, cache_read=cached, cache_write=input * CACHE_WRITE_FACTOR)


FREE_PRICE = ModelPrice(input=0, output=0, cache_read=0, cache_write=0)

SLOT = re.compile(r"\{([a-z][a-z0-9_]*)\}")
"""A slot; other braces are plain text."""

LONGEST_SLOT_VALUE = 2_000
"""Most characters of a slot's value."""

MOST_SLOTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedProgram:
    """A program as the owner wrote it; the first argument has no slots."""

    argv: tuple[str, ...]

    @property
    def program(self) -> str:
        return self.argv[0]

    @property
    def slots(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(SLOT.findall(" ".join(self.argv))))

    @property
    def has_partial_slot(self) -> bool:
        return any(SLOT.search(argument) and not is_slot(argument) for argument in self.argv)

    @property
    def runs_slot(self) -> bool:
        """True if a slot would be read as code or a command."""
        return would_run_slot(self.argv, is_slot)

    def fill(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """Fill the slots. Raises ValueError, worded for the soul."""
        self._check(values)
        filled = []
        for place, argument in enumerate(self.argv):
            value = argument
            if is_slot(argument):
                name = argument[1:-1]
                value = values[name]
                if value.startswith("-") and END_OF_OPTIONS not in self.argv[:place]:
                    raise ValueError(f"{name} may not begin with -, it would be taken for an option")
            filled.append(value)
        return tuple(filled)

    def _check(self, values: Mapping[str, str]) -> None:
        named = ", ".join(self.slots) or "none"
        for slot in values.keys() - {*self.slots}:
            raise ValueError(f"there is no slot {slot!r:.60}; slots: {named}")
        for slot in self.slots:
            value = values.get(slot, "")
            if not value:
                raise ValueError(f"{slot} needs a value; slots: {named}")
            if len(value) > LONGEST_SLOT_VALUE:
                raise ValueError(f"{slot} is longer than {LONGEST_SLOT_VALUE:,} characters")
            if "\0" in value or not _is_encodable(value):
                raise ValueError(f"{slot} holds a character that no argument can hold")


def is_slot(argument: str) -> bool:
    return SLOT.fullmatch(argument) is not None


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class AllowedPrograms(Mapping[str, AllowedProgram]):
    def __init__(self, named: Mapping[str, AllowedProgram] | None = None) -> None:
        self._named = dict(named or {})

    def __getitem__(self, name: str) -> AllowedProgram:
        return self._named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def __hash__(self) -> int:
        # the frozen dataclass Settings needs hashable defaults
        return hash(frozenset(self._named.items()))
