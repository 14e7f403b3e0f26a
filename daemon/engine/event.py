"""Journal entries: event classes, keys, JSON encoding, and blanking of forgotten words.

A kind is a frozen dataclass derived from Event; a program hands its kinds to the journal when opening it.
Stored text has no lone surrogates or NUL: JSON allows them, UTF-8, SQLite and Slack do not.
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
"""JSON escapes of surrogates and NUL."""


REPLACEMENT_CHARACTER = "\ufffd"
"""Replacement for unstorable characters."""


SHORT = re.compile(r"(?s).{1,256}(?=\s|\Z)|.{1,256}")
"""Piece of at most 256 characters, ending at a word if possible."""


def storable_text(text: str) -> str:
    """Return the text with surrogate pairs joined and unstorable characters replaced."""
    if text.isascii() and "\0" not in text:  # searching a long prompt is slow
        return text
    if not UNWRITABLE.search(text):
        return text
    return UNWRITABLE.sub(REPLACEMENT_CHARACTER, PAIR.sub(_joined, text))


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def storable_json(text: str) -> str:
    """Return `json.dumps` output with all strings storable."""
    if "\\u" not in text or not SUSPECT.search(text):
        return text
    return json.dumps(storable_value(json.loads(text)), allow_nan=False)


def storable_value(value: Any) -> Any:
    match value:
        case str():
            return storable_text(value)
        case list():
            return [storable_value(one) for one in value]
        case dict():
            return {storable_text(name): storable_value(one) for name, one in value.items()}
    return value


def normalized(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Normalize text in pieces: long runs of accents take quadratic time and block the loop."""
    return "".join(normalize(form, piece) for piece in SHORT.findall(text))


FORGOTTEN_MARK = "forgotten"


START = f'{{"{FORGOTTEN_MARK}": '
"""Start of a forgotten entry's body."""


D = TypeVar("D")


def without_words(value: D) -> D:
    """Return a dataclass with its texts emptied, except codes and fields in `stays`.

    Fields of any JSON become None; lists of numbers stay.
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
    return json.dumps({FORGOTTEN_MARK: by, **fields})


def forgotten_mark(body: str) -> int:
    """Return the seq of the entry under which a body was blanked; 0 if it was not."""
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
    stays = {name for name, hint in _type_hints(kind).items() if _is_code(hint)}
    for base in kind.__mro__:
        stays.update(vars(base).get("stays", ()))
    return frozenset(stays)


def _is_code(hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return True
    parts = [part for part in get_args(hint) if part is not type(None)]
    return type(None) in get_args(hint) and all(get_origin(part) is Literal for part in parts)


@functools.cache
def _type_hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


# Keys:
#     thread@seq                      execution
#     thread@seq~1                    first restart
#     thread@seq~failed               report of its end (or ~stopped)
#     thread@seq/draw#2               step
#     thread@seq/branch#1/draw#1      step in a nested context
#     thread@seq/:3f9a#1/draw#1       context named by content
#     thread@seq/:forgotten-7#1/draw  after forgetting
#     thread@seq/draw#2!done          part of a step

PART = "!"


CONTENT = re.compile(r":[0-9a-f]{12}(?=#\d)")
"""Name of a context made from content."""


RENAMED = ":forgotten-"
"""Prefix of a context name whose content was forgotten."""


FAILED = "failed"


STOPPED = "stopped"


def root_of(thread: str) -> str:
    """Return the root: `a` for `a.b.c`."""
    return thread.partition(".")[0]


def parent_of(thread: str) -> str:
    """Return the parent; empty for a root."""
    return thread.rpartition(".")[0]


def context_of(key: str) -> str:
    """Return the context of a step or context."""
    return key.rpartition("/")[0]


def execution_of(key: str) -> str:
    """Return the execution's id, without restarts."""
    return re.split("[/~!]", key)[0]


def part_key(key: str, name: str) -> str:
    return f"{key}{PART}{name}"


def step_of(key: str) -> str:
    """Return a part's step, or the key itself."""
    return key.partition(PART)[0]


def is_part(key: str) -> bool:
    return PART in key


def is_named_by_content(path: str) -> bool:
    return path.rpartition("/")[2].startswith(":")


def is_renamed(key: str) -> bool:
    """True if its context's content was forgotten, so that it cannot be read back."""
    return f"/{RENAMED}" in key


def without_content_names(key: str, seq: int, names: dict[str, str]) -> str:
    """Return the key without names made from content.

    `names` maps renamed contexts to new paths, and grows. A new name uses its context's first seq.
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
    """Return the contexts from `root` down to `path`."""
    found = [path]
    while path != root and "/" in path:
        path = context_of(path)
        found.append(path)
    return found[::-1]


def restarted_path(execution: str, times: int) -> str:
    return f"{execution}~{times}" if times else execution


def last_words_path(execution: str, name: str) -> str:
    """Return the path for reporting an execution's end."""
    return f"{execution}~{name}"


