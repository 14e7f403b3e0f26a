"""Journal entries: event classes, keys, JSON, and blanking of forgotten words.

A kind is a frozen dataclass derived from Event. Stored texts have no lone surrogates or NUL: JSON allows
them, but UTF-8, SQLite and Slack do not.
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

D = TypeVar("D")
E = TypeVar("E", bound="Event", covariant=True)
F = TypeVar("F", bound="Event")
T = TypeVar("T")

UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
SURROGATE_PAIR = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")
UNSTORABLE_ESCAPE = re.compile(r"\\u(?:d[89a-f]|0000)", re.IGNORECASE)
REPLACEMENT_CHARACTER = "\ufffd"
NORMALIZED_PIECE = re.compile(r"(?s).{1,256}(?=\s|\Z)|.{1,256}")


def storable_text(text: str) -> str:
    """Return the text with surrogate pairs joined and unstorable characters replaced."""
    if text.isascii() and "\0" not in text:  # searching a long prompt is slow
        return text
    if not UNSTORABLE.search(text):
        return text
    return UNSTORABLE.sub(REPLACEMENT_CHARACTER, SURROGATE_PAIR.sub(_joined, text))


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def storable_json(text: str) -> str:
    """Return JSON in which all strings are storable."""
    if "\\u" not in text or not UNSTORABLE_ESCAPE.search(text):
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
    """Normalize a text piece by piece, since long runs of accents take quadratic time."""
    return "".join(normalize(form, piece) for piece in NORMALIZED_PIECE.findall(text))


FORGOTTEN_MARK = "forgotten"
FORGOTTEN_START = f'{{"{FORGOTTEN_MARK}": '


def without_words(value: D) -> D:
    """Return a dataclass without its texts. Numbers, literals and fields in `stays` are kept.

    A field of any JSON becomes None.
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
    """Return the seq of the entry that blanked this body; 0 if it is not blank."""
    if not body.startswith(FORGOTTEN_START):
        return 0
    digits = body[len(FORGOTTEN_START) :].partition(",")[0].rstrip("}")
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

CONTENT_NAME = re.compile(r":[0-9a-f]{12}(?=#\d)")
"""Name of a context that is made from its content."""

FORGOTTEN_NAME = ":forgotten-"
"""Prefix of a context's name after its content was forgotten."""

FAILED = "failed"
STOPPED = "stopped"


def root_of(thread: str) -> str:
    """Return the root thread: `a` for `a.b.c`."""
    return thread.partition(".")[0]


def parent_of(thread: str) -> str:
    """Return the parent thread; empty for a root."""
    return thread.rpartition(".")[0]


def context_of(key: str) -> str:
    return key.rpartition("/")[0]


def execution_of(key: str) -> str:
    """Return the id of a key's execution, without restarts."""
    return re.split("[/~!]", key)[0]


def part_key(key: str, name: str) -> str:
    return f"{key}{PART}{name}"


def step_of(key: str) -> str:
    """Return the key of a part's step, or the key itself."""
    return key.partition(PART)[0]


def is_part(key: str) -> bool:
    return PART in key


def is_named_by_content(path: str) -> bool:
    return path.rpartition("/")[2].startswith(":")


def is_renamed(key: str) -> bool:
    """True if forgetting has renamed a context in the key. A replay cannot read its steps."""
    return f"/{FORGOTTEN_NAME}" in key


def without_content_names(key: str, seq: int, names: dict[str, str]) -> str:
    """Return the key with new names for contexts named by content.

    `names` maps old paths of contexts to new ones, and grows. A new name contains `seq`.
    """
    parts = key.split("/")
    for place, name in enumerate(parts):
        old = "/".join(key.split("/")[: place + 1])
        if CONTENT_NAME.match(name):
            new = CONTENT_NAME.sub(f"{FORGOTTEN_NAME}{seq}", name)
            names.setdefault(old, "/".join([*parts[:place], new]))
        if old in names:
            parts[: place + 1] = names[old].split("/")
    return "/".join(parts)


