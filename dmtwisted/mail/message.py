"""A receipt as an e-mail: what it says, the link, the text of the paper, the PDF; only text in, bytes out."""

from __future__ import annotations

import hashlib
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from dmtwisted.clock import kyiv
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document
from dmtwisted.documents.qr import receipt_qr
from dmtwisted.money import hryvnias
from dmtwisted.registers.customers import mail_address
from dmtwisted.results import Text
from dmtwisted.service_settings import Settings

_POLICY = SMTP.clone(cte_type="7bit", max_line_length=76)

_TITLES = {
    documents.SALE: Text("Чек", "Receipt"),
    documents.RETURN: Text("Чек повернення", "Return receipt"),
    documents.WITHDRAWAL: Text("Чек видачі готівки", "Cash withdrawal receipt"),
    documents.INCOME: Text("Надходження коштів", "Receipt for money taken in"),
    documents.EXPENSE: Text("Видаток коштів", "Receipt for money paid out"),
    documents.STORNO: Text("Сторно чека", "Reversal of a receipt"),
}
_LINK = Text("Перевірити чек", "Look the receipt up")
_TEST = Text("Пробний лист", "Test mail")
_TEST_TEXT = Text(
    "Пошту налаштовано: чеки надходитимуть покупцям із цієї адреси.",
    "E-mail is set up: customers get their receipts from this address.",
)


def receipt_mail(
    settings: Settings, language: str, to: str, document: Document, number: str, text: str, pdf: bytes
) -> bytes:
    """The e-mail with ``document``, accepted as ``number``; the same each time but for its settings.

    :param text: the receipt as text. :param pdf: the receipt as a file.
    """
    header = document.header
    title = f"{_TITLES[document.kind].for_language(language)} № {number}"
    shop, link = header.shopname or header.name, receipt_qr(document, number)
    facts = f"{title}, {kyiv(document.at):%d.%m.%Y %H:%M}, {hryvnias(document.sum)} грн"
    body = f"{shop}\n{facts}\n{_LINK.for_language(language)}: {link}\n\n{text}"
    of = f"{header.fisid} {document.number} {number} {document.at}"
    mail = _mail(settings, to, f"{title}, {shop}", body, kyiv(document.at), of, shop)
    name = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in number)
    mail.add_attachment(pdf, "application", "pdf", filename=f"{name}.pdf")
    mail.set_boundary(mail["Message-ID"].strip("<>").partition("@")[0])
    return mail.as_bytes(policy=_POLICY)


def test_mail(settings: Settings, language: str, to: str, now: int) -> bytes:
    """An e-mail that shows that e-mail works."""
    body = _TEST_TEXT.for_language(language) + "\n"
    return _mail(settings, to, _TEST.for_language(language), body, kyiv(now), f"test {now}", "dmtwisted").as_bytes(
        policy=_POLICY
    )


def _mail(settings: Settings, to: str, subject: str, body: str, at: datetime, of: str, shop: str) -> EmailMessage:
    """A message with its headers; ``of`` names its matter, for a repeat that has to be recognised."""
    mail, sender = EmailMessage(_POLICY), mail_address(settings.mail_from)
    mail["From"] = Address(_one_line(settings.mail_name or shop), addr_spec=sender)
    mail["To"] = Address(addr_spec=to)
    if settings.mail_reply_to:
        mail["Reply-To"] = Address(addr_spec=mail_address(settings.mail_reply_to))
    mail["Subject"] = _one_line(subject)
    mail["Date"] = format_datetime(at)
    name = hashlib.blake2b(of.encode(), digest_size=12).hexdigest()
    mail["Message-ID"] = f"<receipt.{name}@{sender.rpartition('@')[2]}>"
    # Nobody's holiday answer is wanted (RFC 3834, 5).
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(body, cte="base64")
    return mail


def _one_line(text: str) -> str:
    """``text`` for a header: names of shops may have line breaks for the paper."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
