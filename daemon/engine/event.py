"""Text that can be written everywhere: no half of a character, no NUL.

JSON lets half a surrogate pair pass, and so do models and tools; UTF-8, SQLite and Slack do not.

An event without its words: what a forgotten entry's body becomes. Ids, numbers and codes stay.

The body of a forgotten entry begins with a mark, which names the entry that it was forgotten under.

What an entry of the journal is, and what it says.

Each kind of entry is a frozen dataclass derived from Event. The engine's own kinds stand in `kinds.py`; a
program adds its own and hands them to the journal when it opens it. Nothing registers at import.

How steps are named: a key is a path that says where in an execution it stands.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from operator import attrgetter
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    Self,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)
from unicodedata import normalize

from pydantic import Field, TypeAdapter, ValidationError

UNWRITABLE = re.compile(r"[\x00\ud800-\udfff]")


PAIR = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")


FIRST_HALF = re.compile(r"[\ud800-\udbff]\Z")


SUSPECT = re.compile(r"\\u(?:d[89a-f]|0000)", re.IGNORECASE)
"""What is escaped so in JSON may be half a character."""


REPLACEMENT_CHARACTER = "\ufffd"
"""Stands for each character that could not be written."""


SHORT = re.compile(r"(?s).{1,256}(?=\s|\Z)|.{1,256}")
"""A piece that ends with a word where it can."""


def storable_text(text: str) -> str:
    """The text with its halves joined to characters, and a mark for what is none."""
    if text.isascii() and "\0" not in text:  # a search through a prompt would take longer than all else
        return text
    if not UNWRITABLE.search(text):
        return text
    return UNWRITABLE.sub(REPLACEMENT_CHARACTER, PAIR.sub(_joined, text))


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def storable_json(text: str) -> str:
    """JSON text, as `json.dumps` writes it, whose strings can be written everywhere."""
    if "\\u" not in text or not SUSPECT.search(text):
        return text
    return json.dumps(storable_value(json.loads(text)), allow_nan=False)


def storable_value(value: Any) -> Any:
    """A value as JSON holds it, with all of its texts as they can be written everywhere."""
    match value:
        case str():
            return storable_text(value)
        case list():
            return [storable_value(one) for one in value]
        case dict():
            return {storable_text(name): storable_value(one) for name, one in value.items()}
    return value


def normalized(form: Literal["NFC", "NFKC"], text: str) -> str:
    """The text in this form of Unicode, piece by piece: to put a row of accents in order takes the square of
    it, and nobody else goes on meanwhile."""
    return "".join(normalize(form, piece) for piece in SHORT.findall(text))


FORGOTTEN_MARK = "forgotten"


START = f'{{"{FORGOTTEN_MARK}": '
"""How the body of a forgotten entry begins."""


D = TypeVar("D")


def without_words(value: D) -> D:
    """This dataclass with each text emptied, but for its codes and what its class says `stays`.

    Of what may be any JSON nothing is left; of a list of numbers all of it.
    """
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"{type(value).__qualname__} is no dataclass")
    stays, hints = _kept_fields(type(value)), _type_hints(type(value))
    emptied = dict[str, Any]()
    for field in dataclasses.fields(value):
        if field.name not in stays:
            emptied[field.name] = _blank(getattr(value, field.name), hints[field.name])
    return dataclasses.replace(value, **emptied)


def with_forgotten_mark(fields: Mapping[str, Any], by: int) -> str:
    """These fields as the body of an entry that was forgotten under the entry `by`."""
    return json.dumps({FORGOTTEN_MARK: by, **fields})


def forgotten_mark(body: str) -> int:
    """The seq of the entry under which this body was blanked; 0 for one that was not."""
    if not body.startswith(START):
        return 0
    digits = body[len(START) :].partition(",")[0].rstrip("}")
    if not digits.isdecimal():
        return 0
    return int(digits)


def _blank(value: Any, hint: Any) -> Any:
    if hint is Any:
        return None
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return ""
    if isinstance(value, Mapping):
        return {}
    if dataclasses.is_dataclass(value):
        return without_words(value)
    if all(isinstance(one, int | float) for one in value):
        return value
    return type(value)()


@functools.cache
def _kept_fields(kind: type) -> frozenset[str]:
    """What this class and those that it derives from say, and the fields that hold codes alone."""
    stays = {name for name, hint in _type_hints(kind).items() if _is_code(hint)}
    for base in kind.__mro__:
        stays.update(vars(base).get("stays", ()))
    return frozenset(stays)


def _is_code(hint: Any) -> bool:
    """Is it one of some fixed words, or nothing?"""
    if get_origin(hint) is Literal:
        return True
    parts = [part for part in get_args(hint) if part is not type(None)]
    return type(None) in get_args(hint) and all(get_origin(part) is Literal for part in parts)


@functools.cache
def _type_hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


# thread@seq                      an execution: its thread, and the seq of its first input
# thread@seq~1                    the same, after its first restart
# thread@seq~failed               its last words, where it is given up (~stopped: where somebody stops it)
# thread@seq/draw#2               a step: the second `draw` of the trunk
# thread@seq/branch#1/draw#1      a step of a context within it
# thread@seq/:3f9a#1/draw#1       a step of a context that is named by its content
# thread@seq/:forgotten-7#1/draw  the same, when the words of its content are forgotten
# thread@seq/draw#2!done          a part of a step

PART = "!"


CONTENT = re.compile(r":[0-9a-f]{12}(?=#\d)")
"""The name of a context that is made of its content."""


RENAMED = ":forgotten-"
"""How the name of such a context begins when its content is forgotten."""


FAILED = "failed"


STOPPED = "stopped"


def root_of(thread: str) -> str:
    """The thread at the top of the tree that this one stands in: `a` of `a.b.c`."""
    return thread.partition(".")[0]


def parent_of(thread: str) -> str:
    """The thread directly above this one; empty where there is none."""
    return thread.rpartition(".")[0]


def context_of(key: str) -> str:
    """The path of the context that a step, or a context, stands in."""
    return key.rpartition("/")[0]


def execution_of(key: str) -> str:
    """The execution that recorded this, however often it was restarted."""
    return re.split("[/~!]", key)[0]


def part_key(key: str, name: str) -> str:
    """The key of what belongs to a step."""
    return f"{key}{PART}{name}"


def step_of(key: str) -> str:
    """The key of the step that this belongs to: itself, where it is no part."""
    return key.partition(PART)[0]


def is_part(key: str) -> bool:
    """Does it belong to a step, and is none itself?"""
    return PART in key


def is_named_by_content(path: str) -> bool:
    """Is this context named by what it is about, and not by where it stands?"""
    return path.rpartition("/")[2].startswith(":")


def is_renamed(key: str) -> bool:
    """True if it stands in a context that was named by what is forgotten: nobody can ask for it any more."""
    return f"/{RENAMED}" in key


def without_content_names(key: str, seq: int, names: dict[str, str]) -> str:
    """The key without names that were made of content.

    `names` are the contexts that were renamed so far, with their new paths; it grows. A new name is made of
    the first seq in that context.
    """
    parts = key.split("/")
    for place, name in enumerate(parts):
        old = "/".join(key.split("/")[: place + 1])
        if CONTENT.match(name):
            new = CONTENT.sub(f"{RENAMED}{seq}", name)
            names.setdefault(old, "/".join([*parts[:place], new]))
        if old in names:
            parts[: place + 1] = names[old].split("/")
    return "/".join(parts)


def enclosing_contexts(path: str, root: str) -> list[str]:
    """The contexts from `root` down to this one, both with it."""
    found = [path]
    while path != root and "/" in path:
        path = context_of(path)
        found.append(path)
    return found[::-1]


def restarted_path(execution: str, times: int) -> str:
    """The path of an execution after so many restarts."""
    return f"{execution}~{times}" if times else execution


def last_words_path(execution: str, name: str) -> str:
    """The path under which the end of an execution is told that does not run any more."""
    return f"{execution}~{name}"


DAY = 86_400.0
"""In seconds."""


def midnight(now: float) -> float:
    """When the UTC day of this time began, in Unix seconds."""
    return now - now % DAY


UNHASHED = "forgotten"
"""Stands for a hash that was made of words which are forgotten."""


NO_DATE = 253_402_300_800
"""The first second after the year 9999."""


Seqs = Annotated[tuple[int, ...], "entries"]
"""A field that names earlier entries of its own tree of threads."""


Date = Annotated[float, Field(ge=0, lt=NO_DATE)]
"""A field that is a time in Unix seconds."""


class InputRank(IntEnum):
    """The order in which a thread takes what waits for it."""

    STOP = 0
    ANSWER = 1
    MESSAGE = 2
    RESUME = 3
    AFTER = 4


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What one entry says. Its fields are JSON: texts, numbers, tuples, mappings."""

    kind: ClassVar[str]
    """The name of this kind in the journal."""
    pending: ClassVar[bool] = False
    """Does an entry of this kind wait until a later one closes it?"""
    closed_by: ClassVar[frozenset[str]] = frozenset()
    """The kinds that may close it, where it is pending."""
    state: ClassVar[str] = "pending"
    """What an entry of this kind is as long as it is pending, in words."""
    may_be_input: ClassVar[bool] = False
    """May a turn take it?"""
    within_turn: ClassVar[bool] = False
    """Is it written by a turn alone, under a key of that turn?"""
    brings: ClassVar[bool] = False
    """May it name entries of other trees? From then on its own tree may name them, too."""
    receipt_of: ClassVar[str] = ""
    """The kind of its cause, where it is a receipt: it closes that if it may, and no turn ends without."""
    stays: ClassVar[tuple[str, ...]] = ()
    """The fields that are no words of anybody's, but ids, keys and codes: they stay when it is forgotten.
    A class says it of its own fields."""
    hashes: ClassVar[tuple[str, ...]] = ()
    """The fields that hold a hash of words: that goes when the words are forgotten, also where the entry
    stays. A class says it of its own fields."""

    def without_words(self) -> Self:
        """What is left of it when it is forgotten."""
        return without_words(self)

    def line(self) -> str:
        """The entry in a few words, for a person who reads the journal: its text, if it is one, else what is
        special about its fields."""
        text = getattr(self, "text", None)
        if isinstance(text, str):
            return text
        return ", ".join(_special(self))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Input(Event):
    """Something that a thread has to take up: a turn begins because one is pending, and closes it."""

    pending = True
    closed_by = frozenset({"turn-ended", "undeliverable", "forgotten"})
    state = "to be answered"
    may_be_input = True
    rank = InputRank.MESSAGE

    @property
    def answers(self) -> str:
        """The key of the question or wait that it answers, if it answers one."""
        return ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent(Event):
    """What a step of an execution records. The engine fills both fields."""

    within_turn = True
    state = "begun by a half turn"
    stays: ClassVar[tuple[str, ...]] = ("taken_from",)
    hashes: ClassVar[tuple[str, ...]] = ("fingerprint",)
    fingerprint: str = ""
    """What the step asked: compared whenever it is read back, unless words were forgotten that it was made of
    (UNHASHED)."""
    taken_from: str = ""
    """The key in an abandoned execution that this was taken over from."""

    def asks_the_same(self, other: StepEvent) -> bool:
        """True if both are known to ask the same: of what was forgotten nobody knows it."""
        return self.fingerprint == other.fingerprint and self.fingerprint not in ("", UNHASHED)


