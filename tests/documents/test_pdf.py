"""PDF text with form values and annotations."""

from __future__ import annotations

import pytest

from daemon.documents.document import Document
from tests.documents.made import marked_pdf, pdf, protected, raw_pdf, stream, widget
from tests.documents.test_loading import read, refusal
from tests.soak import later

ALGORITHMS = ("AES-128", "AES-256", later("RC4-40"), later("RC4-128"), later("AES-256-R5"))
LOOKS = "/AP << /N << /{} 3 0 R /Off 3 0 R >> >>"


def lines(data: bytes) -> list[str]:
    return read("a.pdf", data).text.splitlines()[1:]


def tick(x: int, y: int, entries: str, state: str = "Yes") -> str:
    return widget(x, y, f"/FT /Btn {LOOKS.format(state)} {entries}", width=12, height=12)


def note(x: int, y: int, entries: str, kind: str = "Text", width: int = 20, height: int = 20) -> str:
    return f"<< /Type /Annot /Subtype /{kind} /Rect [{x} {y} {x + width} {y + height}] {entries} >>"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pdf_that_is_locked_against_changes_alone_is_read(algorithm: str) -> None:
    assert lines(protected(pdf("Hello"), "", algorithm=algorithm)) == ["Hello"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pdf_that_needs_a_password_is_called_protected(algorithm: str) -> None:
    expected = "a.pdf is protected by a password: save it without one, and share that."
    assert refusal("a.pdf", protected(pdf("Hello"), "secret", algorithm=algorithm)) == expected


def test_a_pdf_for_certain_people_is_called_protected() -> None:
    data = pdf("Hello").replace(b"trailer\n<<", b"trailer\n<< /Encrypt << /Filter /Adobe.PubSec /V 4 >>")
    assert "protected by a password" in refusal("a.pdf", data)


def test_the_value_of_a_field_stands_beside_its_label() -> None:
    found = lines(
        marked_pdf(
            [
                (72, 730, "Name:"),
                (330, 730, "Age:"),
                (72, 700, "Street"),
                (72, 640, "(city)"),
                (72, 600, "Empty:"),
            ],
            widget(370, 722, "/FT /Tx /T (age) /V (41)", width=50),
            widget(110, 722, "/FT /Tx /T (name) /V (Ann \\(B.\\))"),
            widget(72, 672, "/FT /Tx /T (street) /V (1 High Road)"),
            widget(72, 651, "/FT /Tx /T (city) /V (Leith)", height=14),
            widget(130, 592, "/FT /Tx /T (empty)"),
            widget(400, 100, "/FT /Tx /T (far) /TU (Remarks) /V (First\\rSecond)"),
        )
    )
    assert found == [
        "Name: Ann (B.) Age: 41",
        "Street 1 High Road",
        "Leith (city)",
        "Empty:",
        "Remarks: First",
        "Second",
    ]


def test_boxes_are_read_as_ticked_or_not() -> None:
    found = lines(
        marked_pdf(
            [(72, 730, "Insured:"), (90, 700, "yes"), (150, 700, "no"), (72, 670, "Paid"), (72, 640, "By:")],
            tick(200, 728, "/T (insured) /V /Yes /AS /Yes"),
            tick(74, 698, "/T (yes) /AS /Off /V /Off"),
            tick(134, 698, "/T (no) /V /Yes"),
            tick(104, 668, "/T (paid)"),
            tick(110, 638, "/T (card) /AS /Off", "Card"),
            tick(140, 638, "/T (cash) /AS /Cash /V /Cash", "Cash"),
            tick(300, 100, "/T (far) /AS /Yes"),
            widget(400, 100, "/FT /Btn /Ff 65536 /T (Send)"),
        )
    )
    assert found == ["Insured: ☒", "☐ yes ☒ no", "Paid ☐", "By: ☐ card ☒ cash", "☒ far"]


def test_one_of_several_is_read_as_the_one_that_is_ticked() -> None:
    parent = f"<< /FT /Btn /Ff {1 << 15} /T (size) /V /L /Subtype /None /Rect [0 0 0 0] >>"
    kid = "/Parent 10 0 R /AP << /N << /{} 3 0 R /Off 3 0 R >> >>"
    found = lines(
        marked_pdf(
            [(72, 700, "small"), (172, 700, "large")],
            parent,
            widget(56, 698, kid.format("S"), width=12, height=12),
            widget(156, 698, kid.format("L"), width=12, height=12),
            widget(400, 98, kid.format("XL") + " /AS /Off", width=12, height=12),
        )
    )
    assert found == ["☐ small ☒ large", "☐ size XL"]


def test_a_choice_is_read_as_it_is_shown() -> None:
    options = "/Opt [[(de) (Germany)] [(fr) (France)] (Italy)]"
    found = lines(
        marked_pdf(
            [(72, 730, "Country:"), (72, 700, "Visited:"), (72, 670, "Other:")],
            widget(150, 722, f"/FT /Ch /T (a) {options} /V (fr)"),
            widget(150, 692, f"/FT /Ch /T (b) {options} /V [(de) (Italy)]"),
            widget(150, 662, f"/FT /Ch /T (c) {options} /V (Spain)"),
        )
    )
    assert found == ["Country: France", "Visited: Germany, Italy", "Other: Spain"]


def test_a_field_within_a_field_has_the_name_and_the_kind_of_both() -> None:
    parent = "<< /FT /Tx /T (person) /Rect [0 0 0 0] /Subtype /None >>"
    found = lines(
        marked_pdf([(72, 730, "Form")], parent, widget(300, 100, "/Parent 10 0 R /T (name) /V (Ann)"))
    )
    assert found == ["Form", "person.name: Ann"]


def test_a_password_and_a_hidden_field_are_not_read() -> None:
    found = marked_pdf(
        [(72, 730, "Form")],
        widget(100, 722, f"/FT /Tx /Ff {1 << 13} /V (secret)"),
        widget(100, 722, "/FT /Tx /F 2 /V (hidden)"),
    )
    assert lines(found) == ["Form"]


def test_a_signature_names_who_signed() -> None:
    signed = widget(150, 722, "/FT /Sig /T (s) /V << /Type /Sig /Name (Ann) >>")
    assert lines(marked_pdf([(72, 730, "Signed:")], signed)) == ["Signed: [signed by Ann]"]


def test_comments_stand_in_the_line_that_they_are_on() -> None:
    found = lines(
        marked_pdf(
            [(72, 730, "The rent is 900 euros."), (72, 715, "It is due monthly."), (72, 700, "The end.")],
            note(72, 728, "/T (Ann) /Contents (Too much!)", "Highlight", width=120, height=14),
            note(72, 713, "/T (Ben) /Contents (Both lines)", "Underline", width=120, height=29),
            note(500, 695, "/T (Eve) /Contents (In the\\nmargin)"),
            note(400, 100, "/Contents (Anywhere)", "Square"),
            note(400, 100, "/RC (<p>Rich</p>)", "Stamp"),
            note(72, 698, "/T (Ann)", "Highlight"),
            note(72, 698, "/Contents (Too much!) /Parent 10 0 R", "Popup"),
            note(72, 698, "/Contents (an address)", "Link"),
        )
    )
    assert found == [
        "The rent is 900 euros. [Comment by Ann: Too much!]",
        "It is due monthly. [Comment by Ben: Both lines]",
        "The end. [Comment by Eve: In the margin]",
        "[Comment: Anywhere]",
        "[Comment: Rich]",
    ]


def test_words_typed_onto_a_page_are_part_of_its_line() -> None:
    typed = note(150, 722, "/IT /FreeTextTypeWriter /T (Ann) /Contents (Ann B.)", "FreeText", width=100)
    said = note(150, 692, "/T (Ben) /Contents (Why?)", "FreeText", width=100)
    found = lines(marked_pdf([(72, 730, "Name:"), (72, 700, "Reason:")], typed, said))
    assert found == ["Name: Ann B.", "Reason: [Comment by Ben: Why?]"]


def test_a_page_that_holds_but_fields_is_not_blank() -> None:
    found = read("a.pdf", marked_pdf([], widget(100, 100, "/FT /Tx /T (name) /V (Ann)")))
    assert (found.text, found.notes) == ("[a.pdf p.1]\nname: Ann\n", ())


def test_a_mark_that_is_damaged_is_noted_and_the_rest_read() -> None:
    found = read(
        "a.pdf",
        marked_pdf(
            [(72, 730, "Name:")],
            "<< /Subtype /Widget /FT /Tx /V (lost) >>",
            "(no annotation)",
            widget(110, 722, "/FT /Tx /V (Ann)"),
        ),
    )
    assert found.text == "[a.pdf p.1]\nName: Ann\n"
    assert found.notes == ("Fields and comments of a.pdf that are damaged, and left out: 2.",)


def test_fields_that_hold_each_other_end() -> None:
    circle = "<< /T (a) /Parent 10 0 R /Rect [0 0 0 0] /Subtype /None >>"
    assert lines(marked_pdf([(72, 730, "x")], circle, widget(100, 722, "/Parent 10 0 R /V (y)"))) == ["x y"]


def noted(data: bytes) -> tuple[str, ...]:
    found: Document = read("a.pdf", data)
    return found.notes


def test_what_is_not_read_of_a_pdf_is_noted() -> None:
    picture = stream(
        b"\0", "/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray"
    )
    content = stream(b"BT /F1 12 Tf 72 720 Td (Hello) Tj ET /Im1 Do")
    with_picture = raw_pdf([content, content], {90: picture}).replace(
        b"/Resources << ", b"/Resources << /XObject << /Im1 90 0 R >> "
    )
    assert noted(with_picture) == ("Pictures in a.pdf, which are not read: 1.",)
    attached = marked_pdf([(72, 730, "x")], note(72, 600, "/FS << /F (a.xls) >>", "FileAttachment"))
    assert noted(attached) == ("Files attached to a.pdf, which are not read: 1.",)
    xfa = marked_pdf([(72, 730, "Please wait...")], form="/XFA (x)")
    assert noted(xfa) == (
        "The form in a.pdf is an XFA form, which is not read: print it to a PDF, and share that.",
    )