UNHASHED = "forgotten"
"""Placeholder for hashes of forgotten words."""


NO_DATE = 253_402_300_800
"""First second after the year 9999."""


Seqs = Annotated[tuple[int, ...], "entries"]
"""Seqs of earlier entries in the same tree of threads."""


Date = Annotated[float, Field(ge=0, lt=NO_DATE)]
"""Unix seconds."""


class InputRank(IntEnum):
    """Order in which a thread takes pending inputs."""

    STOP = 0
    ANSWER = 1
    MESSAGE = 2
    RESUME = 3
    AFTER = 4


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Typed body of an entry: JSON fields."""

    kind: ClassVar[str]
    """Name in the journal."""
    pending: ClassVar[bool] = False
    """True if a later entry has to close it."""
    closed_by: ClassVar[frozenset[str]] = frozenset()
    """Kinds that may close it."""
    state: ClassVar[str] = "pending"
    """Description while pending."""
    may_be_input: ClassVar[bool] = False
    """True if a turn may take it."""
    within_turn: ClassVar[bool] = False
    """True if only a turn writes it, under its keys."""
    brings: ClassVar[bool] = False
    """True if it may name entries of other trees; its own tree then may, too."""
    receipt_of: ClassVar[str] = ""
    """Kind of the cause that this receipt closes, if it may; no turn ends without it."""
    stays: ClassVar[tuple[str, ...]] = ()
    """Fields of this class with ids, keys or codes, kept when it is forgotten."""
    hashes: ClassVar[tuple[str, ...]] = ()
    """Fields of this class with hashes, cleared when their words are forgotten."""

    def without_words(self) -> Self:
        return without_words(self)

    def line(self) -> str:
        """Return a summary for readers: its text, or its unusual fields."""
        text = getattr(self, "text", None)
        if isinstance(text, str):
            return text
        return ", ".join(_special(self))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Input(Event):
    """Input of a thread, closed by a turn."""

    pending = True
    closed_by = frozenset({"turn-ended", "undeliverable", "forgotten"})
    state = "to be answered"
    may_be_input = True
    rank = InputRank.MESSAGE

    @property
    def answers(self) -> str:
        """Key of the question or wait that it answers."""
        return ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent(Event):
    """Recorded result of a step; the engine fills both fields."""

    within_turn = True
    state = "begun by a half turn"
    stays: ClassVar[tuple[str, ...]] = ("taken_from",)
    hashes: ClassVar[tuple[str, ...]] = ("fingerprint",)
    fingerprint: str = ""
    """Hash of the question, compared at read-back; UNHASHED after forgetting."""
    taken_from: str = ""
    """Key in the abandoned execution that it was copied from."""

    def asks_the_same(self, other: StepEvent) -> bool:
        """True if both fingerprints are known and equal."""
        return self.fingerprint == other.fingerprint and self.fingerprint not in ("", UNHASHED)


def _special(event: Event) -> Iterator[str]:
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
"""Metadata of a field outside fingerprints, so that existing kinds can gain it."""


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


E = TypeVar("E", bound=Event, covariant=True)


F = TypeVar("F", bound=Event)


T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Generic[E]):
    """Entry of the journal; only forgetting changes it.

    `cause` and `closes` are seqs, `at` is Unix seconds; `forgotten` is the seq of the entry under which the
    body was blanked, or 0.
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
        return self.event.kind


def of_kind(kind: type[E], entries: Iterable[Entry[Any]]) -> list[Entry[E]]:
    """Return entries of this or a derived kind."""
    return [entry for entry in entries if isinstance(entry.event, kind)]


def seqs_of(entries: Iterable[Entry[Any]]) -> list[int]:
    return [entry.seq for entry in entries]


def in_seq_order(entries: Iterable[Entry[E]]) -> list[Entry[E]]:
    return sorted(entries, key=attrgetter("seq"))


def in_chunks(values: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), most):
        yield values[start : start + most]


