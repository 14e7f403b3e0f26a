"""DOCX text as Word shows it, from any program."""

from __future__ import annotations

import pytest

from tests.documents.made import unzipped, zipped
from tests.documents.office import (
    OFFICE,
    Part,
    checkbox,
    equation,
    field,
    in_strict_form,
    item,
    letters,
    level,
    numbering,
    office,
    outside,
    paragraph,
    relationship,
    run,
    style,
)
from tests.documents.test_loading import read, refusal

ONE = paragraph("one")
LEGAL = numbering(
    level(0, "upperRoman", "Article %1"),
    level(1, "decimal", "%1.%2", "<w:isLgl/>"),
    level(2, "lowerLetter", "(%3)"),
)


def text_of(data: bytes) -> str:
    return read("a.docx", data).text


def body(*blocks: str, parts: tuple[Part, ...] = (), links: str = "") -> str:
    return text_of(office("".join(blocks), *parts, links=links))


def without(data: bytes, name: str) -> bytes:
    files = unzipped(data)
    del files[name]
    return zipped(files)


def with_text(data: bytes, name: str, old: str, new: str) -> bytes:
    files = unzipped(data)
    assert old.encode() in files[name]
    return zipped(files | {name: files[name].replace(old.encode(), new.encode())})


@pytest.mark.parametrize(
    "data",
    [
        office(ONE, main="word/document2.xml", target="/word/document2.xml"),
        office(ONE, main="word/document2.xml", target="word\\document2.xml"),
        office(ONE, main="content/main text.xml", target="content/main%20text.xml"),
        with_text(office(ONE, target="Word/Document.XML"), "[Content_Types].xml", "/word/d", "/WORD/D"),
        without(office(ONE, main="word/other.xml"), "_rels/.rels"),
        without(office(ONE), "_rels/.rels"),
        without(office(ONE), "[Content_Types].xml"),
        without(office(ONE), "word/_rels/document.xml.rels"),
        zipped({name.replace("/", "\\"): text for name, text in unzipped(office(ONE)).items()}),
        office(ONE, strict=True),
    ],
    ids=[
        "absolute",
        "backslash",
        "escaped",
        "case",
        "by type",
        "by name",
        "untyped",
        "alone",
        "windows",
        "strict",
    ],
)
def test_the_main_part_is_found_wherever_it_is(data: bytes) -> None:
    assert text_of(data) == "one"


def test_of_two_documents_the_one_is_read_that_the_relationships_name() -> None:
    both = unzipped(office(paragraph("another"))) | unzipped(office(ONE, main="word/document2.xml"))
    assert text_of(zipped(both)) == "one"
    typed = both["[Content_Types].xml"].replace(
        b"</Types>", b'<Default Extension="xml" ContentType="%s"/></Types>'
    )
    main = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    assert text_of(zipped(both | {"[Content_Types].xml": typed % main})) == "one"


@pytest.mark.parametrize(
    "links",
    [
        relationship("image", "NULL"),
        relationship("image", "../NULL"),
        relationship("image", ""),
        relationship("footnotes", "footnotes.xml") + relationship("styles", "styles.xml"),
        relationship("numbering", "numbering.xml") + relationship("header", "header1.xml"),
        relationship("hyperlink", "#there"),
        '<Relationship Id="a"/>',
    ],
)
def test_a_relationship_that_leads_nowhere_harms_nothing(links: str) -> None:
    assert body(ONE, links=links) == "one"


def test_a_thumbnail_that_is_missing_or_damaged_harms_nothing() -> None:
    thumbnail = (
        '<Relationship Id="t" Type="x/metadata/thumbnail" Target="docProps/thumbnail.jpeg"/></Relationships>'
    )
    missing = with_text(office(ONE), "_rels/.rels", "</Relationships>", thumbnail)
    assert text_of(missing) == "one"
    damaged = zipped(unzipped(missing) | {"docProps/thumbnail.jpeg": b"a picture " * 100})
    at = damaged.index(b"docProps/thumbnail.jpeg") + len("docProps/thumbnail.jpeg")
    assert text_of(damaged[:at] + b"\xff\xff" + damaged[at + 2 :]) == "one"


