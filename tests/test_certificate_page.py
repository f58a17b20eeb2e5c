"""The certificate by the management interface: installed, made, taken up, taken away; and files that are bombs."""

from __future__ import annotations

import base64
import os
import time
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from asn1crypto.keys import EncryptedPrivateKeyInfo  # type: ignore[import-untyped]
from asn1crypto.pem import armor  # type: ignore[import-untyped]
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509 import load_pem_x509_certificate
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import TestCase

from dmtwisted.access.certificates import read_pem
from dmtwisted.access.tls_orders import Order, Result, ordered
from dmtwisted.commands.main import main
from dmtwisted.config import INSTALLED, TLS_FOLDER, Overrides, TlsConfig, load
from tests.certificates import key_pem, make_certificate, make_key, pem, write_pair
from tests.rights import OWNER_ONLY
from tests.shop import MORNING
from tests.specification import promises
from tests.test_sessions import AccessCase
from tests.web_case import HttpAnswer, multipart
from web.site import Door

TLS = "/dm/api/v3/tls"
EN = ("Accept-Language", "en")


class InstallTests(AccessCase):
    """``POST /dm/api/v3/tls`` of a service that speaks HTTP."""

    @property
    def installed(self) -> Path:
        """Where a certificate is installed."""
        return self.shop.state / TLS_FOLDER / INSTALLED

    def upload(self, **parts: bytes) -> HttpAnswer:
        """The answer to a page's form."""
        body, kind = multipart(**parts)
        connection = self.connect()
        connection.ask("POST", TLS, body, [("Content-Type", kind), EN])
        (answer,) = connection.answers()
        return answer

    def pair(self, **more: Any) -> tuple[bytes, bytes]:
        """A certificate and its key, valid at the shop's time by default."""
        key = make_key()
        return pem(make_certificate(MORNING, key, **more)), key_pem(key)

    def test_pem(self) -> None:
        """PEM in two files or in one: installed, private, and listed with the days left."""
        certificate, key = self.pair(ends=30)
        for parts in ({"file": certificate, "key": key}, {"file": key + certificate}):
            answer = self.upload(**parts)
            self.assertEqual(answer.status, 200, answer.body)
            told = answer.json
            self.assertEqual((told["subject"], told["days_left"], told["restart"]), ("desk", 30, True))
            self.assertEqual((told["https"], told["names"]), (False, ["localhost"]))
            if os.name == "posix":
                self.assertEqual(self.installed.stat().st_mode & 0o777, OWNER_ONLY)
            self.assertEqual(read_pem(self.installed, self.installed).subject, "desk")
            self.assertEqual(self.request("GET", TLS).json, {k: v for k, v in told.items() if k not in _OUTCOME})
            self.assertNotIn(b"PRIVATE", answer.body)

    def test_pkcs12(self) -> None:
        """PKCS#12 with its password, also as JSON with base64; with another one it is refused in words."""
        key = make_key()
        content = serialize_key_and_certificates(
            b"x", key, make_certificate(MORNING, key, "desk 12"), None, BestAvailableEncryption("сезам".encode())
        )
        refused = self.upload(file=content, password=b"other")
        self.assertEqual(refused.status, 422)
        self.assertIn("password is wrong", refused.json["errortxt"])
        self.assertFalse(self.installed.exists())
        self.assertEqual(self.upload(file=content, password="сезам".encode()).json["subject"], "desk 12")
        told = self.request("POST", TLS, {"file": base64.b64encode(content).decode(), "password": "сезам"})
        self.assertEqual((told.status, told.json["subject"]), (200, "desk 12"))

    def test_refused(self) -> None:
        """An unusable certificate is not installed: expired, with another key, not a certificate, empty."""
        certificate, _ = self.pair()
        expired = self.pair(begins=-9, ends=-1)
        for parts, word in (
            ({"file": expired[0], "key": expired[1]}, "expired"),
            ({"file": certificate, "key": self.pair()[1]}, "does not belong"),
            ({"file": certificate}, "no private key"),
            ({"file": b"\x30\x82 no certificate"}, "neither PEM nor PKCS#12"),
            ({"file": b""}, "expected"),
            ({"password": b"x"}, "expected"),
        ):
            answer = self.upload(**parts)
            self.assertEqual((answer.status, word in answer.json["errortxt"]), (422, True), answer.body)
        for body in ({}, {"file": 5}, {"file": "%%%"}, {"file": "", "colour": "red"}):
            self.assertEqual(self.request("POST", TLS, body).status, 422)
        self.assertEqual(self.request("POST", TLS, b"{").status, 400)
        self.assertFalse(self.installed.exists())

    def test_form_of_many_parts(self) -> None:
        """A form of countless parts is refused before it costs anything."""
        body = b"".join(b'--b\r\nContent-Disposition: form-data; name="f%d"\r\n\r\nx\r\n' % n for n in range(1000))
        connection = self.connect()
        connection.ask("POST", TLS, body + b"--b--\r\n", [("Content-Type", "multipart/form-data; boundary=b")])
        (answer,) = connection.answers()
        self.assertEqual((answer.status, answer.json["res"]), (400, 2000))

    @promises("1.4.2")
    def test_next_start(self) -> None:
        """What is installed is served from the next start on, though the configuration names none."""
        state = Overrides(state=self.shop.state)
        self.assertFalse(load(None, state).tls.given)
        certificate, key = self.pair()
        self.upload(file=certificate, key=key)
        config = load(None, state)
        self.assertEqual((config.tls.certificate, config.tls.key), (str(self.installed), str(self.installed)))
        self.assertTrue(config.tls_is_installed)
        file = self.shop.state / "config.toml"
        file.write_text("[tls]\ncertificate = 'a.pem'\nkey = 'a.key'\n", "utf-8")
        named = load(file, state)
        self.assertEqual((named.tls.certificate, named.tls_is_installed), (str(self.shop.state / "a.pem"), False))

    def test_removed(self) -> None:
        """What was installed is taken away again; a second time there is nothing to do."""
        certificate, key = self.pair()
        self.upload(file=certificate, key=key)
        for _ in range(2):
            self.assertEqual(self.request("DELETE", TLS).status, 204)
            self.assertEqual(self.request("GET", TLS).json, {"https": False, "restart": False, "authority": False})
        self.assertFalse(load(None, Overrides(state=self.shop.state)).tls.given)

    def test_named(self) -> None:
        """A certificate that the configuration names is written in its places, and is not taken away here."""
        places = TlsConfig(str(self.shop.state / "a.pem"), str(self.shop.state / "b.pem"), "correct horse")
        self.shop.core.config = replace(self.shop.core.config, tls=places)
        certificate, key = self.pair()
        self.assertEqual(self.upload(file=certificate, key=key).status, 200)
        self.assertIn(b"ENCRYPTED", (self.shop.state / "b.pem").read_bytes())
        self.assertFalse(self.installed.exists())
        answer = self.request("DELETE", TLS, headers=[EN])
        self.assertEqual((answer.status, "configuration" in answer.json["errortxt"]), (409, True))
        self.assertTrue((self.shop.state / "a.pem").exists())

    def test_authority(self) -> None:
        """A local authority is created once; its certificate can be downloaded, its key cannot."""
        self.assertEqual(self.request("GET", f"{TLS}/authority.pem").status, 404)
        told = self.request("POST", f"{TLS}/authority", {"names": ["desk.shop.local", "192.0.2.7"]}).json
        self.assertLessEqual({"localhost", "desk.shop.local", "192.0.2.7"}, set(told["names"]))
        self.assertTrue(told["authority"])
        answer = self.request("GET", f"{TLS}/authority.pem")
        self.assertEqual(answer.header("content-disposition"), 'attachment; filename="authority.pem"')
        self.assertNotIn(b"PRIVATE", answer.body)
        read_pem(self.installed, self.installed).leaf.verify_directly_issued_by(
            load_pem_x509_certificate(answer.body)
        )
        self.assertEqual(self.request("POST", f"{TLS}/authority", {}).status, 200)
        self.assertEqual(self.request("GET", f"{TLS}/authority.pem").body, answer.body)
        self.assertEqual(self.request("GET", f"{TLS}/authority.key").status, 404)
        refused = self.request("POST", f"{TLS}/authority", {"names": ["till.example"]})
        self.assertEqual(refused.status, 422)
        self.assertIn("dmtwisted tls authority --new", refused.json["errortxt"])
        asked = {"names": ["till.example"], "new": True}
        self.assertIn("till.example", self.request("POST", f"{TLS}/authority", asked).json["names"])
        self.assertNotEqual(self.request("GET", f"{TLS}/authority.pem").body, answer.body)
        for names in (["a b"], ["x"] * 51, "desk"):
            self.assertEqual(self.request("POST", f"{TLS}/authority", {"names": names}).status, 422, names)

    def test_blocked(self) -> None:
        """All of it needs the login."""
        self.switch_on()
        for method, path in (
            *(("GET", TLS), ("POST", TLS), ("DELETE", TLS)),
            *(("POST", f"{TLS}/authority"), ("GET", f"{TLS}/authority.pem"), ("POST", f"{TLS}/reload")),
        ):
            self.assertTrue(self.is_blocked(self.request(method, path, {} if method == "POST" else None)), path)

    def test_log(self) -> None:
        """Neither the key nor its password comes into the log."""
        log = self.logged()
        certificate, key = self.pair()
        self.upload(file=certificate, key=key, password=b"canary-password")
        self.upload(file=b"nothing", password=b"canary-password")
        self.assertNotIn("canary", log.getvalue())
        self.assertNotIn("PRIVATE", log.getvalue())
        self.assertNotIn("canary", repr(Order("install", "", 0, password="canary", passphrase="canary")))

    def test_no_folder(self) -> None:
        """A service that keeps no files takes no certificate."""
        self.shop.core.state = None
        self.door = Door(self.shop.core)
        certificate, key = self.pair()
        self.assertEqual(self.upload(file=certificate, key=key).status, 409)
        self.assertEqual(self.request("GET", TLS).status, 200)


