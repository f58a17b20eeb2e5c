"""A printer is whole: everything that receipts need comes out right."""

from __future__ import annotations

from dmtwisted.conformance.desk import expect, same
from dmtwisted.conformance.desks import PrinterDesk
from dmtwisted.conformance.levels import WHOLE
from dmtwisted.conformance.suite import check
from dmtwisted.devices.driver import PRINTER
from protocols.simulators.paper import Cut, PrintedBarcode, PrintedImage, PrintedQr

PAGE = "docs/reference/printers.md#document-language"
LETTERS = "АБВГҐДЕЄЖЗИІЇЙКЛМНОП РСТУФХЦЧШЩЬЮЯ абвгґдеєжзиіїйклмнопрстуфхцчшщьюя"
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAACAQAAAABN76BAAAAACXBIWXMAAB9AAAAfQAGTqFunAAAADElEQVR4nGNoZDgMAAJKAUUW2i+VAAAA"
    "AElFTkSuQmCC"
)
"""Eight by two dots, as PNG."""


@check(PRINTER, level=WHOLE, source="docs/reference/http-interface.md#printers")
def a_shop_can_work_with_it(desk: PrinterDesk) -> None:
    """Printing, the drawer and a test page are there."""
    same(sorted({"print", "drawer", "test"} - desk.stand.has), [], "what is missing")


@check(PRINTER, level=WHOLE, source="docs/reference/printers.md#code-pages")
def ukrainian_letters_come_out(desk: PrinterDesk) -> None:
    """Every letter of the Ukrainian alphabet comes out correctly."""
    answer = desk.lines(*LETTERS.split())
    desk.run(20)
    same((answer["res"], answer["warnings"]), (0, []), "a job in Ukrainian")
    paper = "".join(desk.paper.split())
    for letter in LETTERS.replace(" ", ""):
        expect(letter in paper, f"the letter {letter} is not on the paper")


@check(PRINTER, level=WHOLE, source="docs/reference/printers.md#code-pages")
def strange_letters_are_warned_of(desk: PrinterDesk) -> None:
    """Characters that the printer does not have are replaced, and the caller gets a warning."""
    answer = desk.lines("чай 茶 tea")
    desk.run(20)
    same(answer["res"], 0, "a job with a character that the printer lacks")
    expect(answer["warnings"], "there is no warning")
    expect("tea" in desk.paper, "the rest of the line is missing")


@check(PRINTER, level=WHOLE, source=PAGE, needs=("drawer",))
def the_drawer_opens(desk: PrinterDesk) -> None:
    """The drawer opens by a task of its own, without a line of paper, also when the paper is out."""
    before = desk.paper
    same(desk.print({"opendrawer": 1})["res"], 0, "the drawer")
    desk.device.take_paper_out()
    same(desk.print({"opendrawer": 1})["res"], 0, "the drawer without paper")
    same((desk.device.mechanism.pulses, desk.paper), (2, before), "pulses and paper")


@check(PRINTER, level=WHOLE, source=PAGE, needs=("test",))
def the_test_page_comes_out(desk: PrinterDesk) -> None:
    """The test page comes out and is cut."""
    answer = desk.print({"test": 1})
    desk.run(20)
    same(answer["res"], 0, f"the test page ({answer['errortxt']})")
    expect(desk.paper.strip(), "the test page is empty")


@check(PRINTER, level=WHOLE, source=PAGE)
def lines_end_with_a_cut(desk: PrinterDesk) -> None:
    """After lines the paper is cut, once; a document is cut where it says so."""
    desk.printed("cut")
    same(_count(desk, Cut), 1, "cuts after lines")
    desk.print({"doccmd": [{"cmd": "text", "text": "not yet"}]})
    desk.run(20)
    same(_count(desk, Cut), 1, "cuts after a document without one")
    desk.print({"doccmd": [{"cmd": "cut"}]})
    desk.run(20)
    same(_count(desk, Cut), 2, "cuts after a document with one")


@check(PRINTER, level=WHOLE, source=PAGE)
def qr_codes_come_out(desk: PrinterDesk) -> None:
    """A QR code comes out as a code or as its picture, and a link of the tax service fits."""
    data = "https://cabinet.tax.gov.ua/cashregs/check?id=23649865&fn=4000438533&date=20260921&time=1526&sm=950.04"
    answer = desk.print({"doccmd": [{"cmd": "qr", "data": data}]})
    desk.run(20)
    same((answer["res"], answer["warnings"]), (0, []), "a QR code")
    codes = [piece for piece in desk.device.mechanism.paper.pieces if isinstance(piece, PrintedQr)]
    expect(codes or _count(desk, PrintedImage), "no code came out")
    if codes:
        expect(data in str(codes[0]), "the code holds something else")


@check(PRINTER, level=WHOLE, source=PAGE)
def bar_codes_and_pictures_come_out(desk: PrinterDesk) -> None:
    """A bar code and a picture come out; a picture that is wider than the paper is made to fit."""
    desk.print({"doccmd": [{"cmd": "barcode", "kind": "ean13", "data": "4820000000017"}]})
    desk.run(20)
    expect(_count(desk, PrintedBarcode) + _count(desk, PrintedImage) >= 1, "no bar code came out")
    before = _count(desk, PrintedImage)
    answer = desk.print({"doccmd": [{"cmd": "image", "data": PICTURE}]})
    desk.run(20)
    same((answer["res"], _count(desk, PrintedImage) - before >= 1), (0, True), "a picture")


@check(PRINTER, level=WHOLE, source="docs/reference/printers.md#delivery")
def long_papers_come_out_whole(desk: PrinterDesk) -> None:
    """A job of hundreds of lines comes out whole and in its order, whatever the printer's buffer holds."""
    texts = [f"рядок {n:03d}" for n in range(300)]
    answer = desk.lines(*texts)
    desk.run(120)
    same(answer["res"], 0, f"a long job ({answer['errortxt']})")
    found = [line.strip() for line in desk.paper.splitlines() if line.strip().startswith("рядок")]
    same(found, texts, "its lines")


@check(PRINTER, level=WHOLE, source=PAGE)
def pairs_keep_their_edges(desk: PrinterDesk) -> None:
    """The right part of a pair is at the right edge, and a long name is wrapped, never cut."""
    name = "Кава зернова смажена середня, 1000 г, у пакеті з клапаном, ваговий товар"
    desk.print({"doccmd": [{"cmd": "pair", "left": name, "right": "1051.00"}]})
    desk.run(20)
    lines = [line for line in desk.paper.splitlines() if line.strip()]
    expect(lines[-1].rstrip().endswith("1051.00"), "the sum is not at the end of its line")
    same(" ".join(" ".join(lines).replace("1051.00", "").split()), name, "the name")


@check(PRINTER, level=WHOLE, source="docs/printing.md")
def a_person_may_ask_for_a_reprint(desk: PrinterDesk) -> None:
    """A reprint that a person asks for comes out as a new job with its own number."""
    desk.printed("again")
    first = desk.rows()[-1].n
    printed = desk.now(desk.built.reprint(first))
    desk.run(20)
    same((printed.on_paper, desk.times("again"), printed.n != first), (True, 2, True), "a reprint")


def _count(desk: PrinterDesk, kind: type) -> int:
    return sum(isinstance(piece, kind) for piece in desk.device.mechanism.paper.pieces)