def test_a_part_that_is_damaged_is_left_out_and_noted() -> None:
    found = read("a.docx", with_text(office(ONE, LEGAL), "word/numbering1.xml", "</w:numbering>", ""))
    assert (found.text, found.notes) == ("one", ("Parts of a.docx that are damaged, and left out: 1.",))


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("application/vnd.ms-word.document.macroEnabled.main+xml", "has macros"),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml", "template"),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml", "is an Excel file"),
        ("application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml", "PowerPoint"),
    ],
)
def test_a_main_part_of_another_type_is_named(declared: str, expected: str) -> None:
    document = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    assert expected in refusal("a.docx", with_text(office(ONE), "[Content_Types].xml", document, declared))


def test_a_zip_with_a_password_is_called_protected() -> None:
    locked = bytearray(office(ONE))
    at = locked.index(b"PK\x01\x02")
    locked[at + 8] |= 1
    assert "protected by a password" in refusal("a.docx", bytes(locked))


def test_the_strict_form_is_read_with_all_that_is_in_it() -> None:
    parts = (
        Part("styles", style("H", "heading 2")),
        numbering(level(0, "decimal", "%1.")),
        Part("footnotes", f'<w:footnote w:id="2">{paragraph("a note")}</w:footnote>'),
        Part("header", paragraph("on top"), id="rIdTop"),
    )
    blocks = (
        paragraph("All", style="H"),
        item("first", 1),
        paragraph("word", '<w:r><w:footnoteReference w:id="2"/></w:r>', equation(letters("x=1"))),
        paragraph('<w:hyperlink r:id="rIdLink"><w:r><w:t>here</w:t></w:r></w:hyperlink>'),
        '<w:p><w:pPr><w:sectPr><w:headerReference w:type="default" r:id="rIdTop"/></w:sectPr></w:pPr></w:p>',
    )
    links = outside("hyperlink", "https://a.example/", "rIdLink")
    written = office("".join(blocks), *parts, links=links, strict=True)
    assert OFFICE.encode() not in unzipped(written)["word/document.xml"]
    expected = "[Header: on top]\n## All\n1. first\nword[^1]x=1\n[^1]: a note\nhere (https://a.example/)"
    assert text_of(written) == text_of(office("".join(blocks), *parts, links=links)) == expected
    assert in_strict_form(OFFICE) == "http://purl.oclc.org/ooxml/officeDocument/relationships"


def test_notes_follow_the_line_that_refers_to_them() -> None:
    def refer(kind: str, name: int) -> str:
        return f'<w:r><w:{kind}Reference w:id="{name}"/></w:r>'

    def note(kind: str, name: int, *texts: str, more: str = "") -> str:
        inner = "".join(paragraph(f"<w:r><w:{kind}Ref/></w:r>", text) for text in texts)
        return f'<w:{kind} w:id="{name}"{more}>{inner}</w:{kind}>'

    footnotes = note("footnote", -1, "", more=' w:type="separator"') + note("footnote", 5, " five", "and on")
    footnotes += note("footnote", 2, " two") + note("footnote", 9, "never referred to")
    parts = (Part("footnotes", footnotes), Part("endnotes", note("endnote", 2, "at the end")))
    cell = f"<w:tc>{paragraph('cell', refer('footnote', 2))}</w:tc><w:tc>{ONE}</w:tc>"
    found = body(
        paragraph("a", refer("footnote", 5), " b", refer("endnote", 2), "."),
        f"<w:tbl><w:tr>{cell}</w:tr></w:tbl>",
        paragraph("again", refer("footnote", 5), refer("footnote", 77)),
        parts=parts,
    )
    assert found == (
        "a[^1] b[^e1].\n[^1]: five and on\n[^e1]: at the end\ncell[^2] | one\n[^2]: two\nagain[^1][^3]"
    )


def test_a_note_that_refers_to_itself_ends() -> None:
    reference = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    notes = Part("footnotes", f'<w:footnote w:id="2">{paragraph("see", reference)}</w:footnote>')
    assert body(paragraph("a", reference), parts=(notes,)) == "a[^1]\n[^1]: see[^1]"