def _special(event: Event) -> Iterator[str]:
    """The fields that differ from what is usual, but for those that the engine fills."""
    engines = _names(StepEvent)
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        usual = field.default
        if field.default_factory is not dataclasses.MISSING:
            usual = field.default_factory()
        if value == usual or field.name in engines:
            continue
        if isinstance(value, tuple):
            value = list(value)
        yield f"{field.name} {value}"


def _names(kind: type[Event]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


UNASKED: Mapping[str, object] = {"asked": False}
"""Metadata of a field that is no part of what a step asks, so that a kind of older journals can get it."""


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass, as they are."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


E = TypeVar("E", bound=Event, covariant=True)


F = TypeVar("F", bound=Event)


T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Generic[E]):
    """One line of the journal. It is never changed and never deleted, but its body may be forgotten.

    `cause` is the seq of the entry that it follows from, `closes` those of the pending entries that
    it ends, `at` the time in Unix seconds. `forgotten` is the seq of the entry under which its body was
    blanked (0: it was not).
    """

    seq: int
    thread: str
    author: str
    key: str
    cause: int | None
    closes: tuple[int, ...]
    at: float
    event: E
    forgotten: int = 0

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return self.event.kind


def of_kind(kind: type[E], entries: Iterable[Entry[Any]]) -> list[Entry[E]]:
    """Those of these entries that are of this kind, or of one derived from it."""
    return [entry for entry in entries if isinstance(entry.event, kind)]


