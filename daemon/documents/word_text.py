"""Text of DOCX files, with a line for each paragraph and table row. Only the confined child runs this code.

Headings begin with "#", list items with "-" or a number. Notes and comments follow the line that refers to
them; deleted text is omitted. Zip parts are unpacked on demand, up to a total size; nothing is fetched.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePosixPath
from posixpath import join, normpath
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from lxml import etree

from daemon.documents.parsing_child import ChildLimits, FileUnreadable, run_child
from daemon.documents.word_elements import (
    LEVELS,
    ListNumbering,
    M,
    ParagraphStyles,
    W,
    heading_level,
    is_switched_on,
    linear_equation,
    symbol_text,
    word_value,
)

MOST_FILES = 10_000


CHUNK = 2**16


DEFINITIONS = re.compile(rb"<!(?:DOCTYPE|ENTITY)")
"""XML definitions: Office files have none, and attackers use them to expand texts."""


STRICT = re.compile(r"http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")


TRANSITIONAL = r"http://schemas.openxmlformats.org/\1/2006/\2"


CONTENT_TYPES = "[Content_Types].xml"


PACKAGE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRelationship:
    """Link from one part to another, or to an outside `address`.

    `kind` is the last word of its type; `part` is empty if the target is missing or outside.
    """

    id: str
    kind: str
    part: str = ""
    address: str = ""


class OfficePackage:
    """An opened Office file. Methods raise BadZipFile or LxmlError if damaged,
    FileUnreadable for a zip bomb.
    """

    def __init__(self, data: bytes, room: ChildLimits) -> None:
        self._zip = ZipFile(BytesIO(data))
        self._left = room.unpacked
        files = self._zip.infolist()
        if len(files) > MOST_FILES:
            raise FileUnreadable("bomb")
        if any(file.flag_bits & 1 for file in files):
            raise FileUnreadable("encrypted")
        self._files = {_key(file.filename): file for file in files}
        self._types: dict[str, str] = {}
        if CONTENT_TYPES.lower() in self._files:
            for declared in self.root(CONTENT_TYPES).iterchildren(tag=etree.Element):
                name = declared.get("PartName") or f".{declared.get('Extension', '')}"
                self._types[_key(name)] = declared.get("ContentType", "")

    @property
    def names(self) -> list[str]:
        return list(self._files)

    def root(self, part: str) -> etree._Element:
        """Return the root element of a part, in Transitional namespaces. Raises KeyError if missing."""
        content = self._unpack(part)
        if DEFINITIONS.search(content.replace(b"\0", b"")):  # UTF-16 puts zero bytes between ASCII letters
            raise FileUnreadable("definitions")
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
        if STRICT.match(etree.QName(root).namespace or ""):
            _make_transitional(root)
        return root

    def content_type(self, part: str) -> str:
        key = _key(part)
        return self._types.get(key) or self._types.get(PurePosixPath(key).suffix, "")

    def relationships(self, part: str) -> list[PartRelationship]:
        folder, _, name = part.rpartition("/")
        described = join(folder, "_rels", f"{name}.rels")
        if _key(described) not in self._files:
            return []
        found = self.root(described).iterchildren(tag=etree.Element)
        return [self._relationship(folder, one) for one in found]

    def all_relationships(self) -> Iterator[PartRelationship]:
        for name in self._files:
            folder, _, file = name.rpartition("/")
            if folder.rpartition("/")[2] == "_rels" and file.endswith(".rels"):
                try:
                    yield from self.relationships(join(folder.rpartition("/")[0], file[: -len(".rels")]))
                except etree.LxmlError:
                    continue

    def _relationship(self, folder: str, element: etree._Element) -> PartRelationship:
        target = element.get("Target", "")
        kind = element.get("Type", "").rpartition("/")[2]
        if element.get("TargetMode") == "External":
            return PartRelationship(id=element.get("Id", ""), kind=kind, address=target)
        path = normpath(join("/", folder, target.partition("#")[0].replace("\\", "/"))).lstrip("/")
        part = next((one for one in (path, unquote(path)) if _key(one) in self._files), "")
        return PartRelationship(id=element.get("Id", ""), kind=kind, part=part)

    def _unpack(self, part: str) -> bytes:
        """Unpack a part; count the real size, since the declared one may be false."""
        content = bytearray()
        with self._zip.open(self._files[_key(part)]) as file:
            while chunk := file.read(CHUNK):
                content += chunk
                self._left -= len(chunk)
                if self._left < 0:
                    raise FileUnreadable("bomb")
        return bytes(content)


def _key(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()


def _make_transitional(root: etree._Element) -> None:
    known: dict[str, str] = {}
    for element in root.iter(etree.Element):
        tag = str(element.tag)
        if tag not in known:
            known[tag] = STRICT.sub(TRANSITIONAL, tag)
        element.tag = known[tag]
        for name in [str(name) for name in element.attrib if "{http://purl" in str(name)]:
            value = element.attrib.pop(name)
            element.set(STRICT.sub(TRANSITIONAL, name), value)


R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"


W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"


VML = "{urn:schemas-microsoft-com:vml}"


DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/"


PARAGRAPH, TABLE, ROW, CELL, TEXT = f"{W}p", f"{W}tbl", f"{W}tr", f"{W}tc", f"{W}t"


TEXTS = (TEXT, f"{M}t", f"{DRAWING}main}}t")


LEFT_OUT = frozenset(
    f"{W}{name}"
    for name in ("moveFrom", "pPr", "rPr", "sdtPr", "sdtEndPr", "tblPr", "trPr", "tcPr", "sectPr", "ffData")
)


LETTERS: Mapping[str, str] = {
    f"{W}tab": "\t",
    f"{W}ptab": "\t",
    f"{W}noBreakHyphen": "-",
    f"{W}br": "\n",
    f"{W}cr": "\n",
}


UNREAD: Mapping[str, str] = {
    f"{DRAWING}picture}}pic": "pictures",
    f"{VML}imagedata": "pictures",
    f"{W14}contentPart": "pictures",
    f"{DRAWING}chart}}chart": "charts",
    "{http://schemas.microsoft.com/office/drawing/2014/chartex}chart": "charts",
    f"{DRAWING}diagram}}relIds": "diagrams",
    f"{W}object": "objects",
    f"{W}control": "objects",
    f"{W}altChunk": "objects",
    f"{W}subDoc": "objects",
}
"""Elements that are counted and not read; their content (an icon) is not counted."""


NOTES: Mapping[str, str] = {f"{W}footnoteReference": "footnotes", f"{W}endnoteReference": "endnotes"}


MARKS: Mapping[str, str] = {"footnotes": "[^{number}]", "endnotes": "[^e{number}]"}


TICKED, EMPTY = "\u2612", "\u2610"


LINK = re.compile(r'\s*HYPERLINK\s+"([^"]+)"')


FORMULA = re.compile(r"\s*EQ\s+(.+)")


RUBY_FORMULA = re.compile(r".*\\o\\ad\(\\s\\up\s*\d+\((.+)\),(.+)\)\s*")
"""Old notation of ruby text: a word with its pronunciation above."""


LONGEST_QUOTE = 200
"""Most characters of the commented text that a comment quotes."""


LONGEST_SHOWN = 2_000
"""Most characters kept of an open field's instruction, and of its result."""


