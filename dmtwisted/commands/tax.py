"""``dmtwisted tax``: whose signature counts on the tax service's answers (docs/reference/cryptography.md#trust).

``trust`` takes the list of authorities that the state publishes. ``certificates`` shows the list in the package or
those of a file. Or it fetches a registered receipt from the fiscal server, which signs it, and shows and saves the
certificate for the setting `trusted_certificates`.
"""

from __future__ import annotations

import base64
import hashlib
import textwrap
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from twisted.internet.defer import Deferred
from twisted.internet.task import react
from twisted.python import usage

from dmtwisted.commands.console import complain
from dmtwisted.commands.options import PLACE, CommandOptions, FileOptions, Group
from dmtwisted.commands.shared import configuration, expect_state, status_of
from dmtwisted.registers.prro.trust_list import MOST_BYTES, TAX_SERVICE, forget, keep, offered, trust_list
from dmtwisted.system.files import describe_error
from protocols.errors import NotReached, WireError
from protocols.fiscal import commands, verdicts
from protocols.fiscal.client import SERVER, Exchange
from protocols.fiscal.crypto.certificates import Certificate, read_certificates
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.verifying import verify
from protocols.fiscal.https import HttpsExchange, ServerEndpoints, roots_in
from protocols.fiscal.posts import command_post
from protocols.fiscal.signatures import Signed, WrongSignature
from protocols.fiscal.trusted import built_in, entries
from protocols.fiscal.verdicts import Answered, Nothing, Refused


class CertificatesOptions(CommandOptions):
    """``dmtwisted tax certificates``"""

    synopsis = "[--file FILE | --register N --receipt NUMBER [--save FILE]]"
    longdesc = (
        "Show the trusted certificates in the package. With --file: the certificates of a file. With --register and"
        " --receipt: the certificate with which the fiscal server signs that receipt."
    )
    optParameters: ClassVar[list[Any]] = [
        ["file", "f", None, "A file of certificates: DER, PEM or .p7b.", Path],
        ["register", "r", None, "Fiscal number of a register.", int],
        ["receipt", "n", None, "Fiscal number of one of its receipts, as printed."],
        ["server", None, SERVER, "The fiscal server."],
        ["server-ca", None, None, "A PEM file of roots to trust in TLS besides the machine's.", Path],
        ["save", "s", None, "Write the certificate to this file, for trusted_certificates.", Path],
    ]

    def postOptions(self) -> None:
        """Check that the options fit together."""
        if (self["register"] is None) != (self["receipt"] is None):
            raise usage.UsageError("--register and --receipt need each other")
        if self["save"] is not None and self["receipt"] is None:
            raise usage.UsageError("--save needs --receipt")


class TrustOptions(FileOptions):
    """``dmtwisted tax trust``"""

    synopsis = "FILE [options] | --remove"
    longdesc = (
        "Trust the authorities of FILE, the list that the state publishes (CACertificates.p7b), for all registers"
        " without certificates of their own. It shows what the file holds and asks before it trusts. A"
        " running service needs no restart."
    )
    optParameters: ClassVar[list[Any]] = [*PLACE]
    optFlags: ClassVar[list[Any]] = [
        ["yes", "y", "Do not ask."],
        ["remove", None, "Trust no list any more."],
    ]

    def __init__(self) -> None:
        super().__init__()
        self["file"], self["owners"] = None, []

    def opt_owner(self, number: str) -> None:
        """Whose certificates may sign answers, by EDRPOU; can be repeated. By default 43005393."""
        if not (number.isascii() and number.isdigit() and 8 <= len(number) <= 10):
            raise usage.UsageError("--owner: an EDRPOU of 8 digits is expected")
        self["owners"].append(number)

    def parseArgs(self, *files: str) -> None:
        """One file, unless the list is removed."""
        if files:
            super().parseArgs(*files)
            self["file"] = Path(files[0])

    def postOptions(self) -> None:
        """Check that there is one thing to do."""
        if (self["file"] is None) != bool(self["remove"]):
            raise usage.UsageError("FILE or --remove is expected")


class TaxOptions(Group):
    """``dmtwisted tax``"""

    subCommands: ClassVar[list[Any]] = [
        ["trust", None, TrustOptions, "Trust the state's list of certificates."],
        ["certificates", None, CertificatesOptions, "Show trusted certificates."],
    ]


class NotShown(Exception):
    """There is nothing to show; the text is one line."""


def shown(certificate: Certificate, now: datetime, source: str = "") -> str:
    """A certificate for people: owner, issuer, validity, and what identifies it."""
    lines = [
        certificate.subject.common or "(no name)",
        f"  issued by    {certificate.issuer.common}",
        f"  valid        {certificate.valid_from:%Y-%m-%d} to {certificate.valid_to:%Y-%m-%d},"
        f" {certificate.days_left(now)} days left",
        f"  serial       {certificate.serial:x}",
        f"  key          {certificate.key_id.hex()}",
        f"  SHA-256      {hashlib.sha256(certificate.raw).hexdigest()}",
        f"  kind         {'an authority' if certificate.is_authority else 'a single key'}",
    ]
    return "\n".join([*lines, *([f"  source       {source}"] if source else [])])