_OUTCOME = ("res", "errortxt")


class RemoveCommandTests(TestCase):
    """``dmtwisted tls remove``"""

    def test_remove(self) -> None:
        """It takes away what was installed, and says so when there is nothing."""
        folder = Path(self.mktemp())
        folder.mkdir()
        key = make_key()
        file, key_file = write_pair(folder, make_certificate(time.time(), key), key)
        place = ["--state", str(folder)]
        out = StringIO()
        for command in (["install", str(file), "--key", str(key_file)], ["status"], ["remove"], ["remove"]):
            with redirect_stdout(out):
                error = self.assertRaises(SystemExit, main, ["tls", *command, *place])
            self.assertEqual(int(error.code or 0), 0, command)
        self.assertFalse((folder / TLS_FOLDER / INSTALLED).exists())
        self.assertIn("no certificate is installed", out.getvalue())


class ProcessTests(TestCase):
    """The process in which an uploaded file is opened."""

    timeout = 60

    def setUp(self) -> None:
        """A state folder."""
        self.state = Path(self.mktemp())
        self.state.mkdir()

    def asked(self, patience: float = 30, **what: Any) -> Deferred[Result]:
        """What comes of an order."""
        order = Order("install", str(self.state.absolute()), time.time(), **what)
        return Deferred.fromCoroutine(ordered(order, reactor, patience))

    def test_installed(self) -> None:
        """It opens the file and installs it."""
        key = make_key()
        asked = self.asked(file=pem(make_certificate(time.time(), key)), key_file=key_pem(key))

        def done(told: Result) -> None:
            self.assertEqual((told.error, told.facts["subject"]), ("", "desk"))
            self.assertTrue((self.state / TLS_FOLDER / INSTALLED).exists())

        return asked.addCallback(done)  # type: ignore[return-value]

    def test_bomb(self) -> None:
        """A file that names millions of rounds for its password is given up on, and the service never notices."""
        key = make_key()
        locked = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, BestAvailableEncryption(b"sesame"))
        bomb = EncryptedPrivateKeyInfo.load(locked)
        bomb["encryption_algorithm"]["parameters"]["key_derivation_func"]["parameters"]["iteration_count"] = 2**31 - 1
        text = armor("ENCRYPTED PRIVATE KEY", bomb.dump(force=True))
        asked = self.asked(1.5, file=pem(make_certificate(time.time(), key)), key_file=text, password="sesame")

        def done(told: Result) -> None:
            self.assertIn("too long", told.error)
            self.assertFalse((self.state / TLS_FOLDER / INSTALLED).exists())

        return asked.addCallback(done)  # type: ignore[return-value]