MOST_OPEN = 20
"""Most open fields, and open comment ranges, that are tracked."""


@dataclass(slots=True)
class WordField:
    instruction: str = ""
    shown: str | None = None


class WordText:
    def __init__(self, package: OfficePackage, part: str) -> None:
        self.package = package
        self.part = part
        self.unread = Counter[str]()
        self.parts: dict[str, list[str]] = {}
        for one in package.relationships(part):
            if one.part:
                self.parts.setdefault(one.kind, []).append(one.part)
        self.styles = ParagraphStyles(self._related_root("styles"))
        self.numbering = ListNumbering(self._related_root("numbering"), self.styles)
        self._notes = {kind: self._notes_of(kind) for kind in ("footnotes", "endnotes", "comments")}
        self._numbers: dict[tuple[str, str], int] = {}
        self._numbered = Counter[str]()

    def lines(self) -> Iterator[str]:
        main = self.package.root(self.part)
        yield from self._headers_or_footers(main, "header")
        yield from StoryText(self, self.part).lines(main)
        yield from self._headers_or_footers(main, "footer")

    def note(self, kind: str, name: str) -> tuple[int, str]:
        """Return a note's number and text; the text is empty from the second call on."""
        key = (kind, name)
        if key not in self._numbers:
            self._numbered[kind] += 1
            self._numbers[key] = self._numbered[kind]
        number = self._numbers[key]
        found = self._notes[kind].pop(name, None)
        if found is None:
            return number, ""
        story, element = found
        return number, " ".join(" ".join(story.lines(element)).split())

    def comment(self, name: str) -> tuple[str, str]:
        """Return a comment's author and text, both empty from the second call on."""
        author = ""
        if name in self._notes["comments"]:
            author = self._notes["comments"][name][1].get(f"{W}author", "")
        return author, self.note("comments", name)[1]

    def _related_root(self, kind: str) -> etree._Element | None:
        for part in self.parts.get(kind, ()):
            try:
                return self.package.root(part)
            except etree.LxmlError:
                self.unread["parts"] += 1
        return None

    def _notes_of(self, kind: str) -> dict[str, tuple[StoryText, etree._Element]]:
        root = self._related_root(kind)
        if root is None:
            return {}
        story = StoryText(self, self.parts[kind][0])
        return {one.get(f"{W}id", ""): (story, one) for one in root.iterchildren(tag=etree.Element)}

    def _headers_or_footers(self, main: etree._Element, kind: str) -> Iterator[str]:
        targets = {one.id: one.part for one in self.package.relationships(self.part) if one.part}
        named = (one.get(f"{R}id", "") for one in main.iter(f"{W}{kind}Reference"))
        shown = set[str]()
        for part in dict.fromkeys(targets[name] for name in named if name in targets):
            try:
                root = self.package.root(part)
            except etree.LxmlError:
                self.unread["parts"] += 1
                continue
            text = " ".join(" ".join(StoryText(self, part).lines(root)).split())
            if text and text not in shown:
                shown.add(text)
                yield f"[{kind.capitalize()}: {text}]"