def pem_of(certificate: Certificate) -> str:
    """A certificate as PEM."""
    body = "\n".join(textwrap.wrap(base64.b64encode(certificate.raw).decode(), 64))
    return f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"


async def signer_of_receipt(exchange: Exchange, server: str, register: int, receipt: str) -> Certificate:
    """The certificate with which the fiscal server signs a registered receipt.

    :raises NotShown: when there is no such receipt, or the server does not answer.
    """
    command = commands.Check(uid=str(uuid.uuid4()).upper(), registrar_num_fiscal=register, num_fiscal=receipt)
    post = command_post(commands.encode(command), signed=False)
    try:
        reply = await exchange("POST", server.rstrip("/") + post.target, post.headers, post.body)
    except NotReached as error:
        raise NotShown(f"{server} cannot be reached: {error.reason}") from None
    except WireError as error:
        raise NotShown(f"{server}: {error}") from None
    found: list[Certificate] = []

    def opened(message: bytes) -> Signed:
        try:
            verdict = verify(message, datetime.now(UTC), None)
        except CryptoError as error:
            raise WrongSignature(str(error)) from None
        if not verdict.valid or verdict.signer is None:
            raise WrongSignature("; ".join(map(str, verdict.faults)))
        found.append(verdict.signer)
        return Signed(verdict.content)

    answer = verdicts.of_fetch(reply, opened)
    if isinstance(answer, Answered):
        return found[0]
    if isinstance(answer, Nothing):
        raise NotShown(f"the register {register} has no receipt {receipt}")
    raise NotShown(answer.text if isinstance(answer, Refused) else answer.why)


def trust(options: usage.Options, now: datetime) -> int:
    """Show the authorities of a file and trust them, or trust none any more; 1 when the person says no."""
    state = expect_state(configuration(options), to_make=not options["remove"]).state
    if options["remove"]:
        print("removed" if forget(state) else "no list was trusted")
        return 0
    file: Path = options["file"]
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{file}: more than {MOST_BYTES >> 20} MB, this is no list of certificates")
    data = file.read_bytes()
    try:
        found = offered(data, now)
        kept = trust_list(file, data, found, options["owners"] or [TAX_SERVICE])
    except CryptoError as error:
        raise ValueError(f"{file}: {error}") from None
    for one in found:
        if one.certificate is not None:
            print(shown(one.certificate, now))
        print(f"  not taken    {one.why}\n" if one.why else "  trusted\n")
    print(f"{file}: SHA-256 {kept.sha256}")
    print(
        f"{len(kept.certificates)} authorities of {len(found)} certificates; answers count when they are signed with"
    )
    print(f"a certificate of theirs that belongs to {', '.join(kept.owners)}")
    if not options["yes"] and not _agreed():
        print("nothing was trusted")
        return 1
    print("trusted" if keep(state, kept) else "trusted already, nothing to do")
    return 0


def _agreed() -> bool:
    try:
        return input("Trust these authorities? yes/no: ").strip().lower() in ("yes", "y", "так")
    except EOFError:
        return False


def listed(now: datetime) -> str:
    """The list in the package."""
    if not entries():
        return (
            "The list in the package is empty: no certificate of the tax service could be verified.\n"
            "Fetch the one that signs your own receipts: --register N --receipt NUMBER --save FILE."
        )
    return "\n".join(
        shown(certificate, now, entry.source) for entry, certificate in zip(entries(), built_in(), strict=True)
    )


def run(options: TaxOptions, fetch: Callable[[CertificatesOptions], Certificate] | None = None) -> int:
    """Show or trust certificates; 1 after one line when that fails."""
    chosen: Any = options.subOptions
    now = datetime.now(UTC)
    if options.subCommand == "trust":
        return status_of(lambda: trust(chosen, now), ValueError)
    try:
        if chosen["file"] is not None:
            try:
                found = read_certificates(chosen["file"].read_bytes())
            except CryptoError as error:
                raise NotShown(f"{chosen['file']}: no file of certificates ({error})") from None
            print("\n".join(shown(certificate, now) for certificate in found))
        elif chosen["receipt"] is not None:
            certificate = (fetch or _fetch)(chosen)
            print(shown(certificate, now))
            if chosen["save"] is not None:
                chosen["save"].write_text(pem_of(certificate), "ascii")
        else:
            print(listed(now))
    except (NotShown, OSError, CryptoError, ValueError) as error:
        complain(describe_error(error) if isinstance(error, OSError) else str(error))
        return 1
    return 0


def _fetch(options: CertificatesOptions) -> Certificate:
    """Ask the server over the network; it runs the reactor, so only once in a process."""
    roots = roots_in(options["server-ca"].read_bytes()) if options["server-ca"] is not None else None
    found: list[Certificate] = []
    complaints: list[str] = []

    async def ask(reactor: Any) -> None:
        exchange = HttpsExchange(reactor, ServerEndpoints(reactor, roots))
        try:
            found.append(
                await signer_of_receipt(exchange, options["server"], options["register"], options["receipt"])
            )
        except NotShown as error:
            complaints.append(str(error))

    try:
        react(lambda reactor: Deferred.fromCoroutine(ask(reactor)))
    except SystemExit as end:
        if end.code:
            raise NotShown("the request failed") from end
    if not found:
        raise NotShown(complaints[0] if complaints else "no answer")
    return found[0]