def enclosing_contexts(path: str, root: str) -> list[str]:
    """Return the paths of the contexts from `root` down to `path`."""
    found = [path]
    while path != root and "/" in path:
        path = context_of(path)
        found.append(path)
    return found[::-1]


def restarted_path(execution: str, times: int) -> str:
    return f"{execution}~{times}" if times else execution


def last_words_path(execution: str, name: str) -> str:
    """Return the path under which the end of an execution is reported."""
    return f"{execution}~{name}"


UNHASHED = "forgotten"
"""Replacement for a hash of forgotten words."""

NO_DATE = 253_402_300_800
"""First second after the year 9999."""

Seqs = Annotated[tuple[int, ...], "entries"]
"""Seqs of earlier entries in the same tree of threads."""

Date = Annotated[float, Field(ge=0, lt=NO_DATE)]
"""Unix seconds."""


class InputRank(IntEnum):
    """Order in which a thread takes its pending inputs."""

    STOP = 0
    ANSWER = 1
    MESSAGE = 2
    RESUME = 3
    AFTER = 4


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Body of an entry. Its fields are stored as JSON."""

    kind: ClassVar[str]
    """Name of the kind in the journal."""
    pending: ClassVar[bool] = False
    """True if a later entry has to close entries of this kind."""
    closed_by: ClassVar[frozenset[str]] = frozenset()
    """Kinds of entries that may close it."""
    state: ClassVar[str] = "pending"
    """Description of an entry that is not closed yet."""
    may_be_input: ClassVar[bool] = False
    """True if a turn may take it."""
    within_turn: ClassVar[bool] = False
    """True if only turns write it, under their keys."""
    brings: ClassVar[bool] = False
    """True if it may name entries of other trees of threads. Later entries of its own tree may then name
    them, too.
    """
    receipt_of: ClassVar[str] = ""
    """Kind of the entry that this one closes, as its receipt. No turn ends without the receipt."""
    stays: ClassVar[tuple[str, ...]] = ()
    """Fields of ids, keys or codes that forgetting keeps."""
    hashes: ClassVar[tuple[str, ...]] = ()
    """Fields of hashes, cleared when their words are forgotten."""

    def without_words(self) -> Self:
        return without_words(self)

    def line(self) -> str:
        """Return a summary: the text, or the fields that differ from their default."""
        text = getattr(self, "text", None)
        if isinstance(text, str):
            return text
        return ", ".join(_changed_fields(self))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Input(Event):
    """Event that a turn takes as its input and closes."""

    pending = True
    closed_by = frozenset({"turn-ended", "undeliverable", "forgotten"})
    state = "to be answered"
    may_be_input = True
    rank = InputRank.MESSAGE

    @property
    def answers(self) -> str:
        """Key of the question or wait that this input answers; empty if none."""
        return ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent(Event):
    """Result of a step."""

    within_turn = True
    state = "begun by a half turn"
    stays: ClassVar[tuple[str, ...]] = ("taken_from",)
    hashes: ClassVar[tuple[str, ...]] = ("fingerprint",)
    fingerprint: str = ""
    """Hash of the step's request, compared in replays. UNHASHED after forgetting."""
    taken_from: str = ""
    """Key in the abandoned execution from which this was copied."""

    def asks_the_same(self, other: StepEvent) -> bool:
        return self.fingerprint == other.fingerprint and self.fingerprint not in ("", UNHASHED)


def _changed_fields(event: Event) -> Iterator[str]:
    engine_fields = _names(StepEvent)
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        if value == default or field.name in engine_fields:
            continue
        if isinstance(value, tuple):
            value = list(value)
        yield f"{field.name} {value}"