class StoryText:
    """A part with text (body, header, footnotes), its links, and its open fields."""

    def __init__(self, document: WordText, part: str) -> None:
        self._document = document
        relationships = document.package.relationships(part)
        self._links = {one.id: one.address for one in relationships if one.kind == "hyperlink"}
        self._boxes: list[etree._Element] = []
        self._after: list[str] = []
        self._fields: list[WordField] = []
        self._ranges: dict[str, str] = {}
        self._quotes: dict[str, str] = {}
        self._inline: Mapping[str, Callable[[etree._Element], Iterator[str]]] = {
            f"{W}r": self._run,
            f"{W}sym": self._symbol,
            f"{W}hyperlink": self._hyperlink,
            f"{W}ruby": self._ruby,
            f"{W}fldChar": self._field_mark,
            f"{W}fldSimple": self._simple_field,
            f"{W}instrText": self._instruction,
            f"{W}del": self._deleted,
            f"{W}txbxContent": self._box,
            f"{W}commentReference": self._comment,
            f"{M}oMath": self._equation,
            f"{VML}textpath": self._drawn,
            **dict.fromkeys((f"{W}commentRangeStart", f"{W}commentRangeEnd"), self._range),
            **dict.fromkeys(NOTES, self._note),
            **dict.fromkeys(UNREAD, self._unread),
        }

    def lines(self, root: etree._Element) -> Iterator[str]:
        """Yield an element's lines, each followed by its notes and comments."""
        _choose_alternatives(root)
        _show_ticks(root)
        for line in self._blocks(root):
            yield line
            yield from self._referred()
        yield from self._referred()

    def _referred(self) -> list[str]:
        lines, self._after = self._after, []
        return lines

    def _blocks(self, parent: etree._Element) -> Iterator[str]:
        for element in parent.iterchildren(tag=etree.Element):
            tag = str(element.tag)
            if tag == PARAGRAPH:
                yield from self._paragraph(element)
            elif tag == TABLE:
                yield from self._table(element)
            elif tag in self._inline:
                text = "".join(self._inline[tag](element)).strip()
                if text:
                    yield text
            elif tag not in LEFT_OUT:
                yield from self._blocks(element)

    def _paragraph(self, element: etree._Element) -> Iterator[str]:
        boxes, self._boxes = self._boxes, []
        pieces: list[str] = []
        for piece in self._paragraph_pieces(element):
            pieces.append(piece)
            self._note_commented(piece)
        self._note_commented(" ")
        text = "".join(pieces).strip()
        gone = element.find(f"{W}pPr/{W}rPr/{W}del") is not None
        if text or not gone:
            mark = self._mark(element)
            if text:
                yield mark + text
        boxes, self._boxes = self._boxes, boxes
        for box in boxes:
            if box.tag == PARAGRAPH:
                yield from self._paragraph(box)
            else:
                yield from self._blocks(box)

    def _note_commented(self, piece: str) -> None:
        for name, read in self._ranges.items():
            if len(read) <= LONGEST_QUOTE:
                self._ranges[name] = read + piece

    def _paragraph_pieces(self, parent: etree._Element) -> Iterator[str]:
        for element in parent.iterchildren(tag=etree.Element):
            tag = str(element.tag)
            if tag in TEXTS:
                yield element.text or ""
            elif tag in LETTERS:
                yield LETTERS[tag]
            elif tag in self._inline:
                yield from self._inline[tag](element)
            elif tag == PARAGRAPH:
                self._boxes.append(element)
            elif tag not in LEFT_OUT:
                yield from self._paragraph_pieces(element)

    def _mark(self, element: etree._Element) -> str:
        styles = self._document.styles
        style = word_value(element.find(f"{W}pPr/{W}pStyle"))
        number, level = self._number(element, style)
        own = element.find(f"{W}pPr/{W}outlineLvl")
        heading = styles.heading(style) if own is None else heading_level(word_value(own))
        if heading:
            number = "" if number == "-" else number
            return "#" * heading + " " + (f"{number} " if number else "")
        if number:
            return "  " * level + f"{number} "
        if level < 0 and styles.is_list(style):
            return "- "
        return ""

    def _number(self, element: etree._Element, style: str) -> tuple[str, int]:
        """Return a list item's number and level; the level is -1 outside lists."""
        styles, numbering = self._document.styles, self._document.numbering
        direct = element.find(f"{W}pPr/{W}numPr/{W}numId")
        number = styles.number_of(style) if direct is None else word_value(direct)
        if number == "0":
            return "", 0
        if not numbering.has(number):
            return ("-", 0) if direct is not None else ("", -1)
        named = word_value(element.find(f"{W}pPr/{W}numPr/{W}ilvl"))
        if not named and direct is None:
            named = styles.level_of(style)
        level = int(named) if named.isdecimal() else numbering.level_of_style(number, styles.numbered(style))
        level = min(level, LEVELS - 1)
        return numbering.next_number(number, level), level

    def _table(self, element: etree._Element) -> Iterator[str]:
        for row in _nested_elements(element, ROW):
            texts = [" ".join(self._blocks(cell)) for cell in _nested_elements(row, CELL)]
            line = " | ".join(" ".join(text.split()) for text in texts)
            if line.strip(" |"):
                yield line

    def _run(self, element: etree._Element) -> Iterator[str]:
        fonts = element.find(f"{W}rPr/{W}rFonts")
        font = "" if fonts is None else fonts.get(f"{W}ascii", "")
        for piece in self._paragraph_pieces(element):
            sign = symbol_text(font, piece)
            for one in self._fields[-MOST_OPEN:]:
                if one.shown is not None:
                    one.shown = (one.shown + sign)[:LONGEST_SHOWN]
            yield sign

    def _symbol(self, element: etree._Element) -> Iterator[str]:
        with suppress(ValueError, OverflowError):
            yield symbol_text(element.get(f"{W}font", ""), chr(int(element.get(f"{W}char", ""), 16)))

    def _hyperlink(self, element: etree._Element) -> Iterator[str]:
        pieces: list[str] = []
        for piece in self._paragraph_pieces(element):
            pieces.append(piece)
            yield piece
        yield _address("".join(pieces), self._links.get(element.get(f"{R}id", ""), ""))

    def _ruby(self, element: etree._Element) -> Iterator[str]:
        for part in element.iterchildren(f"{W}rubyBase"):
            yield from self._paragraph_pieces(part)
        above = "".join(
            piece for part in element.iterchildren(f"{W}rt") for piece in self._paragraph_pieces(part)
        )
        if above.strip():
            yield f"({above.strip()})"

    def _field_mark(self, element: etree._Element) -> Iterator[str]:
        """Track a field; yield a value or address that the field's text does not show."""
        kind = element.get(f"{W}fldCharType")
        if kind == "begin":
            self._fields.append(WordField())
            yield from _form_field(element)
        elif kind == "separate" and self._fields:
            self._fields[-1].shown = ""
        elif kind == "end" and self._fields:
            yield from _hidden_in(self._fields.pop())

    def _simple_field(self, element: etree._Element) -> Iterator[str]:
        field = WordField(instruction=element.get(f"{W}instr", ""), shown="")
        self._fields.append(field)
        yield from self._paragraph_pieces(element)
        if field in self._fields:
            self._fields.remove(field)
        yield from _hidden_in(field)

    def _instruction(self, element: etree._Element) -> Iterator[str]:
        for field in self._fields[-1:]:
            field.instruction = (field.instruction + (element.text or ""))[:LONGEST_SHOWN]
        yield from ()

    def _deleted(self, element: etree._Element) -> Iterator[str]:
        if next(element.iter(f"{W}delText"), None) is not None:
            self._document.unread["deleted"] += 1
        yield from ()

    def _box(self, element: etree._Element) -> Iterator[str]:
        self._boxes.append(element)
        yield from ()

    def _equation(self, element: etree._Element) -> Iterator[str]:
        yield linear_equation(element)

    def _unread(self, element: etree._Element) -> Iterator[str]:
        self._document.unread[UNREAD[str(element.tag)]] += 1
        yield from ()

    def _note(self, element: etree._Element) -> Iterator[str]:
        kind = NOTES[str(element.tag)]
        number, text = self._document.note(kind, element.get(f"{W}id", ""))
        mark = MARKS[kind].format(number=number)
        if text:
            self._after.append(f"{mark}: {text}")
        yield mark

    def _drawn(self, element: etree._Element) -> Iterator[str]:
        yield element.get("string", "")

    def _range(self, element: etree._Element) -> Iterator[str]:
        name = element.get(f"{W}id", "")
        if element.tag == f"{W}commentRangeEnd":
            self._quotes[name] = self._ranges.pop(name, "")
        elif len(self._ranges) < MOST_OPEN:
            self._ranges[name] = ""
        yield from ()

    def _comment(self, element: etree._Element) -> Iterator[str]:
        name = element.get(f"{W}id", "")
        author, text = self._document.comment(name)
        quote = " ".join((self._quotes.pop(name, "") or self._ranges.pop(name, "")).split())
        if len(quote) > LONGEST_QUOTE:
            quote = f"{quote[:LONGEST_QUOTE]}\u2026"
        by = f" by {author}" if author else ""
        on = f" on \u201c{quote}\u201d" if quote else ""
        if text:
            self._after.append(f"[Comment{by}{on}: {text}]")
        yield from ()


