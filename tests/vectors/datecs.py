"""Frames of Datecs registers with their meaning (docs/reference/registers.md#datecs).

The answers of the Ukrainian dialect come from the log of an FP-101 Smart of 2021 (vt051056/POS_TP_Cient_Server); its
commands and those of the classic dialect were calculated by hand from the rule of the frame. The frames of ``PEER``
were sent by the client of rosenvladimirov/Odoo.ErpNet.FP, the data of ``CLASSIC_DATA`` come from a log of a KBM
FP-2200CRX of 2017 (SimeonBalabanov/DatecsEcr).
"""

from __future__ import annotations

from typing import NamedTuple

from protocols.registers.datecs import classic
from protocols.registers.datecs import ukrainian as ua
from protocols.registers.datecs.classic import ClassicAnswer, ClassicCommand
from protocols.registers.datecs.ukrainian import Document, UkrainianAnswer, UkrainianCommand


class Answered(NamedTuple):
    """An answer of the Ukrainian dialect: its frame, the command's code, and the answer or the error."""

    hex: str
    code: int
    answer: UkrainianAnswer | int
    document: Document


def _u(hex_: str, code: int, answer: UkrainianAnswer | int, document: Document = Document.NONE) -> Answered:
    return Answered(hex_, code, answer, document)


_OK = ua.Nothing()
_TEXT = Document.TEXT

UKRAINIAN_ANSWERS = (
    _u(
        "01482228303030303b393630303b303b303031303b32303b30413b46463b32383b04808090a091d005303a343d03",
        0x28,
        ua.LineSettings(9600, "0", "0010", "20", "0A", "FF", "28"),
    ),
    _u("0135286d303030303b302e30303b04808083e091d0053036383b03", 0x6D, ua.Sum(0), Document.TOTALLED),
    _u("01352967303030303b302e30303b04808084e091d0053036383703", 0x67, ua.Sum(0), Document.PAID),
    _u("01332a65303030303b34373b04808080e091d0053036323d03", 0x65, ua.Closed(47)),
    _u("01302b81303030303b04808080e091d00530353a3103", 0x81, _OK),
    _u("01302471303030303b04808080e09190053035343a03", 0x71, _OK),
    _u("01302571303530343b04808080e09190053035353403", 0x71, 0x0504),
    _u("01302ae4303230333b04808080e091900530353c3803", 0xE4, 0x0203),
    _u("01302b68303030423b04808080e09190053035353a03", 0x68, 0x000B),
    _u("01302c73303030423b04808080e09190053035363603", 0x73, 0x000B),
    _u("01302667303030423b048080808091880530343e3c03", 0x67, 0x000B),
    _u("0130276b303030423b048080808091880530343f3103", 0x6B, 0x000B),
    _u("01302860303030303b048080858091880530343d3a03", 0x60, _OK, _TEXT),
    _u("01302b77303830423b04808080809188053035303903", 0x77, 0x080B),
    _u("01302c65303030423b048080808091880530343f3003", 0x65, 0x000B),
    _u("01302e77303030423b04808080809188053035303403", 0x77, 0x000B),
    _u("01373224303030303b3741303030303b04808080809188053036313d03", 0x24, ua.Written("7A0000")),
    _u("013037a1303030303b04808080809188053035323503", 0xA1, _OK),
    _u("01303969303030423b04808080809188053035303103", 0x69, 0x000B),
    _u("01302630303230413b048080808091880530343b3603", 0x30, 0x020A),
    _u("01302463303030423b048080838091880530343e3903", 0x63, 0x000B, Document.TOTALLED),
    _u("013026a1303030423b04808083809188053035323903", 0xA1, 0x000B, Document.TOTALLED),
    _u("01372d6b303030303b3137352e30303b04808080809188053036353203", 0x6B, ua.Sum(17500)),
    _u(
        "013b252e303030303b45333bc3eef2b3e2eae03b0480808380919805303b3a3e03",
        0x2E,
        ua.FormName("E3", "Готівка"),
        Document.TOTALLED,
    ),
    _u("01303ea6303730313b0480c085809198053035383e03", 0xA6, 0x0701, _TEXT),
    _u(
        "015b29a0303030303b303b303b303b303b303b303b303b333431333b3032303732313b313930363b32383931313b31303434353b"
        "0480808580919805303e333403",
        0xA0,
        ua.State(z=3413, date="020721", time="1906", articles_left="28911", lines_left="10445"),
        _TEXT,
    ),
    _u("0130472d303030303b048080808091880530343c3103", 0x2D, _OK),
    _u(
        "013c3236303030303b3134303632313b303b30343b048080858091d8053037383903",
        0x36,
        ua.LastZ("140621", "0", "04"),
        _TEXT,
    ),
    _u("01303484303030303b048080858091d8053035353a03", 0x84, _OK, _TEXT),
)