def test_comments_tell_who_wrote_them_and_on_what() -> None:
    def comment(name: int, text: str, more: str = ' w:author="Ann B."') -> str:
        return f'<w:comment w:id="{name}"{more}>{paragraph(text)}</w:comment>'

    def refer(name: int) -> str:
        return f'<w:commentRangeEnd w:id="{name}"/><w:r><w:commentReference w:id="{name}"/></w:r>'

    comments = comment(0, "Too long?") + comment(1, "Whole", "") + comment(2, "Here", ' w:author="Ben"')
    found = body(
        paragraph("It takes ", '<w:commentRangeStart w:id="0"/>', "two years", refer(0), "."),
        '<w:commentRangeStart w:id="1"/>',
        paragraph("First."),
        paragraph("Second", refer(1), "!"),
        paragraph("third", '<w:r><w:commentReference w:id="2"/></w:r>'),
        parts=(Part("comments", comments),),
    )
    assert found == (
        "It takes two years.\n[Comment by Ann B. on “two years”: Too long?]\nFirst.\nSecond!\n"
        "[Comment on “First. Second”: Whole]\nthird\n[Comment by Ben: Here]"
    )


def test_a_comment_on_much_quotes_its_beginning() -> None:
    comments = Part("comments", f'<w:comment w:id="0">{paragraph("Hm")}</w:comment>')
    end = '<w:commentRangeEnd w:id="0"/><w:r><w:commentReference w:id="0"/></w:r>'
    found = body(paragraph('<w:commentRangeStart w:id="0"/>', "long " * 500, end), parts=(comments,))
    assert f"[Comment on “{'long ' * 40}…”: Hm]" in found


def test_each_header_and_footer_is_read_once() -> None:
    parts = (
        Part("header", paragraph("On the first page"), id="h1"),
        Part(
            "header", paragraph("On the others") + "<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>", id="h2"
        ),
        Part("header", paragraph("On the others"), id="h3"),
        Part("header", "<w:p/>", id="h4"),
        Part("footer", paragraph("Page ", field("PAGE", "3")), id="f1"),
        Part("footer", paragraph("Never shown"), id="f2"),
    )
    refer = '<w:{}Reference w:type="default" r:id="{}"/>'
    first = refer.format("header", "h1") + refer.format("header", "h2") + refer.format("footer", "f1")
    second = refer.format("header", "h3") + refer.format("header", "h4") + refer.format("footer", "f1")
    found = body(
        paragraph("one", properties=f"<w:sectPr>{first}</w:sectPr>"),
        paragraph("two", properties=f"<w:sectPr>{second}</w:sectPr>"),
        parts=parts,
    )
    assert found == "[Header: On the first page]\n[Header: On the others]\none\ntwo\n[Footer: Page 3]"


def test_a_watermark_is_read() -> None:
    drawn = '<w:r><w:pict><v:shape><v:textpath string="DRAFT"/></v:shape></w:pict></w:r>'
    refer = '<w:sectPr><w:headerReference w:type="default" r:id="h"/></w:sectPr>'
    header = Part("header", paragraph(drawn), id="h")
    assert body(paragraph("one", properties=refer), parts=(header,)) == "[Header: DRAFT]\none"


def e(text: str) -> str:
    return f"<m:e>{letters(text)}</m:e>"


def sub(text: str) -> str:
    return f"<m:sub>{letters(text)}</m:sub>"


def sup(text: str) -> str:
    return f"<m:sup>{letters(text)}</m:sup>"


def over(above: str, below: str, properties: str = "") -> str:
    numbers = f"<m:num>{letters(above)}</m:num><m:den>{letters(below)}</m:den>"
    return f"<m:f><m:fPr>{properties}</m:fPr>{numbers}</m:f>"