def _nested_elements(element: etree._Element, tag: str) -> Iterator[etree._Element]:
    for inner in element.iterchildren(tag=etree.Element):
        if inner.tag == tag:
            yield inner
        elif inner.tag not in LEFT_OUT and inner.tag not in (PARAGRAPH, TABLE):
            yield from _nested_elements(inner, tag)


def _address(text: str, address: str) -> str:
    shown = address.removeprefix("mailto:")
    if not shown or shown.rstrip("/") in text:
        return ""
    return f" ({address})"


def _hidden_in(field: WordField) -> Iterator[str]:
    link, formula = LINK.match(field.instruction), FORMULA.match(field.instruction)
    if link:
        yield _address(field.shown or "", link[1])
    elif formula and not field.shown:
        ruby = RUBY_FORMULA.fullmatch(formula[1])
        yield f"{ruby[2]}({ruby[1]})" if ruby else formula[1].strip()


def _form_field(mark: etree._Element) -> Iterator[str]:
    box, choice = mark.find(f"{W}ffData/{W}checkBox"), mark.find(f"{W}ffData/{W}ddList")
    if box is not None:
        yield _tick_of(box, f"{W}checked", f"{W}default")
    if choice is not None:
        entries = [word_value(one) for one in choice.iterchildren(f"{W}listEntry")]
        chosen = word_value(choice.find(f"{W}result")) or word_value(choice.find(f"{W}default")) or "0"
        if chosen.isdecimal() and int(chosen) < len(entries):
            yield entries[int(chosen)]


