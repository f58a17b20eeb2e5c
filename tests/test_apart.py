"""Work in a process of its own: done, broken, ended; and a key file that would take for ever."""

from __future__ import annotations

import os
import time
from unittest import skipUnless

import msgspec
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from dmtwisted.registers.key_opening import WORK, Opened, Upload, work
from dmtwisted.results import in_language
from dmtwisted.system.apart import apart
from tests.prro_shop import container, keys


def double(given: bytes) -> bytes:
    """Twice what was given."""
    return given * 2


def place(given: bytes) -> bytes:
    """Where this process stands among others, as text."""
    return b"%d" % os.nice(0)


def sleep(given: bytes) -> bytes:
    """Nothing, for a long time."""
    time.sleep(60)
    return given


def fail(given: bytes) -> bytes:
    """Break."""
    raise SystemExit(3)


HERE = "tests.test_apart"


class ApartTests(TestCase):
    """Processes."""

    timeout = 120

    def done(self, function: str, given: bytes = b"", patience: float = 90, nice: int = 0) -> Deferred[bytes | None]:
        """What comes of the work."""
        return Deferred.fromCoroutine(apart(reactor, f"{HERE}:{function}", given, patience, nice=nice))

    def test_done(self) -> Deferred[None]:
        """What is given comes back as the work made it, whatever bytes it has, also when it is much."""
        given = bytes(range(256)) * 4000
        return self.done("double", given).addCallback(lambda told: self.assertEqual(told, given * 2))

    @skipUnless(hasattr(os, "nice"), "this system has no such order")
    def test_stands_back(self) -> Deferred[None]:
        """Work that nobody waits for lets the service go first."""
        wanted = b"%d" % min(os.nice(0) + 3, 19)
        return self.done("place", nice=3).addCallback(self.assertEqual, wanted)

    def test_broken(self) -> Deferred[None]:
        """Work that breaks gives nothing."""
        return self.done("fail").addCallback(self.assertIsNone)

    def test_ended(self) -> Deferred[None]:
        """Work that does not end in time is ended."""
        begun = time.monotonic()

        def ended(told: bytes | None) -> None:
            self.assertIsNone(told)
            self.assertLess(time.monotonic() - begun, 30)

        return self.done("sleep", patience=0.5).addCallback(ended)


class KeyOpeningTests(SynchronousTestCase):
    """A key file opened apart."""

    def opened(self, password: str) -> Opened:
        """What comes out of a file."""
        upload = Upload(container(keys().cashier, "сезам"), password, [])
        return msgspec.json.decode(work(msgspec.json.encode(upload)), type=Opened)

    def test_opened(self) -> None:
        """The key and its certificate come out; a wrong password says so."""
        plain = self.opened("сезам").plain
        assert plain is not None
        self.assertEqual(plain.certificate, keys().cashier.certificate.raw)
        refused = self.opened("other")
        self.assertEqual((refused.plain, refused.broken), (None, False))
        self.assertIn("password", in_language(refused.why, "en"))

    def test_tests_do_it_at_once(self) -> None:
        """A reactor without processes does the work itself."""
        upload = msgspec.json.encode(Upload(b"no key", "", []))
        told = self.successResultOf(Deferred.fromCoroutine(apart(Clock(), WORK, upload, 1)))
        assert told is not None
        self.assertTrue(msgspec.json.decode(told, type=Opened).why)

    def test_no_secret_in_words(self) -> None:
        """What is uploaded, and what came out, do not get into words by accident."""
        self.assertNotIn("сезам", repr(Upload(b"x", "сезам", [])))
        self.assertEqual(repr(self.opened("сезам").plain), "PlainKey(…)")