EQUATIONS = {
    letters("A=42"): "A=42",
    over("a+b", "2"): "(a+b)/2",
    over("n", "k", '<m:type m:val="noBar"/>'): "(n ¦ k)",
    f"<m:sSup>{e('x')}{sup('n+1')}</m:sSup>": "x^(n+1)",
    f"<m:sSub>{e('x')}{sub('1')}</m:sSub>": "x_1",
    f"<m:sSubSup>{e('x')}{sub('1')}{sup('2')}</m:sSubSup>": "x_1^2",
    f"<m:sPre>{sub('1')}{sup('2')}{e('H')}</m:sPre>": "_1^2 H",
    f'<m:rad><m:radPr><m:degHide m:val="1"/></m:radPr><m:deg/>{e("n")}</m:rad>': "√(n)",
    f"<m:rad><m:deg>{letters('3')}</m:deg>{e('n')}</m:rad>": "√(3&n)",
    f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr>{sub("i=1")}{sup("n")}{e("i")}</m:nary>': "∑_(i=1)^n i",
    f"<m:nary><m:sub/><m:sup/>{e('f')}</m:nary>": "∫ f",
    f"<m:d>{e('a')}{e('b')}</m:d>": "(a|b)",
    f'<m:d><m:dPr><m:begChr m:val="{{"/><m:endChr m:val=""/></m:dPr>{e("a")}</m:d>': "{a",
    f"<m:func><m:fName>{letters('sin')}</m:fName>{e('x')}</m:func>": "sin x",
    f"<m:m><m:mr>{e('a')}{e('b')}</m:mr><m:mr>{e('c')}{e('d')}</m:mr></m:m>": "[a, b; c, d]",
    f"<m:eqArr>{e('a=1')}{e('b=2')}</m:eqArr>": "a=1; b=2",
    f"<m:limLow>{e('lim')}<m:lim>{letters('n→0')}</m:lim></m:limLow>": "lim_(n→0)",
    f"<m:limUpp>{e('x')}<m:lim>{letters('*')}</m:lim></m:limUpp>": "x^*",
    f"<m:acc>{e('x')}</m:acc>": "x\u0302",
    f'<m:bar><m:barPr><m:pos m:val="top"/></m:barPr>{e("xy")}</m:bar>': "(xy)\u0305",
    f"<m:borderBox>{e('x')}</m:borderBox>": "x",
    f"{letters('x')}<w:del>{letters('gone')}</w:del><w:ins>{letters('+1')}</w:ins>": "x+1",
}


def test_an_equation_is_a_line_of_text() -> None:
    within = [paragraph("so ", equation(one), " holds") for one in EQUATIONS]
    assert body(*within).split("\n") == [f"so {text} holds" for text in EQUATIONS.values()]
    alone = [f"<m:oMathPara>{equation(one)}</m:oMathPara>" for one in EQUATIONS]
    assert body(*map(paragraph, alone)) == body(*alone) == "\n".join(EQUATIONS.values())


def test_an_old_equation_is_read_from_its_field() -> None:
    assert body(paragraph("so ", field(r"EQ \f(1,2)"), " of it")) == r"so \f(1,2) of it"


def sign(font: str, char: str) -> str:
    return f'<w:r><w:sym w:font="{font}" w:char="{char}"/></w:r>'


def old_box(*said: str) -> str:
    inner = "".join(said)
    return field("FORMCHECKBOX", data=f"<w:ffData><w:checkBox>{inner}</w:checkBox></w:ffData>")


ON, OFF = '<w:default w:val="1"/>', '<w:default w:val="0"/>'
BOXES = {
    checkbox(run("☒"), "1"): "☒",
    checkbox(run("☐"), "0"): "☐",
    checkbox(run("☐"), ""): "☐",
    checkbox(run("yes!"), "true"): "☒",
    checkbox(sign("Wingdings 2", "F050"), "1"): "☒",
    checkbox("", "1"): "☒",
    old_box(OFF, "<w:checked/>"): "☒",
    old_box(ON): "☒",
    old_box(): "☐",
    old_box(ON, '<w:checked w:val="false"/>'): "☐",
    sign("Wingdings", "F0FE"): "☑",
    sign("Wingdings", "FE"): "☑",
    sign("Wingdings", "F0FD"): "☒",
    sign("Wingdings", "F0A8"): "☐",
    sign("Wingdings", "F06F"): "☐",
    sign("Wingdings 2", "F052"): "☑",
    sign("Wingdings 2", "F0A3"): "☐",
    sign("Symbol", "F062"): "β",
    run("\uf0fe", '<w:rFonts w:ascii="Wingdings"/>'): "☑",
    run("þ", '<w:rFonts w:ascii="Wingdings"/>'): "☑",
    run("þ", '<w:rFonts w:ascii="Arial"/>'): "þ",
    run("☒", '<w:rFonts w:ascii="MS Gothic"/>'): "☒",
}


