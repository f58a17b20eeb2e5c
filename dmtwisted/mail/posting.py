"""One e-mail made and handed to the mail server; loaded with the first one."""

from __future__ import annotations

from typing import Any

from dmtwisted.clock import ServiceClock
from dmtwisted.documents import documents
from dmtwisted.documents.paper import DocumentPaper
from dmtwisted.mail.message import receipt_mail, test_mail
from dmtwisted.outbox import Later, Never
from dmtwisted.printing import pdf, text
from dmtwisted.registers.customers import ForCustomer, mail_address
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.service_settings import Settings
from protocols.errors import WireError
from protocols.smtp import Declined, Line, Mail, MailServer, submit


class Posting:
    """A mail server as it is set now.

    :param line: makes the endpoint of the server; TCP by name when absent.
    """

    def __init__(
        self, settings: Settings, password: str, language: str, clock: ServiceClock, reactor: Any, line: Line | None
    ) -> None:
        self._settings, self._language = settings, language
        self._clock, self._reactor, self._line = clock, reactor, line
        self._server = MailServer(
            settings.smtp_host,
            settings.smtp_port,
            settings.smtp_security,
            settings.smtp_ca,
            settings.smtp_login,
            password,
        )

    async def receipt(self, told: ForCustomer, register: RegisterSettings) -> None:
        """Send a receipt.

        :param register: how its forms look.
        :raises Later: when it was not taken, or may not have been.
        :raises Never: when the server will not take it.
        """
        document = documents.decode(told.document)
        paper = DocumentPaper(document, told.fiscal_number, register.template)
        form = paper()
        written = text.render_text(form, register.pf_charcount)
        drawn = await self._clock.apart(pdf.draw, form, pdf.paper_of(register.pf_dots))
        await self._submit(
            told.to,
            receipt_mail(self._settings, self._language, told.to, document, told.fiscal_number, written, drawn.data),
        )

    async def test(self, to: str) -> None:
        """Send an e-mail that shows that e-mail works; raises as `receipt` does."""
        await self._submit(to, test_mail(self._settings, self._language, to, self._clock.now()))

    async def _submit(self, to: str, content: bytes) -> None:
        mail = Mail(mail_address(self._settings.mail_from), to, content)
        try:
            await submit(self._server, mail, self._reactor, self._line)
        except Declined as declined:
            raise (Never if declined.for_good else Later)(str(declined)) from None
        except WireError as error:
            raise Later(str(error)) from None