def seqs_of(entries: Iterable[Entry[Any]]) -> list[int]:
    """Their seqs, as they come."""
    return [entry.seq for entry in entries]


def in_seq_order(entries: Iterable[Entry[E]]) -> list[Entry[E]]:
    """The same in the order in which they were written."""
    return sorted(entries, key=attrgetter("seq"))


def in_chunks(values: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """These, so many at a time."""
    for start in range(0, len(values), most):
        yield values[start : start + most]


def entry_as_json(entry: Entry[Event]) -> dict[str, Any]:
    """An entry as JSON values: its columns, with the event as `body`."""
    kind: Any = type(entry.event)  # as mypy takes no class for hashable
    told = {
        "seq": entry.seq,
        "thread": entry.thread,
        "kind": entry.kind,
        "author": entry.author,
        "body": _adapter(kind).dump_python(entry.event, warnings=False),
        "key": entry.key,
        "cause": entry.cause,
        "closes": entry.closes,
        "at": entry.at,
    }
    if entry.forgotten:
        told[FORGOTTEN_MARK] = entry.forgotten
    return told


class EventCodec:
    """The kinds that a journal knows, and their form as JSON."""

    def __init__(self, classes: Iterable[type[Event]]) -> None:
        self._classes: dict[str, type[Event]] = {}
        self._adapters: dict[str, TypeAdapter[Event]] = {}
        self._names: dict[tuple[type[Event], ...], tuple[str, ...]] = {}
        for each in classes:
            _check_class(each)
            known = self._classes.setdefault(each.kind, each)
            if known is not each:
                raise ValueError(
                    f"{known.__qualname__} and {each.__qualname__} are both of the kind {each.kind}"
                )
            kind: Any = each  # as mypy takes no class for hashable
            self._adapters[each.kind] = _adapter(kind)

    def __iter__(self) -> Iterator[type[Event]]:
        return iter(self._classes.values())

    def kind_names(self, classes: Iterable[type[Event]]) -> tuple[str, ...]:
        """The kinds of these classes, and of all that derive from them."""
        asked = tuple(classes)
        if asked not in self._names:
            own = [each.kind for each in asked if hasattr(each, "kind")]
            derived = [name for name, each in self._classes.items() if issubclass(each, asked)]
            self._names[asked] = tuple(dict.fromkeys(own + derived))
        return self._names[asked]

    def class_of_kind(self, name: str) -> type[Event] | None:
        """The class of this kind, if it is known."""
        return self._classes.get(name)

    def in_own_class(self, event: F) -> F:
        """The same event in the program's own class of its kind, where it derived one from the engine's."""
        known = self._classes.get(event.kind, type(event))
        if known is type(event) or not issubclass(known, type(event)):
            return event
        return known(**_fields(event))

    def referenced_seqs(self, event: Event) -> Iterator[tuple[str, int]]:
        """Each entry that a field of this event names, with the field."""
        kind: Any = type(event)
        for field in seq_fields(kind):
            for seq in getattr(event, field):
                yield field, seq

    def dump(self, event: Event) -> str:
        """The event as JSON that can be read again.

        Raises ValueError for a kind that is not known, ValueError or TypeError for a field that is no JSON.
        """
        adapter = self._adapters.get(event.kind)
        if adapter is None or self._classes[event.kind] is not type(event):
            raise ValueError(
                f"{type(event).__qualname__} (of the kind {event.kind}) is not known:"
                " hand its class to Journal"
            )
        # In Pydantic's own JSON, a NaN would become a null.
        value = adapter.dump_python(event, warnings=False)
        return storable_json(json.dumps(value, default=_plain, allow_nan=False))

    def blank(self, name: str, body: str, by: int) -> str:
        """This body without its words, as forgotten under the entry `by`. One that is damaged has none left
        that could be read: it stays damaged, and empty."""
        try:
            left = self.load(name, body).without_words()
        except ValueError:
            return with_forgotten_mark({}, by)
        return with_forgotten_mark(json.loads(self.dump(left)), by)

    def unhash(self, name: str, body: str) -> str:
        """This body without its hashes of words; one that is no JSON object stays as it is."""
        try:
            fields = json.loads(body)
        except (ValueError, RecursionError):
            return body
        known = self._classes.get(name)
        if known is None or not isinstance(fields, dict):
            return body
        held = [field for field in _hashes(known) if fields.get(field, "") not in ("", UNHASHED)]
        if not held:
            return body
        return json.dumps(fields | dict.fromkeys(held, UNHASHED))

    def load(self, name: str, body: str) -> Event:
        """The event of this JSON. Raises ValueError where it is damaged, or of a kind that is not known."""
        adapter = self._adapters.get(name)
        if adapter is None:
            raise ValueError(f"its kind, {name}, is not known")
        try:
            return adapter.validate_json(body, strict=True)
        except ValidationError as error:
            places = dict.fromkeys(_places(error))
            raise ValueError(f"its {', '.join(places)}") from None

    def read_back(self, event: F) -> tuple[str, F]:
        """The event as JSON, and as every reader will be given it. Raises ValueError or TypeError."""
        body = self.dump(event)
        try:
            return body, cast(F, self._adapters[event.kind].validate_json(body, strict=True))
        except ValidationError as error:
            raise ValueError(f"{type(event).__qualname__}, {'; '.join(_faults(error))}") from None


def _hashes(kind: type[Event]) -> Iterator[str]:
    """The fields with hashes of this class and of those that it derives from."""
    for base in kind.__mro__:
        yield from vars(base).get("hashes", ())


def _places(error: ValidationError) -> Iterator[str]:
    """The fields that are not what they should be."""
    for fault in error.errors():
        if fault["loc"]:
            yield str(fault["loc"][0])
        else:
            yield "body"


def _faults(error: ValidationError) -> Iterator[str]:
    """The same, with what is wrong."""
    for fault in error.errors():
        place = ".".join(map(str, fault["loc"]))
        yield f"its {place}: {fault['msg']}"


def _check_class(each: type[Event]) -> None:
    """Raises ValueError for a class that cannot be a kind, or whose answers would be taken for messages."""
    if not hasattr(each, "kind"):
        raise ValueError(f'{each.__qualname__} has no kind: give it one, `kind = "…"`')
    if issubclass(each, Input) and "answers" in _names(each):
        says = [base for base in each.__mro__ if "rank" in vars(base) and base is not Input]
        if not says:
            raise ValueError(
                f"{each.__qualname__} has `answers` and would be taken for a message:"
                " give it `rank = Rank.ANSWER`"
            )


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Event]:
    """Checks the fields of this kind. Dear to make, and always the same."""
    return TypeAdapter(kind)


@functools.cache
def seq_fields(kind: Any) -> list[str]:
    """The fields of this class of events that name other entries."""
    hints = get_type_hints(kind, include_extras=True)
    return [field.name for field in dataclasses.fields(kind) if hints[field.name] == Seqs]


def fingerprint(*asked: object) -> str:
    """A short hash of what a step asks: the same for the same JSON, events and entries."""
    text = json.dumps(asked, default=_plain, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _plain(value: object) -> Any:
    """What stands for a value that is not JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        asked = [field.name for field in dataclasses.fields(value) if field.metadata != UNASKED]
        return {name: getattr(value, name) for name in asked}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, type):
        return value.__qualname__
    raise TypeError(f"{type(value).__qualname__} is no value that a step can ask for")


def digest(value: object) -> str:
    """Sixteen hex digits that stand for a JSON value, whatever the order of its keys."""
    return digest_of_json(canonical_json(value))


def canonical_json(value: object) -> bytes:
    """A JSON value as bytes, the same whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="surrogatepass")


def digest_of_json(written: bytes) -> str:
    """The digest of a value that is written down already."""
    return hashlib.sha256(written).hexdigest()[:16]