def test_a_box_is_read_as_ticked_or_not() -> None:
    found = body(*(paragraph(box, " yes") for box in BOXES))
    assert found.split("\n") == [f"{expected} yes" for expected in BOXES.values()]


def test_a_box_that_is_a_cell_or_a_paragraph_is_read() -> None:
    cell = checkbox(f"<w:tc>{paragraph('☐')}</w:tc>", "1")
    table = f"<w:tbl><w:tr><w:tc>{paragraph('Insured')}</w:tc>{cell}</w:tr></w:tbl>"
    assert body(table, checkbox(paragraph("☐"), "1")) == "Insured | ☒\n☒"


def test_fields_of_old_forms_are_read() -> None:
    entries = "".join(f'<w:listEntry w:val="{name}"/>' for name in ("red", "green"))
    chosen = f'<w:ffData><w:ddList><w:result w:val="1"/>{entries}</w:ddList></w:ffData>'
    first = f"<w:ffData><w:ddList>{entries}</w:ddList></w:ffData>"
    found = body(
        paragraph("Colour: ", field("FORMDROPDOWN", data=chosen)),
        paragraph("Colour: ", field("FORMDROPDOWN", data=first)),
        paragraph("Name: ", field("FORMTEXT", "Ann", data="<w:ffData><w:textInput/></w:ffData>")),
    )
    assert found == "Colour: green\nColour: red\nName: Ann"


def test_items_are_numbered_as_word_counts_them() -> None:
    found = body(
        item("Parties", 1),
        item("The tenant", 1, 1),
        item("by name", 1, 2),
        item("by trade", 1, 2),
        item("The landlord", 1, 1),
        item("by name", 1, 2),
        item("Rent", 1),
        item("Amount", 1, 1),
        parts=(LEGAL,),
    )
    assert found == (
        "Article I Parties\n  1.1 The tenant\n    (a) by name\n    (b) by trade\n"
        "  1.2 The landlord\n    (a) by name\nArticle II Rent\n  2.1 Amount"
    )


FORMATS = [
    ("decimal", 9, "9.", "10."),
    ("decimalZero", 9, "09.", "10."),
    ("lowerLetter", 26, "z.", "aa."),
    ("upperLetter", 1, "A.", "B."),
    ("lowerRoman", 4, "iv.", "v."),
    ("upperRoman", 49, "XLIX.", "L."),
    ("ordinalText", 1, "1.", "2."),
    ("none", 1, ".", "."),
    ("bullet", 1, "-", "-"),
    ("lowerLetter", 999_999, "999999.", "1000000."),
    ("upperRoman", 2_000_000_000, "I.", "II."),
]


def test_numbers_are_written_in_their_format() -> None:
    lists = ""
    for number, (form, start, _, _) in enumerate(FORMATS):
        how = level(0, form, "%1.", start=start)
        lists += f'<w:abstractNum w:abstractNumId="{number}">{how}</w:abstractNum>'
        lists += f'<w:num w:numId="{number + 1}"><w:abstractNumId w:val="{number}"/></w:num>'
    items = [item("x", number) + item("y", number) for number in range(1, len(FORMATS) + 1)]
    lines = body(*items, parts=(Part("numbering", lists),)).split("\n")
    assert lines == [f"{mark} {text}" for _, _, a, b in FORMATS for mark, text in ((a, "x"), (b, "y"))]


def test_a_list_restarts_where_it_says_so_and_goes_on_else() -> None:
    levels = (level(0, "decimal", "%1."), level(1, "decimal", "%2)", '<w:lvlRestart w:val="0"/>'))
    restart = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    items = (item("a", 1), item("b", 1), item("c", 2), item("d", 2), item("e", 1))
    assert body(*items, parts=(numbering(*levels, overrides=restart),)) == "1. a\n2. b\n1. c\n2. d\n3. e"
    assert body(*items, parts=(numbering(*levels),)) == "1. a\n2. b\n3. c\n4. d\n5. e"
    own = f'<w:lvlOverride w:ilvl="0">{level(0, "upperLetter", "%1)")}</w:lvlOverride>'
    assert body(item("a", 1), item("b", 2), parts=(numbering(*levels, overrides=own),)) == "1. a\nB) b"
    deep = (item("a", 1), item("b", 1, 1), item("c", 1), item("d", 1, 1))
    assert body(*deep, parts=(numbering(*levels),)) == "1. a\n  1) b\n2. c\n  2) d"