def _tick_of(box: etree._Element, *names: str) -> str:
    said = next((one for one in map(box.find, names) if one is not None), None)
    return TICKED if said is not None and is_switched_on(said) else EMPTY


def _show_ticks(root: etree._Element) -> None:
    """Replace the sign of each check box by its recorded state."""
    for box in root.iter(f"{W14}checkbox"):
        content = box.find(f"../../{W}sdtContent")
        if content is None:
            continue
        shown = list(content.iter(TEXT, f"{W}sym"))
        if not shown:
            within = next(content.iter(PARAGRAPH), content)
            shown = [etree.SubElement(within, TEXT)]
        for sign in shown:
            sign.tag, sign.text = TEXT, ""
        shown[0].text = _tick_of(box, f"{W14}checked")


def _choose_alternatives(root: etree._Element) -> None:
    """Keep only one of the forms in which content is stored for newer and older programs."""
    for element in list(root.iter(f"{MC}AlternateContent")):
        forms = list(element.iterchildren(tag=etree.Element))
        kept = next((one for one in forms if len(one)), None)
        for one in forms:
            if one is not kept:
                element.remove(one)


DOCX_ERRORS = (
    BadZipFile,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    TypeError,
    ValueError,
    etree.LxmlError,
    zlib.error,
)


OTHERS = (
    ("xl/workbook.xml", "sheet"),
    ("xl/workbook.bin", "sheet"),
    ("ppt/presentation.xml", "slides"),
    ("content.xml", "open"),
    ("meta-inf/container.xml", "book"),
)
"""Files that identify zip formats other than Word, with their refusal keys."""