def entry_as_json(entry: Entry[Event]) -> dict[str, Any]:
    kind: Any = type(entry.event)  # mypy: classes are not hashable
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
    """Kinds known to a journal, and their JSON form."""

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
            kind: Any = each  # mypy: classes are not hashable
            self._adapters[each.kind] = _adapter(kind)

    def __iter__(self) -> Iterator[type[Event]]:
        return iter(self._classes.values())

    def kind_names(self, classes: Iterable[type[Event]]) -> tuple[str, ...]:
        """Return the kinds of these and derived classes."""
        asked = tuple(classes)
        if asked not in self._names:
            own = [each.kind for each in asked if hasattr(each, "kind")]
            derived = [name for name, each in self._classes.items() if issubclass(each, asked)]
            self._names[asked] = tuple(dict.fromkeys(own + derived))
        return self._names[asked]

    def class_of_kind(self, name: str) -> type[Event] | None:
        return self._classes.get(name)

    def in_own_class(self, event: F) -> F:
        """Return the event in the program's subclass of its kind, if any."""
        known = self._classes.get(event.kind, type(event))
        if known is type(event) or not issubclass(known, type(event)):
            return event
        return known(**_fields(event))

    def referenced_seqs(self, event: Event) -> Iterator[tuple[str, int]]:
        """Yield (field, seq) for each entry that the event names."""
        kind: Any = type(event)
        for field in seq_fields(kind):
            for seq in getattr(event, field):
                yield field, seq

    def dump(self, event: Event) -> str:
        """Encode as JSON. Raises ValueError for an unknown kind, ValueError or TypeError for other values."""
        adapter = self._adapters.get(event.kind)
        if adapter is None or self._classes[event.kind] is not type(event):
            raise ValueError(
                f"{type(event).__qualname__} (of the kind {event.kind}) is not known:"
                " hand its class to Journal"
            )
        # Pydantic's own JSON would turn NaN into null.
        value = adapter.dump_python(event, warnings=False)
        return storable_json(json.dumps(value, default=_plain, allow_nan=False))

    def blank(self, name: str, body: str, by: int) -> str:
        """Return a body without words; a damaged one becomes empty."""
        try:
            left = self.load(name, body).without_words()
        except ValueError:
            return with_forgotten_mark({}, by)
        return with_forgotten_mark(json.loads(self.dump(left)), by)

    def unhash(self, name: str, body: str) -> str:
        """Return a body without hashes of words."""
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
        """Decode an event. Raises ValueError if it is damaged or its kind unknown."""
        adapter = self._adapters.get(name)
        if adapter is None:
            raise ValueError(f"its kind, {name}, is not known")
        try:
            return adapter.validate_json(body, strict=True)
        except ValidationError as error:
            places = dict.fromkeys(_places(error))
            raise ValueError(f"its {', '.join(places)}") from None

    def read_back(self, event: F) -> tuple[str, F]:
        """Return the JSON, and the event as readers will decode it. Raises ValueError or TypeError."""
        body = self.dump(event)
        try:
            return body, cast(F, self._adapters[event.kind].validate_json(body, strict=True))
        except ValidationError as error:
            raise ValueError(f"{type(event).__qualname__}, {'; '.join(_faults(error))}") from None


def _hashes(kind: type[Event]) -> Iterator[str]:
    for base in kind.__mro__:
        yield from vars(base).get("hashes", ())


def _places(error: ValidationError) -> Iterator[str]:
    for fault in error.errors():
        if fault["loc"]:
            yield str(fault["loc"][0])
        else:
            yield "body"


def _faults(error: ValidationError) -> Iterator[str]:
    for fault in error.errors():
        place = ".".join(map(str, fault["loc"]))
        yield f"its {place}: {fault['msg']}"


def _check_class(each: type[Event]) -> None:
    """Raise ValueError for a class without kind, or whose answers would rank as messages."""
    if not hasattr(each, "kind"):
        raise ValueError(f'{each.__qualname__} has no kind: give it one, `kind = "…"`')
    if issubclass(each, Input) and "answers" in _names(each):
        says = [base for base in each.__mro__ if "rank" in vars(base) and base is not Input]
        if not says:
            raise ValueError(
                f"{each.__qualname__} has `answers` and would be taken for a message:"
                " give it `rank = InputRank.ANSWER`"
            )


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Event]:
    return TypeAdapter(kind)


@functools.cache
def seq_fields(kind: Any) -> list[str]:
    """Return the fields that name other entries."""
    hints = get_type_hints(kind, include_extras=True)
    return [field.name for field in dataclasses.fields(kind) if hints[field.name] == Seqs]


def fingerprint(*asked: object) -> str:
    """Return a hash of what a step asks: 16 hex digits, equal for equal JSON."""
    text = json.dumps(asked, default=_plain, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _plain(value: object) -> Any:
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
    """Return a JSON value's hash: 16 hex digits, independent of key order."""
    return digest_of_json(canonical_json(value))


def canonical_json(value: object) -> bytes:
    """Return JSON as bytes, independent of key order."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="surrogatepass")


def digest_of_json(written: bytes) -> str:
    return hashlib.sha256(written).hexdigest()[:16]