def test_a_style_brings_a_number_to_its_paragraphs() -> None:
    numbered = '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'
    styles = style("H1", "heading 1", numbered) + style("H2", "Heading 2", '<w:basedOn w:val="H1"/>')
    styles += style("Mine", "Mine", '<w:basedOn w:val="H2"/>') + style("L", "List Paragraph")
    styles += style("Out", "Outlined", '<w:pPr><w:outlineLvl w:val="2"/></w:pPr>')
    parts = (
        Part("styles", styles),
        numbering(
            level(0, "decimal", "%1", '<w:pStyle w:val="H1"/>'),
            level(1, "decimal", "%1.%2", '<w:pStyle w:val="H2"/>'),
        ),
    )
    none = '<w:numPr><w:numId w:val="0"/></w:numPr>'
    found = body(
        paragraph("Scope", style="H1"),
        paragraph("Places", properties='<w:pStyle w:val="H2"/><w:numPr><w:ilvl w:val="1"/></w:numPr>'),
        paragraph("Mine", style="Mine", properties='<w:numPr><w:ilvl w:val="1"/></w:numPr>'),
        paragraph("Without", style="H1", properties=none),
        paragraph("Terms", style="H1"),
        paragraph("no item", style="L"),
        paragraph("Outlined", style="Out"),
        parts=parts,
    )
    assert found == "# 1 Scope\n## 1.1 Places\n## 1.2 Mine\n# Without\n# 2 Terms\nno item\n### Outlined"


def test_a_list_may_be_defined_by_a_style_of_numbering() -> None:
    linked = '<w:abstractNum w:abstractNumId="8"><w:numStyleLink w:val="Own"/></w:abstractNum>'
    uses = '<w:num w:numId="3"><w:abstractNumId w:val="8"/></w:num>'
    part = numbering(level(0, "upperLetter", "%1."), more=linked)
    own = style("Own", "Own", '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>')
    parts = (Part("numbering", part.content + uses), Part("styles", own))
    assert body(item("a", 3), item("b", 3), parts=parts) == "A. a\nB. b"


def test_an_item_of_an_unknown_list_is_a_bullet() -> None:
    assert body(item("a", 5), paragraph("b", properties="<w:numPr/>")) == "- a\nb"


def test_ruby_stands_apart_from_its_word() -> None:
    above, base = f"<w:rt>{run('とうきょう')}</w:rt>", f"<w:rubyBase>{run('東京')}</w:rubyBase>"
    ruby = f"<w:r><w:ruby><w:rubyPr/>{above}{base}</w:ruby></w:r>"
    assert body(paragraph(ruby, "へ行く")) == "東京(とうきょう)へ行く"
    old = field(r'EQ \* jc2 \* "Font:MS Mincho" \* hps10 \o\ad(\s\up 9(とうきょう),東京)')
    assert body(paragraph(old, "へ行く")) == "東京(とうきょう)へ行く"


def test_what_was_changed_under_review_is_read_as_it_is_now() -> None:
    gone = "<w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
    moved = run("moved")
    row = f"<w:tbl><w:tr><w:trPr><w:del/></w:trPr><w:tc>{paragraph(gone)}</w:tc></w:tr></w:tbl>"
    changed = paragraph("was ", gone, f"<w:ins>{run('new')}</w:ins>", f"<w:moveFrom>{moved}</w:moveFrom>")
    found = read(
        "a.docx", office(f"{changed}{paragraph(f'<w:moveTo>{moved}</w:moveTo>')}<w:ins>{ONE}</w:ins>{row}")
    )
    assert found.text == "was new\nmoved\none"
    assert found.notes == ("Passages of a.docx that were deleted under review, and are left out: 2.",)