UKRAINIAN_COMMANDS: tuple[tuple[str, UkrainianCommand[UkrainianAnswer]], ...] = (
    ("013121633030303030303b313b313b303b053033353803", ua.Open(1, 1, 0)),
    ("013b21243030303030303b32303bc2eee4e03b303b373b30303b3b0530373d3f03", ua.WriteArticle(20, "Вода", 0, 7)),
    ("013921643030303030303b32303b312e3030303b312e30303b0530343d3f03", ua.Sell(20, 1000, 100)),
    ("013221673030303030303b303b312e30303b053033373f03", ua.Pay(0, 100)),
    ("012d21653030303030303b313b053032373f03", ua.Close(1)),
    ("012d21a13030303030303b313b0530323b3b03", ua.Report(1)),
    ("012d21a13030303030303b303b0530323b3a03", ua.Report(0)),
    ("013121633030303030303b313b303b323b053033353903", ua.Open(1, 0, 2)),
    ("013221773030303030303b303b312e30303b053033383f03", ua.MoveCash(0, 100)),
)

BUSY = bytes.fromhex("161616")
NAK = bytes.fromhex("15")

CLASSIC_COMMANDS: tuple[tuple[str, ClassicCommand[ClassicAnswer]], ...] = (
    ("0125214a570530303e3c03", classic.ReadStatus("W")),
    ("012e2130312c303030302c312c49053032373303", classic.Open(1, "0000", 1, "I")),
    (
        "0139216b50c0312c312c32352e35302c303030302cd5ebb3e10530373f3a03",
        classic.WriteArticle("P", "А", 1, 1, 2550, "0000", "Хліб"),
    ),
    ("012c213a2b312a322e303030053032303203", classic.Sell(1, 2000)),
    ("0126213331310530303e3103", classic.Subtotal("1", "1")),
    ("012b2135095036302e30300530313d3303", classic.Pay("P", 6000)),
    ("012a2145303030302c300530313b3103", classic.PrintReport("0000", 0)),
    ("0125216d310530303e3903", classic.Copy(1)),
    ("0124213e053030383803", classic.ReadClock()),
)

PEER: tuple[tuple[str, ClassicCommand[ClassicAnswer]], ...] = (
    ("01302431d5ebffe109c1312e35302a32053036313403", classic.SellFree("Хляб", "Б", 150, 2000)),
    ("0125253509053030383d03", classic.Pay()),
    ("01242638053030383703", classic.Close()),
    ("0129284631302e3030053031383b03", classic.MoveCash(1000)),
    ("0125215a310530303d3603", classic.ReadVersion("1")),
)

STATUS_WITHOUT_DATA = "0124204a053030393303"

CLASSIC_DATA: tuple[tuple[str, ClassicAnswer], ...] = (
    ("20.00,15.00,10.00,05.00,05.00,00.00", classic.Rates(2000, 1500, 1000, 500, 500, 0)),
    ("3778,3778", classic.FreeRecords(3778, 3778)),
    ("0000EA818527,0", classic.TaxNumber("0000EA818527", "0")),
    ("36,13000,00008", classic.Result("36,13000,00008")),
)

BAD_SUM = "0125214a570530303e3d03"
BAD_LENGTH = "0126214a570530303e3c03"
