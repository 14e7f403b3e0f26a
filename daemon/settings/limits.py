"""How far the soul may go before it asks its owner: bounds per turn, per thread and per person and day.

What the owner lets the soul run: a program with its arguments, in which the soul may fill slots.

A value is one argument, and no interpreter reads it as code.

Programs that take arguments as code or as a command, and which arguments these are.

A slot must not stand there: its value comes from a model, and so from what people wrote to it.

What a model costs. The list of them is in claude/models.py; owners write their own into MODEL_PRICES.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens of one call: `input` is what was neither read from the cache nor written to it."""

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
        """The tokens that went in."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        """All tokens, in and out."""
        return self.prompt + self.output


PROCESS_TIMEOUT = 600.0
"""Seconds that a program of the inner life may run where the owner says nothing else."""


CONTINUE = "continue"
"""The value of the choice with which an owner lets the soul go on past a bound."""


ITERATIONS = "iterations"
"""The bound of open thought: how often the soul calls itself for one message of a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What something may take at the most: calls of a model, their tokens, dollars, seconds; None: any."""

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None


TURN = Limits(calls=40, tokens=600_000, usd=1.0, seconds=900.0)


THREAD = Limits(calls=400, tokens=6_000_000, usd=5.0)


PERSON = Limits(calls=1_000, usd=3.0)
"""What holds where the owner says nothing else; a person's is counted anew each day (UTC)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """How far one reading goes, with all that it reads by calling itself: one budget for the whole tree.

    `depth`: how many levels of readings there may be below it; `iterations` each has of its own. `calls` of a
    model, dollars and seconds are those of the tree; `concurrency`: how many calls are on their way at once.
    What has fewer tokens than `threshold` (estimated) is read in one call.
    """

    depth: int = 1
    iterations: int = 20
    calls: int = 500
    usd: float = 1.0
    seconds: float = 900.0
    concurrency: int = 16
    threshold: int = 8_000


READING = ReadingLimits()
"""What holds for a reading where the owner says nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerLimits:
    """How far the inner life goes by itself: seconds between two ticks at the least, dollars and messages a
    UTC day at the most; and whether it reads along in DMs.
    """

    pause: float = 60.0
    usd: float = 1.0
    messages: int = 10
    reads_dms: bool = False


INNER = InnerLimits()
"""What holds for the inner life where the owner says nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimits:
    """How long the answer of a model is waited for, in seconds.

    `first_event` counts from the sending; None: it follows from the model. `stall` is the longest silence of
    a stream that has begun.
    """

    first_event: float | None = None
    stall: float = 60.0

    @property
    def events(self) -> float:
        """The longest time without an event of a stream that has begun, whatever else it sends."""
        return max(WITHOUT_EVENT, self.first_event or 0.0)


WITHOUT_EVENT = 600.0
"""Seconds for which comments and pings alone keep a stream that has begun."""


STREAM = StreamLimits()
"""What holds for a stream where the owner says nothing else."""


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
"""Programs that run what they are given, wherever it stands: none of their arguments may be a slot."""


RUN_BY_FIND = re.compile("-(exec|ok)(dir)?")


END_OF_OPTIONS = "--"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A family of interpreters.

    `flags`: letters of options without a value. `code`: letters of options whose value is code. `inline`:
    without such an option its first operand is code, too, not the path of a script.
    """

    names: re.Pattern[str]
    flags: str
    code: str
    inline: bool = False

    def runs_slot(self, arguments: Sequence[str], is_slot: IsSlot) -> bool:
        """Return True if it would read a slot among these arguments as code, or as the path of a script.

        An option that is not known may have a value, so the operand after it is not taken for the code.
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
                    return False  # the rest belongs to the script
        return False

    def _expected_after(self, option: str, expected: str) -> str:
        """Return what follows an option: `code`, a `value`, or, as without it, what was expected before."""
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
    """Return True if a slot among these arguments would be read as code or as a command.

    `argv` begins with the program. A program that is not known may run an interpreter that it is given.
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
    """Return True for an interpreter with an option: without one it may be any word."""
    name = argv[0].rpartition("/")[2]
    return len(argv) > 1 and argv[1][:1] == "-" and any(one.names.fullmatch(name) for one in INTERPRETERS)


CACHE_WRITE_FACTOR = 1.25
"""A token that is written to a cache, in tokens that are not: for the five-minute cache of Anthropic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """US dollars for a million tokens; a cache write is the five-minute one. `seen`: where, and when."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    seen: str = ""

    def __str__(self) -> str:
        """As MODEL_PRICES has it."""
        if self == FREE_PRICE:
            return "free"
        return f"{self.input:g}/{self.output:g}/{self.cache_read:g}"


def make_price(input: float, output: float, cached: float) -> ModelPrice:
    """A price by what owners know of it."""
    return ModelPrice(input=input, output=output, cache_read=cached, cache_write=input * CACHE_WRITE_FACTOR)


FREE_PRICE = ModelPrice(input=0, output=0, cache_read=0, cache_write=0)
"""Of a model that runs on a machine of one's own."""


SLOT = re.compile(r"\{([a-z][a-z0-9_]*)\}")
"""A slot; other braces stand for themselves."""


LONGEST_SLOT_VALUE = 2_000
"""Characters of one value."""


MOST_SLOTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedProgram:
    """One program: `argv` as the owner wrote it, slots and all. The first of it is never a slot."""

    argv: tuple[str, ...]

    @property
    def program(self) -> str:
        """An absolute path, or a name that is looked for on PATH."""
        return self.argv[0]

    @property
    def slots(self) -> tuple[str, ...]:
        """The names of its slots, in order, each once."""
        return tuple(dict.fromkeys(SLOT.findall(" ".join(self.argv))))

    @property
    def has_partial_slot(self) -> bool:
        """True if a slot is only a part of an argument."""
        return any(SLOT.search(argument) and not is_slot(argument) for argument in self.argv)

    @property
    def runs_slot(self) -> bool:
        """True if a slot would be read as code or as a command."""
        return would_run_slot(self.argv, is_slot)

    def fill(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """The arguments with these values in their slots. Raises ValueError: what is wrong, for the soul."""
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
    """Return True for an argument that is a slot and nothing else."""
    return SLOT.fullmatch(argument) is not None


def _is_encodable(text: str) -> bool:
    """Half a surrogate pair has no bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class AllowedPrograms(Mapping[str, AllowedProgram]):
    """All that may be run, by name. It never changes."""

    def __init__(self, named: Mapping[str, AllowedProgram] | None = None) -> None:
        self._named = dict(named or {})

    def __getitem__(self, name: str) -> AllowedProgram:
        return self._named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def __hash__(self) -> int:
        # No mapping can be hashed by itself, and the settings, a dataclass, take no such default.
        return hash(frozenset(self._named.items()))