def test_an_item_that_was_deleted_is_not_counted() -> None:
    gone = item("", 1).replace("</w:numPr>", "</w:numPr><w:rPr><w:del/></w:rPr>")
    one = numbering(level(0, "decimal", "%1."))
    assert body(item("a", 1), gone, item("b", 1), parts=(one,)) == "1. a\n2. b"
    assert body(item("a", 1), item("", 1), item("b", 1), parts=(one,)) == "1. a\n3. b"


def test_a_text_box_is_read_once() -> None:
    table = f"<w:tbl><w:tr><w:tc>{ONE}</w:tc><w:tc>{ONE}</w:tc></w:tr></w:tbl>"
    inner = f"<w:txbxContent>{paragraph('boxed')}{table}</w:txbxContent>"
    shape = f"<w:drawing><wps:wsp><wps:txbx>{inner}</wps:txbx></wps:wsp></w:drawing>"
    choice = f'<mc:Choice Requires="wps">{shape}</mc:Choice>'
    fallback = (
        f"<mc:Fallback><w:pict><v:shape><v:textbox>{inner}</v:textbox></v:shape></w:pict></mc:Fallback>"
    )
    both = f"<w:r><mc:AlternateContent>{choice}{fallback}</mc:AlternateContent></w:r>"
    assert body(paragraph("beside", both)) == "beside\nboxed\none | one"
    old = f"<w:r><mc:AlternateContent><mc:Choice Requires='x'/>{fallback}</mc:AlternateContent></w:r>"
    assert body(paragraph(old)) == "boxed\none | one"


def test_a_table_in_a_table_is_read_in_its_cell() -> None:
    inner = f"<w:tbl><w:tr><w:tc>{paragraph('in')}</w:tc><w:tc>{paragraph('ner')}</w:tc></w:tr></w:tbl>"
    assert (
        body(f"<w:tbl><w:tr><w:tc>{ONE}{inner}</w:tc><w:tc>{ONE}</w:tc></w:tr></w:tbl>")
        == "one in | ner | one"
    )


def test_a_link_tells_where_it_leads() -> None:
    def link(text: str, name: str) -> str:
        return f'<w:hyperlink r:id="{name}">{run(text)}</w:hyperlink>'

    links = outside("hyperlink", "https://a.example/x", "r1") + outside(
        "hyperlink", "mailto:ann@a.example", "r2"
    )
    found = body(
        paragraph("see ", link("here", "r1"), "."),
        paragraph(link("https://a.example/x", "r1"), " ", link("ann@a.example", "r2")),
        paragraph(f'<w:hyperlink w:anchor="there">{run("within")}</w:hyperlink>'),
        paragraph(field(' HYPERLINK "https://b.example" ', "there"), "."),
        paragraph(field(' HYPERLINK "https://b.example/" ', "https://b.example")),
        paragraph(f"<w:fldSimple w:instr=' HYPERLINK \"https://c.example\" '>{run('simple')}</w:fldSimple>"),
        links=links,
    )
    assert found == (
        "see here (https://a.example/x).\nhttps://a.example/x ann@a.example\nwithin\n"
        "there (https://b.example).\nhttps://b.example\nsimple (https://c.example)"
    )


def test_what_is_not_read_is_counted_in_a_note() -> None:
    def drawing(inner: str) -> str:
        graphic = f"<a:graphic><a:graphicData>{inner}</a:graphicData></a:graphic>"
        return f"<w:r><w:drawing><wp:inline>{graphic}</wp:inline></w:drawing></w:r>"

    found = read(
        "a.docx",
        office(
            paragraph("one", drawing("<pic:pic/>"), drawing("<pic:pic/>"))
            + paragraph(drawing('<c:chart r:id="a"/>'), drawing('<dgm:relIds r:dm="b"/>'))
            + paragraph("<w:r><w:object><v:shape><v:imagedata/></v:shape><o:OLEObject/></w:object></w:r>")
            + paragraph("<w:r><w:pict><v:shape><v:imagedata/></v:shape></w:pict></w:r>")
            + '<w:altChunk r:id="c"/>'
        ),
    )
    assert found.text == "one"
    assert found.notes == (
        "Pictures in a.docx, which are not read: 3.",
        "Charts in a.docx, which are not read: 1.",
        "Diagrams (SmartArt) in a.docx, which are not read: 1.",
        "Embedded objects in a.docx, which are not read: 2.",
    )
