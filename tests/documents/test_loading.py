"""Shared files as documents, or reasons against them."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable

import pytest
from docx.document import Document as Word
from docx.opc.constants import RELATIONSHIP_TYPE
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.documents.document import Document, DocumentError, clean_name
from daemon.documents.loading import MOST_BYTES, PIECE, read_document
from daemon.documents.parsing_child import ChildLimits
from daemon.documents.word_text import MOST_FILES
from tests.documents.made import (
    endless_pdf,
    lying,
    packed_pdf,
    paragraphs,
    pdf,
    raw_pdf,
    stream,
    swollen_pdf,
    unzipped,
    word,
    zipped,
)
from tests.soak import SOAK, later

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100)
TEMPLATE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/attachedTemplate"
UTF8 = "Ünï · 日本 · 🙂\n"


def read(name: str, data: bytes, room: ChildLimits | None = None) -> Document:
    return asyncio.run(read_document(name, data, room or ChildLimits()))


def refusal(name: str, data: bytes, room: ChildLimits | None = None) -> str:
    with pytest.raises(DocumentError) as refused:
        read(name, data, room)
    return str(refused.value)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.txt", b"", "a.txt is empty"),
        ("a.txt", b" \n\t", "a.txt holds no text"),
        ("a.txt", codecs.BOM_UTF8, "a.txt holds no text"),
        ("a.bin", b"abc\0def", "a.bin is not text, nor anything else that can be read"),
        ("a.txt", bytes(range(1, 32)) * 4, "a.txt is not text"),
        ("a.txt", codecs.BOM_UTF16_LE + "a\0b".encode("utf-16-le"), "a.txt is not text"),
        ("a.txt", "日本語の文です。".encode("shift-jis"), "save it as UTF-8"),
        ("a.txt", b"caf\xe9 \x81", "save it as UTF-8"),
        ("a.txt", "Всё хорошо.".encode("koi8-r"), "save it as UTF-8"),
        ("a.txt", b"\x81\0\xff", "a.txt is not text"),
        ("a.png", b"\x89PNG\r\n\x1a\n...", "a.png is an image"),
        ("a.txt", b"\xff\xd8\xff\xe0 JFIF", "a.txt is an image"),
        ("a.gif", b"GIF89a...", "a.gif is an image"),
        ("a.gz", b"\x1f\x8b\x08...", "a.gz is an archive: unpack it"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c", "a.7z is an archive"),
        ("a.tar", b"a" * 257 + b"ustar", "a.tar is an archive"),
        ("a.zip", b"PK\x05\x06" + bytes(18), "a.zip is an archive"),
        ("a.mp4", b"\0\0\0\x18ftypmp42", "a.mp4 is sound or film: share a transcript"),
        ("a.doc", OLE, "a.doc is a Word file of the old kind: save it as .docx"),
        ("a.xls", OLE, "save the sheet that matters as .csv"),
        ("a.ppt", OLE, "save it as .pdf"),
        ("a.docx", OLE, "a.docx is protected by a password"),
        ("a", OLE, "an Office file of the old kind"),
        ("a.rtf", b"{\\rtf1 hello}", "save it as .docx or as plain text"),
        ("a.pdf", b"\0\1\2", "a.pdf is not text"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_bytes(name: str, data: bytes, expected: str) -> None:
    assert expected in refusal(name, data)


def test_two_hundred_megabytes_are_refused_by_their_size() -> None:
    assert refusal("a.pdf", bytes(200 * 2**20)) == (
        "a.pdf has 200 MB, and at most 100 MB are read: share the part that matters, or split it."
    )
    assert MOST_BYTES == 100 * 2**20


def test_a_text_that_is_too_long_is_refused() -> None:
    assert "more than 1,000 characters" in refusal("a.txt", b"a" * 1_001, ChildLimits(characters=1_000))


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        ("a.zip", {"a": b"b"}, "a.zip is an archive"),
        ("a.xlsx", {"xl/workbook.xml": b""}, "a.xlsx is an Excel file: save the sheet that matters as .csv"),
        ("a.pptx", {"ppt/presentation.xml": b""}, "a.pptx is a PowerPoint file: save it as .pdf"),
        ("a.odt", {"content.xml": b""}, "a.odt is an OpenDocument file"),
        ("a.epub", {"META-INF/container.xml": b""}, "a.epub is an e-book"),
        ("a.docx", {"word/document.xml": b"<x"}, "a.docx is damaged"),
    ],
)
def test_what_is_in_a_zip_tells_what_it_is(name: str, files: dict[str, bytes], expected: str) -> None:
    assert expected in refusal(name, zipped(files))


def changed(data: bytes, **files: bytes) -> bytes:
    return zipped(unzipped(data) | {f"word/{name}.xml": content for name, content in files.items()})


def document_xml(before: bytes = b"", after: bytes = b"") -> bytes:
    data = paragraphs("one")
    xml = unzipped(data)["word/document.xml"].replace(b"<w:document", before + b"<w:document", 1)
    return changed(data, document=xml.replace(b"<w:body>", b"<w:body>" + after))


def test_a_docx_that_swells_is_refused_before_it_is_parsed() -> None:
    bomb = changed(paragraphs("one"), styles=b"<a>" + b" " * 1_999_993 + b"</a>")
    assert read("a.docx", bomb).text == "one"
    small = ChildLimits(unpacked=1_000_000)
    assert "a.docx unpacks to far more than it looks" in refusal("a.docx", bomb, small)
    assert "a.docx is damaged" in refusal("a.docx", lying(bomb, 2_000_000), small)
    many = zipped(unzipped(paragraphs("one")) | {f"word/{number}": b"" for number in range(MOST_FILES)})
    assert "a.docx unpacks to far more than it looks" in refusal("a.docx", many)


@pytest.mark.parametrize("encoding", ["ascii", "utf-16"])
def test_a_docx_that_defines_its_own_words_is_refused(encoding: str) -> None:
    laughs = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(9))
    wrong = f'<!DOCTYPE x [<!ENTITY l0 "ha"><!ENTITY file SYSTEM "file:///etc/hostname">{laughs}]><a>&l9;</a>'
    bomb = changed(paragraphs("one"), styles=wrong.encode(encoding))
    assert "a.docx holds XML definitions" in refusal("a.docx", bomb)


@SOAK
def test_a_docx_that_takes_too_much_memory_is_refused() -> None:
    wide = document_xml(after=b"<w:p/>" * 1_000_000)
    assert "needs more memory" in refusal("a.docx", wide, ChildLimits(memory=150 * 2**20))


async def test_what_a_docx_refers_to_is_never_fetched() -> None:
    asked: list[object] = []
    server = await asyncio.start_server(lambda *streams: asked.append(streams), "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/x"

        def write(document: Word) -> None:
            document.add_paragraph("one")
            part = document.part
            part.relate_to(url, RELATIONSHIP_TYPE.IMAGE, is_external=True)
            part.relate_to(url, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
            part.part_related_by(RELATIONSHIP_TYPE.SETTINGS).relate_to(url, TEMPLATE, is_external=True)

        found = await read_document("a.docx", word(write))
    assert (found.text, asked) == ("one", [])
    assert found.notes == ("Things outside that a.docx refers to, which were not fetched: 2.",)


def test_a_docx_is_read_in_its_order() -> None:
    def write(document: Word) -> None:
        document.add_heading("All of it", 0)
        document.add_heading("A part", 2)
        document.add_paragraph("An item", style="List Bullet")
        table = document.add_table(2, 2)
        table.cell(0, 0).text = "a"
        table.cell(0, 1).text = "b\nb"
        table.cell(1, 0).merge(table.cell(1, 1)).text = "both"
        document.add_paragraph("tab\there\nand on")

    found = read("a.docx", word(write))
    assert found.text == "# All of it\n## A part\n- An item\na | b b\nboth\ntab\there\nand on"
    assert (found.kind, found.place(4), found.notes) == ("docx", "a.docx:4", ())


def test_a_docx_loses_no_words_in_controls_reviews_and_boxes() -> None:
    def run(text: str) -> str:
        return f"<w:r><w:t>{text}</w:t></w:r>"

    box = f"<w:r><w:pict><w:txbxContent><w:p>{run('boxed')}</w:p></w:txbxContent></w:pict></w:r>"
    xml = (
        f"<w:sdt><w:sdtContent><w:p>{run('held')}</w:p></w:sdtContent></w:sdt>"
        f"<w:p>{run('was ')}<w:ins>{run('added')}</w:ins><w:del>{run('gone')}</w:del>{box}</w:p>"
        f"<w:tbl><w:tr><w:sdt><w:sdtContent><w:tc><w:p>{run('cell')}</w:p></w:tc></w:sdtContent></w:sdt>"
        f"<w:tc><w:tbl><w:tr><w:tc><w:p>{run('inner')}</w:p></w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>"
    )
    assert (
        read("a.docx", document_xml(after=xml.encode())).text == "held\nwas added\nboxed\ncell | inner\none"
    )


def test_a_pdf_is_read_page_by_page() -> None:
    found = read("my paper.pdf", pdf("Hello world\nand on", "", "The end"))
    assert found.text == "[my paper.pdf p.1]\nHello world\nand on\n[my paper.pdf p.3]\nThe end\n"
    assert [found.place(line) for line in (2, 3, 5)] == ["my paper.pdf p.1"] * 2 + ["my paper.pdf p.3"]
    assert found.notes == ("Pages of my paper.pdf without text (pictures, perhaps), which are left out: 1.",)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: pdf("", ""), "a.pdf holds pictures of pages and no text: let text recognition (OCR) run"),
        (lambda: pdf("Hello")[:200], "a.pdf is damaged"),
        (lambda: swollen_pdf(80_000_000), "a.pdf unpacks to far more than it looks"),
        later(lambda: packed_pdf(80_000_000), "a.pdf unpacks to far more than it looks"),
        later(lambda: endless_pdf(6), "a.pdf unpacks to far more than it looks"),
        (lambda: endless_pdf(3), "a.pdf has more than 100 pages"),
        (lambda: pdf("Hello world" * 10), "a.pdf holds more than 100 characters"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_honest_pdf_is_refused(made: Callable[[], bytes], expected: str) -> None:
    assert expected in refusal("a.pdf", made(), ChildLimits(pages=100, characters=100))


def test_a_pdf_that_takes_too_much_memory_is_refused() -> None:
    assert "a.pdf needs more memory" in refusal(
        "a.pdf", swollen_pdf(70_000_000), ChildLimits(memory=150 * 2**20)
    )


@SOAK
def test_a_pdf_that_is_packed_or_swollen_a_little_is_no_bomb() -> None:
    assert "holds pictures of pages" in refusal("a.pdf", packed_pdf(1_000))
    assert "holds pictures of pages" in refusal("a.pdf", swollen_pdf(1_000))


def test_a_page_that_is_broken_is_left_out_and_noted() -> None:
    broken = stream(b"nothing that is packed", "/Filter /Unheard")
    whole = stream(b"BT /F1 12 Tf (Hello) Tj ET")
    found = read("a.pdf", raw_pdf([broken, whole]))
    assert found.text == "[a.pdf p.2]\nHello\n"
    assert found.notes == ("Pages of a.pdf that are damaged, and left out: 1.",)


@pytest.mark.parametrize(
    ("name", "data", "notes"),
    [
        ("a.py", b"x = 1\n", ()),
        ("a.csv", b"a,b\n1,2\n", ()),
        ("a.json", b'{"a": [1, 2]}', ()),
        ("a.json", b"1" * 5_000, ()),
        ("a.json", b'{"a": [1, 2', ("a.json is not valid JSON (line 1: Expecting ',' delimiter): ",)),
        ("a.json", b"[" * 60_000, ()),
        ("a.docx", b"words", ("a.docx holds plain text, whatever its name says",)),
        ("a.txt", b"caf\xe9 au lait", ("it was read as Windows-1252, so some letters may be wrong",)),
        ("a.txt", UTF8.encode() * 9 + b"\xff", ("1 characters could not be read",)),
        ("a.txt", codecs.BOM_UTF16_LE + b"a\0b\0\0\xd8", ("1 characters could not be read",)),
    ],
)
def test_text_is_read_with_what_there_is_to_note(name: str, data: bytes, notes: tuple[str, ...]) -> None:
    found = read(name, data)
    assert len(found.notes) == len(notes)
    assert all(note in said for note, said in zip(notes, found.notes, strict=True))
    assert found.kind == {"a.csv": "csv", "a.json": "json"}.get(name, "text")


def test_a_pdf_by_another_name_is_read_as_what_it_is() -> None:
    assert read("a.txt", pdf("Hello")).kind == "pdf"
    assert read("a.py", b'MARK = b"%PDF-1.4"\n').kind == "text"


TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]) | st.sampled_from("\n\t"), min_size=1
)


@given(
    TEXT, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]), st.sampled_from(["\n", "\r\n", "\r"])
)
@settings(max_examples=2 * settings().max_examples)
def test_a_text_comes_back_as_it_was_written(text: str, encoding: str, end: str) -> None:
    text = f"x{text}"
    data = text.replace("\n", end).encode(encoding)
    found = read("a.txt", data)
    assert (found.text, found.notes) == (text, ())
    assert found.text.splitlines() == found.text.removesuffix("\n").split("\n")
    assert found.line_count == len(text.splitlines())


def test_all_count_the_same_lines() -> None:
    found = read("a.txt", "a\x0bb\x0cc\x1dd\x85e\u2028f\u2029\r\ng".encode())
    assert found.text == "a b c d e f \ng"
    assert found.line_count == len(found.text.splitlines()) == 2


@given(st.binary(max_size=300), st.sampled_from(["a.txt", "a.json", "a.csv", "a"]))
@settings(max_examples=3 * settings().max_examples)
def test_any_bytes_are_read_or_refused_in_a_sentence(data: bytes, name: str) -> None:
    if data.startswith(b"PK\x03\x04") or b"%PDF" in data:
        return
    said = read_or_refuse(name, data)
    assert "\0" not in said.text if isinstance(said, Document) else name in said and said.endswith(".")


def read_or_refuse(name: str, data: bytes) -> Document | str:
    try:
        return read(name, data)
    except DocumentError as refused:
        return str(refused)


def test_a_large_text_is_read_across_its_pieces() -> None:
    line = "é" * 99 + "\r\n"
    found = read("a.txt", (line * (3 * PIECE // 200)).encode())
    assert set(found.text.split("\n")) == {"é" * 99, ""}
    assert found.passage(2, 3) == ("é" * 99 + "\n") * 2


@given(st.lists(st.text("ab ", max_size=3), min_size=1, max_size=9), st.data())
@settings(max_examples=2 * settings().max_examples)
def test_a_line_is_found_by_its_place(lines: list[str], data: st.DataObject) -> None:
    document = Document(name="a.txt", text="\n".join(lines))
    number = data.draw(st.integers(1, max(document.line_count, 1)))
    if document.text:
        assert document.passage(number, number).removesuffix("\n") == lines[number - 1]
    assert document.place(number) == f"a.txt:{number}"


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("report.txt", "report.txt"),
        ('a [1] "x".txt', "a _1_ _x_.txt"),
        ("a\nb\u202e.txt", "a b .txt"),
        ("", "file"),
        ("a" * 300, "a" * 200),
    ],
)
def test_a_name_can_be_cited(name: str, clean: str) -> None:
    assert clean_name(name) == clean
    assert read(name, b"words").name == clean