def _names(kind: type[Event]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


UNASKED: Mapping[str, object] = {"asked": False}
"""Metadata of a field that fingerprints ignore, so that existing kinds can gain it."""


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Generic[E]):
    """Entry of the journal. Only forgetting changes it.

    `cause` and `closes` are seqs; `at` is Unix seconds; `forgotten` is the seq of the entry that blanked the
    body, or 0.
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
    fields = {
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
        fields[FORGOTTEN_MARK] = entry.forgotten
    return fields


class EventCodec:
    """Encoder and decoder of the kinds that a journal knows."""

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
        """Return the names of these kinds and their subclasses."""
        asked = tuple(classes)
        if asked not in self._names:
            own = [each.kind for each in asked if hasattr(each, "kind")]
            derived = [name for name, each in self._classes.items() if issubclass(each, asked)]
            self._names[asked] = tuple(dict.fromkeys(own + derived))
        return self._names[asked]

    def class_of_kind(self, name: str) -> type[Event] | None:
        return self._classes.get(name)

    def in_own_class(self, event: F) -> F:
        """Return the event in the program's subclass, if the program derives its kind."""
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
        """Encode an event as JSON. Raises ValueError or TypeError if its kind is unknown or a value has no
        JSON.
        """
        adapter = self._adapters.get(event.kind)
        if adapter is None or self._classes[event.kind] is not type(event):
            raise ValueError(
                f"{type(event).__qualname__} (of the kind {event.kind}) is not known:"
                " hand its class to Journal"
            )
        # Pydantic's JSON would turn NaN into null.
        value = adapter.dump_python(event, warnings=False)
        return storable_json(json.dumps(value, default=_plain, allow_nan=False))

    def blank(self, name: str, body: str, by: int) -> str:
        """Blank the JSON of an event of kind `name`; `by` is the seq of the forgetting entry."""
        try:
            left = self.load(name, body).without_words()
        except ValueError:
            return with_forgotten_mark({}, by)
        return with_forgotten_mark(json.loads(self.dump(left)), by)

    def unhash(self, name: str, body: str) -> str:
        """Remove the hashes of words from the JSON of an event."""
        try:
            fields = json.loads(body)
        except (ValueError, RecursionError):
            return body
        known = self._classes.get(name)
        if known is None or not isinstance(fields, dict):
            return body
        hashed = [field for field in _hashes(known) if fields.get(field, "") not in ("", UNHASHED)]
        if not hashed:
            return body
        return json.dumps(fields | dict.fromkeys(hashed, UNHASHED))

    def load(self, name: str, body: str) -> Event:
        """Decode an event of kind `name`. Raises ValueError if it is damaged or unknown."""
        adapter = self._adapters.get(name)
        if adapter is None:
            raise ValueError(f"its kind, {name}, is not known")
        try:
            return adapter.validate_json(body, strict=True)
        except ValidationError as error:
            places = dict.fromkeys(_places(error))
            raise ValueError(f"its {', '.join(places)}") from None

    def read_back(self, event: F) -> tuple[str, F]:
        """Return the event's JSON, and the event decoded from it. Raises ValueError or TypeError."""
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
    if not hasattr(each, "kind"):
        raise ValueError(f'{each.__qualname__} has no kind: give it one, `kind = "…"`')
    if issubclass(each, Input) and "answers" in _names(each):
        ranked = [base for base in each.__mro__ if "rank" in vars(base) and base is not Input]
        if not ranked:
            raise ValueError(
                f"{each.__qualname__} has `answers` and would be taken for a message:"
                " give it `rank = InputRank.ANSWER`"
            )


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Event]:
    return TypeAdapter(kind)


@functools.cache
def seq_fields(kind: Any) -> list[str]:
    hints = get_type_hints(kind, include_extras=True)
    return [field.name for field in dataclasses.fields(kind) if hints[field.name] == Seqs]


def fingerprint(*asked: object) -> str:
    """Hash the request of a step: 16 hex digits, equal for equal JSON."""
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
    """Hash a JSON value in 16 hex digits, independent of key order."""
    return digest_of_json(canonical_json(value))


def canonical_json(value: object) -> bytes:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="surrogatepass")


def digest_of_json(written: bytes) -> str:
    return hashlib.sha256(written).hexdigest()[:16]
