"""Texts with declared, missing or wrong encodings."""

from __future__ import annotations

import codecs

import pytest

from tests.documents.test_loading import read

XML = '<?xml version="1.0" encoding="{}"?>\n<a>{}</a>'
HTML = '<!DOCTYPE html>\n<html><head><meta charset="{}"></head><body>{}</body></html>'
PRAGMA = "<META HTTP-EQUIV=Content-Type CONTENT='text/html; charset={}'><p>{}</p>"
STYLES = '@charset "{}"; a::before {{ content: "{}" }}'
CYRILLIC = "Привет, мир"

DECLARED = [
    (XML, "ISO-8859-2", "Łódź"),
    (XML, "iso-8859-15", "10 €"),
    (XML, "windows-1250", "Łódź"),
    (XML, "KOI8-R", CYRILLIC),
    (XML, "Shift_JIS", "日本語"),
    (XML, "EUC-JP", "日本語"),
    (XML, "ISO-2022-JP", "日本語の文です"),
    (XML, "GB2312", "中文"),
    (XML, "Big5", "中文"),
    (XML, "EUC-KR", "한국어"),
    (XML, "macintosh", "naïve"),
    (XML, "IBM852", "Łódź"),
    (HTML, "windows-1251", CYRILLIC),
    (HTML, "WINDOWS-1251", CYRILLIC),
    (HTML, "cp1251", CYRILLIC),
    (HTML, "koi8-u", "Привіт, світ"),
    (HTML, "iso-8859-7", "Ψάξε"),
    (HTML, "windows-1255", "שלום"),
    (HTML, "windows-1256", "مرحبا"),
    (HTML, "tis-620", "สวัสดี"),
    (HTML, "gbk", "中文"),
    (HTML, "iso-8859-9", "İğne"),
    (PRAGMA, "windows-1251", CYRILLIC),
    (PRAGMA, "euc-kr", "한국어"),
    (HTML.replace('"{}"', "{}"), "windows-1251", CYRILLIC),
    (HTML.replace('charset="{}"', "charset='{}'/"), "windows-1251", CYRILLIC),
    ("<!-- <meta charset=koi8-r> -->" + HTML, "windows-1251", CYRILLIC),
    ("\n\n  " + HTML, "windows-1251", CYRILLIC),
    (HTML.replace("<head>", f"<head><script>{'x' * 2_000}</script>"), "windows-1251", CYRILLIC),
    (STYLES, "windows-1251", CYRILLIC),
]


@pytest.mark.parametrize(("form", "label", "words"), DECLARED)
def test_a_declared_encoding_is_taken(form: str, label: str, words: str) -> None:
    written = form.format(label, words)
    found = read("a.txt", written.encode(label))
    assert (found.text, found.notes) == (written, ())


@pytest.mark.parametrize("name", ["a.html", "a.xml", "a"])
def test_a_declaration_is_found_by_what_begins_like_markup_or_is_called_so(name: str) -> None:
    written = HTML.format("windows-1251", CYRILLIC)
    assert read(name, written.encode("cp1251")).text == written
    within = f"words before <meta charset=windows-1251> {CYRILLIC}"
    assert (CYRILLIC in read(name, within.encode("cp1251")).text) == (name != "a")


@pytest.mark.parametrize(
    "encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-16", "utf-32", "utf-8-sig", "utf-8"]
)
@pytest.mark.parametrize("form", [XML.format("UTF-16", "Łódź 日本"), HTML.format("koi8-r", "Łódź 日本")])
def test_markup_of_several_bytes_a_letter_needs_no_mark(form: str, encoding: str) -> None:
    found = read("a.xml", form.encode(encoding))
    assert found.text == form
    assert bool(found.notes) == (encoding == "utf-8" and "koi8" in form)


@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_is_stronger_than_a_declaration(mark: str) -> None:
    written = XML.format("ISO-8859-2", "Łódź")
    found = read("a.xml", written.encode(mark))
    assert (found.text, found.notes) == (written, ())


@pytest.mark.parametrize("form", [XML, HTML, PRAGMA])
@pytest.mark.parametrize("label", ["ISO-8859-1", "windows-1252", "gbk", "shift_jis"])
def test_what_is_utf_8_and_says_otherwise_is_read_as_utf_8_with_a_note(form: str, label: str) -> None:
    written = form.format(label, "café · 日本語の文")
    found = read("a.html", written.encode())
    assert found.text == written
    [note] = found.notes
    assert note.startswith("a.html says that its encoding is ")
    assert note.endswith("it is UTF-8, and was read as such.")


@pytest.mark.parametrize(
    "label",
    [
        "utf-8",
        "UTF-16",
        "x-unheard-of",
        "",
        "rot13",
        "zlib",
        "hex",
        "punycode",
        "unicode_escape",
        "utf-7",
        "cp037",
    ],
)
@pytest.mark.parametrize("form", [XML, HTML])
def test_what_is_no_encoding_of_a_text_is_not_believed(form: str, label: str) -> None:
    written = form.format(label, "plain words, \\u0041 and +AGE-")
    found = read("a.html", written.encode())
    assert (found.text, found.notes) == (written, ())
    western = form.format(label, "café")
    found = read("a.html", western.encode("cp1252"))
    assert found.text == western
    assert "read as Windows-1252" in found.notes[0]


def test_what_is_not_all_in_its_declared_encoding_is_read_with_a_note() -> None:
    found = read(
        "a.html", HTML.format("windows-1251", f"{CYRILLIC} X").encode("cp1251").replace(b"X", b"\x98")
    )
    assert f"{CYRILLIC} \ufffd" in found.text
    assert found.notes == (
        "a.html is not all in its encoding (CP1251): 1 characters could not be read (\ufffd).",
    )


def test_a_text_that_is_no_markup_declares_nothing() -> None:
    words = f'A page begins with <meta charset="windows-1251">: {"word " * 99}café'
    found = read("a.md", words.encode("cp1252"))
    assert found.text == words
    assert "read as Windows-1252" in found.notes[0]


def test_two_bytes_a_letter_are_no_text_without_a_sign_of_it() -> None:
    assert read("a.txt", codecs.BOM_UTF16_LE + "abc".encode("utf-16-le")).text == "abc"