OFFICE = (
    ("spreadsheetml", "sheet"),
    ("ms-excel", "sheet"),
    ("presentationml", "slides"),
    ("ms-powerpoint", "slides"),
    ("macroenabled", "macros"),
    ("template", "macros"),
)
"""Words in content types of main parts that are not plain documents, with their refusal keys."""


DOCUMENT = "word/document.xml"


MAIN = "wordprocessingml.document.main+xml"


def docx_text(data: bytes, room: ChildLimits) -> tuple[str, Mapping[str, int]]:
    """Return the text, and counts of unread content. Raises FileUnreadable."""
    try:
        package = OfficePackage(data, room)
        document = WordText(package, find_main_part(package))
        outside = sum(bool(one.address) and one.kind != "hyperlink" for one in package.all_relationships())
        lines: list[str] = []
        length = 0
        for line in document.lines():
            lines.append(line)
            length += len(line) + 1
            if length > room.characters:
                raise FileUnreadable("long")
    except etree.XMLSyntaxError as wrong:
        spent = getattr(wrong, "code", 0) == etree.ErrorTypes.ERR_NO_MEMORY
        raise FileUnreadable("memory" if spent else "damaged") from None
    except DOCX_ERRORS:
        raise FileUnreadable("damaged") from None
    return "\n".join(lines), {"outside": outside, **document.unread}


def find_main_part(package: OfficePackage) -> str:
    """Return the name of the main part. Raises FileUnreadable if the file is no plain Word document."""
    related = [one.part for one in package.relationships(PACKAGE) if one.kind == "officeDocument"]
    part = next(filter(None, related), "")
    if not part:
        part = next((name for name in package.names if MAIN in package.content_type(name)), "")
    if not part and DOCUMENT in package.names:
        part = DOCUMENT
    if not part:
        raise FileUnreadable(unreadable_zip_kind(package.names))
    declared = package.content_type(part).lower()
    for words, kind in OFFICE:
        if words in declared:
            raise FileUnreadable(kind)
    if package.root(part).tag != f"{W}document":
        raise FileUnreadable("damaged")
    return part


def unreadable_zip_kind(names: Collection[str]) -> str:
    return next((kind for name, kind in OTHERS if name in names), "archive")


if __name__ == "__main__":
    run_child(docx_text)
