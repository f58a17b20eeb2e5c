"""Who gets in, without HTTP: passwords, the throttle, sessions, API keys, the login, the hardened circle."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.access import login_sessions
from dmtwisted.access.api_keys import MOST_KEYS, ApiKeys
from dmtwisted.access.login import Access, Login, LoginChange, TryLater, WrongLogin
from dmtwisted.access.login_sessions import Sessions
from dmtwisted.access.passwords import LONGEST, Passwords, unfit
from dmtwisted.access.throttle import ALL, EACH, Throttle
from dmtwisted.clock import ServiceClock
from dmtwisted.config import ConfigError, ServerConfig, load
from dmtwisted.devices.driver import BadSettings
from dmtwisted.hardened import BadList, Circle
from dmtwisted.host_names import read_hosts
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import StoreFailed
from dmtwisted.wording import wording
from tests.language_check import foreign
from tests.specification import promises

T = TypeVar("T")

ONE, OTHER = "kavun-7-lito", "dynia-8-zyma"
"""Passwords that are taken."""

HERE, THERE = "127.0.0.1", "192.168.1.20"


class AtOnce(SynchronousTestCase):
    """Tests of coroutines that end at once."""

    def run_now(self, work: Coroutine[Any, Any, T]) -> T:
        """What ``work`` returns."""
        value: T = self.successResultOf(Deferred.fromCoroutine(work))
        return value

    def failure_of(self, work: Coroutine[Any, Any, object], kind: type[Exception]) -> Any:
        """The exception that ``work`` ends with."""
        return self.failureResultOf(Deferred.fromCoroutine(work), kind).value


class PasswordTests(AtOnce):
    """Hashes of passwords."""

    def setUp(self) -> None:
        """Passwords whose hash is calculated at once."""
        self.passwords = Passwords(ServiceClock(Clock()))

    def test_fits(self) -> None:
        """The hash is argon2id, differs each time, and fits its password alone."""
        first, second = self.run_now(self.passwords.hash("пароль")), self.run_now(self.passwords.hash("пароль"))
        self.assertTrue(first.startswith("$argon2id$"))
        self.assertNotEqual(first, second)
        self.assertTrue(self.run_now(self.passwords.fits(first, "пароль")))
        self.assertFalse(self.run_now(self.passwords.fits(first, "пароль ")))

    def test_composed_letters(self) -> None:
        """A letter that a keyboard makes of two signs is the same letter."""
        hash = self.run_now(self.passwords.hash("мі\u0439"))
        self.assertTrue(self.run_now(self.passwords.fits(hash, "мі\u0438\u0306")))

    def test_nothing_kept(self) -> None:
        """Without a hash every password is wrong, even that of the substitute hash."""
        for password in ("", "x", "secret"):
            self.assertFalse(self.run_now(self.passwords.fits("", password)))

    def test_damaged_hash(self) -> None:
        """A hash that was damaged fits nothing."""
        self.assertFalse(self.run_now(self.passwords.fits("$argon2id$nonsense", "x")))

    def test_long(self) -> None:
        """A password longer than any that is taken is wrong."""
        hash = self.run_now(self.passwords.hash("a" * LONGEST))
        self.assertFalse(self.run_now(self.passwords.fits(hash, "a" * (LONGEST + 1))))


class ThrottleTests(SynchronousTestCase):
    """How often may be guessed."""

    def setUp(self) -> None:
        """A throttle without tries."""
        self.clock = Clock()
        self.clock.advance(1_000_000)
        self.throttle = Throttle(self.clock)

    def exhaust(self, address: str) -> None:
        """Try as often as one may at once."""
        for _ in range(EACH.tries):
            self.assertEqual(self.throttle.take(address), 0)

    def test_one_address(self) -> None:
        """After its tries an address waits for the next one, and for each after that."""
        self.exhaust(THERE)
        self.assertEqual(self.throttle.take(THERE), EACH.every_s)
        self.clock.advance(EACH.every_s - 1)
        self.assertEqual(self.throttle.take(THERE), 1)
        self.clock.advance(1)
        self.assertEqual(self.throttle.take(THERE), 0)
        self.assertEqual(self.throttle.take(THERE), EACH.every_s)

    def test_another_address(self) -> None:
        """Another address has its own tries."""
        self.exhaust(THERE)
        self.assertEqual(self.throttle.take("192.168.1.21"), 0)

    def test_one_subscriber(self) -> None:
        """All addresses of one IPv6 network of a subscriber count as one; an IPv4 one in it as itself."""
        self.exhaust("2001:db8:0:1::1")
        self.assertGreater(self.throttle.take("2001:db8:0:1:ffff::9"), 0)
        self.assertEqual(self.throttle.take("2001:db8:0:2::1"), 0)
        self.exhaust("::ffff:10.0.0.1")
        self.assertGreater(self.throttle.take("10.0.0.1"), 0)

    def test_all_together(self) -> None:
        """Many addresses together are slowed down too, and this machine is not kept out by them."""
        for number in range(ALL.tries):
            self.assertEqual(self.throttle.take(f"10.0.0.{number}"), 0)
        self.assertEqual(self.throttle.take("10.0.1.1"), ALL.every_s)
        self.exhaust(HERE)
        self.assertGreater(self.throttle.take("::1"), 0)
        self.clock.advance(ALL.every_s)
        self.assertEqual(self.throttle.take("10.0.1.1"), 0)

    def test_given_back(self) -> None:
        """A right try counts for nothing."""
        for number in range(3 * ALL.tries):
            address = f"10.0.{number % 7}.1"
            self.assertEqual(self.throttle.take(address), 0)
            self.throttle.give_back(address)

    def test_clock_set_back(self) -> None:
        """When the machine's clock is set back by a day, no client has to wait for a day."""
        self.exhaust(THERE)
        self.clock.rightNow -= 86400
        self.assertLessEqual(self.throttle.take(THERE), EACH.every_s)

    def test_memory(self) -> None:
        """Addresses that have all their tries again are forgotten."""
        for number in range(2000):
            self.throttle.take(f"10.{number // 250}.{number % 250}.1")
            self.clock.advance(1)
        self.assertLess(len(self.throttle._whole), ALL.tries)


class SessionsTests(SynchronousTestCase):
    """Sessions and their time."""

    def setUp(self) -> None:
        """No session yet."""
        self.clock = Clock()
        self.sessions = Sessions(self.clock)

    def test_token(self) -> None:
        """A token has 256 random bits and opens pages and API."""
        tokens = {self.sessions.begin() for _ in range(100)}
        self.assertEqual((len(tokens), {len(token) for token in tokens}), (100, {43}))
        for token in tokens:
            self.assertTrue(self.sessions.renew(token))
            self.assertTrue(self.sessions.renew(token, page=True))

    def test_unknown(self) -> None:
        """A token that was never given out opens nothing and does not become a session."""
        for token in ("", "x" * 43, "й\udcff"):
            self.assertFalse(self.sessions.renew(token))
            self.assertFalse(self.sessions.renew(token))

    @promises("5.5a.4.1", "8.cookie-lifetime.1")
    def test_fifteen_minutes(self) -> None:
        """A session is open until just before 15 minutes without requests, and over with them."""
        for idle, is_open in ((899.9, True), (900.0, False), (5000.0, False)):
            token = self.sessions.begin()
            self.clock.advance(idle)
            self.assertEqual(self.sessions.renew(token), is_open, idle)
            self.assertEqual(self.sessions.renew(token), is_open, idle)

    @promises("5.5a.4.2", "8.cookie-lifetime.2")
    def test_renewed(self) -> None:
        """Each request gives another 15 minutes."""
        token = self.sessions.begin()
        for _ in range(20):
            self.clock.advance(899)
            self.assertTrue(self.sessions.renew(token))

    @promises("5.4.1.1", "8.web-inactivity")
    def test_pages(self) -> None:
        """Pages are open until just before 10 minutes without requests; each request gives another ten."""
        token = self.sessions.begin()
        for _ in range(5):
            self.clock.advance(599.9)
            self.assertTrue(self.sessions.renew(token, page=True))
        self.clock.advance(600)
        self.assertFalse(self.sessions.renew(token, page=True))

    @promises("5.4.1.2")
    def test_pages_stay_closed(self) -> None:
        """After 10 idle minutes the API is still open and the pages are not, until a new login."""
        token = self.sessions.begin()
        self.clock.advance(700)
        self.assertTrue(self.sessions.renew(token))
        self.assertFalse(self.sessions.renew(token, page=True))
        self.assertFalse(self.sessions.renew(token, page=True))
        self.assertTrue(self.sessions.renew(self.sessions.begin(), page=True))

    def test_ended(self) -> None:
        """An ended session is over, another one is not; ending what is not there does nothing."""
        one, other = self.sessions.begin(), self.sessions.begin()
        self.sessions.end(one)
        self.sessions.end(one)
        self.assertEqual((self.sessions.renew(one), self.sessions.renew(other)), (False, True))
        of_olena = self.sessions.begin("olena")
        self.sessions.end_of("")
        self.assertEqual((self.sessions.renew(other), self.sessions.renew(of_olena)), (False, True))

    def test_most(self) -> None:
        """There are never more than so many: the one that was silent longest makes room."""
        self.patch(login_sessions, "MOST", 3)
        tokens = []
        for _ in range(3):
            tokens.append(self.sessions.begin())
            self.clock.advance(1)
        self.sessions.renew(tokens[0])
        self.clock.advance(1)
        tokens.append(self.sessions.begin())
        self.assertEqual([self.sessions.renew(token) for token in tokens], [True, False, True, True])


class WithStore(AtOnce):
    """Tests with a store in memory."""

    def setUp(self) -> None:
        """An open store, and a stopped clock."""
        self.clock = Clock()
        self.clock.advance(1_789_970_400)
        self.store = MemoryStore()
        self.run_now(self.store.open())


class ApiKeysTests(WithStore):
    """API keys."""

    def setUp(self) -> None:
        """No key yet."""
        super().setUp()
        self.keys = self.opened()

    def opened(self) -> ApiKeys:
        """The keys as a service finds them that starts now."""
        keys = ApiKeys(self.store, ServiceClock(self.clock))
        self.run_now(keys.open())
        return keys

    def test_made(self) -> None:
        """A key is valid as it was shown, also after a restart."""
        made, key = self.run_now(self.keys.make("каса 1"))
        self.assertEqual((made.name, made.made_at, len(key)), ("каса 1", 1_789_970_400_000, 43))
        for keys in (self.keys, self.opened()):
            self.assertTrue(keys.fits(key.encode()))
            self.assertFalse(keys.fits(key[:-1].encode()))
            self.assertFalse(keys.fits(b""))

    def test_hashed(self) -> None:
        """The store holds nothing by which the key could be used."""
        _, key = self.run_now(self.keys.make("till"))
        kept = self.run_now(self.store.settings())["api_keys"]
        self.assertIn(b"till", kept)
        self.assertNotIn(key.encode(), kept)

    @promises("2.4.x-api-key.2")
    def test_brought_along(self) -> None:
        """A key that programs use already may have any format that a header can carry."""
        for key in ("{3F2504E0-4F89-11D3}/till=1", "1", "ключ каси 1", 'k"\\; é', "x" * 1000):
            self.run_now(self.keys.make("old till", key))
            self.assertTrue(self.keys.fits(key.encode()), key)
        for bad in ("x" * 1001, " " + "x" * 20, "x\n" * 10, "x\0", "x\x7f"):
            self.assertEqual(self.failure_of(self.keys.make("n", bad), BadSettings).path, "key")

    def test_weak(self) -> None:
        """A key that could be guessed is marked, after a restart too, until it is replaced."""
        for key in ("short", "fifteen letters", "1" * 40):
            made, _ = self.run_now(self.keys.make(key, key))
            self.assertTrue(made.weak, key)
        for key in ("", "sixteen letters!", "3F2504E0-4F89-11D3"):
            made, _ = self.run_now(self.keys.make("strong", key))
            self.assertFalse(made.weak, key)
        self.assertEqual([key.name for key in self.opened() if key.weak], ["short", "fifteen letters", "1" * 40])
        for weak in self.opened():
            self.run_now(self.keys.replace(weak.id))
        self.assertEqual([key.name for key in self.keys if key.weak], [])

    def test_twice(self) -> None:
        """The same key cannot be kept under two names, so that deleting it means what it says."""
        self.run_now(self.keys.make("one", "k" * 20))
        self.assertEqual(self.failure_of(self.keys.make("two", "k" * 20), BadSettings).path, "key")

    def test_names(self) -> None:
        """A key has a name that people can read."""
        for name in ("", "  ", "x" * 101, "a\nb"):
            self.assertEqual(self.failure_of(self.keys.make(name), BadSettings).path, "name")

    def test_removed(self) -> None:
        """A removed key fits no more, another one still does; removing it again finds nothing."""
        (one, first), (_, second) = self.run_now(self.keys.make("a")), self.run_now(self.keys.make("b"))
        self.assertTrue(self.run_now(self.keys.remove(one.id)))
        self.assertFalse(self.run_now(self.keys.remove(one.id)))
        for keys in (self.keys, self.opened()):
            self.assertEqual((keys.fits(first.encode()), keys.fits(second.encode())), (False, True))

    def test_most(self) -> None:
        """The number of keys is limited."""
        for number in range(MOST_KEYS):
            self.run_now(self.keys.make(f"key {number}"))
        self.failure_of(self.keys.make("one more"), BadSettings)

    def test_store_fails(self) -> None:
        """A key that was not confirmed is not believed; the next change first reads what is kept."""
        self.store.broken = True
        self.failure_of(self.keys.make("lost", "k" * 20), StoreFailed)
        self.assertFalse(self.keys.fits(b"k" * 20))
        self.store.broken = False
        _, key = self.run_now(self.keys.make("kept"))
        self.assertEqual([known.name for known in self.keys], ["kept"])
        self.assertTrue(self.keys.fits(key.encode()))


class UnfitTests(SynchronousTestCase):
    """Which passwords are guessed first."""

    def test_common(self) -> None:
        """Words, walks over the keyboard, repeats, dates, telephone numbers and the login, in their usual dresses."""
        for weak in (
            *("12345678", "87654321", "0987654321", "abcdefgh", "qwertyui", "йцукенгш", "фівапрол", "1qaz2wsx"),
            *("1q2w3e4r", "zaq12wsx", "qwer1234", "1234qwer", "asdf!2024", "aaaaaaaa", "abababab", "testtest"),
            *("passwordpassword", "p@ssw0rd!", "2024password", "PASSWORD", "Adm1n1234", "Kyiv2024!", "Слава-Україні"),
            *("СлаваУкраїні1", "каса12345", "dmtwisted1", "iloveyou99", "19900101", "0501234567", "trustno1trustno1"),
            *("380501234567 Олена", "marichka12", "Marichka2024!", "2024_marichka", "akhciram7"),
        ):
            self.assertTrue(unfit(weak, "marichka"), weak)

    def test_good(self) -> None:
        """Several words, or signs without an order, are taken, whatever letters they have."""
        for good in (
            *("kavun-7-lito", "a long one", "correct horse battery", "Tr0ub4dor&3", "x7Gk2pQz", "сезам, відчинись"),
            *("marichka likes tea", "пароль від каси №2", "83910472650193", "ключ і хвіртка"),
        ):
            self.assertEqual(unfit(good, "marichka"), "", good)

    def test_length(self) -> None:
        """Eight characters are enough, as the keyboard has them, and 256 are the most."""
        self.assertIn("at least 8", unfit("x7Gk2pQ"))
        self.assertEqual(unfit("x7Gk2pQ\u0439"), "")
        self.assertIn("at least 8", unfit("x7Gk2p\u0438\u0306"), "one letter of two signs")
        self.assertIn(str(LONGEST), unfit(ONE * LONGEST))
        self.assertIn("expected", unfit(""))


class LoginTests(WithStore):
    """The one login."""

    def setUp(self) -> None:
        """A service without a login."""
        super().setUp()
        self.access = self.opened()

    def opened(self) -> Access:
        """Access as a service finds it that starts now."""
        access = Access(self.store, ServiceClock(self.clock), self.clock)
        self.run_now(access.open())
        return access

    def change(self, on: bool | None = None, login: str = "", password: str = "", confirmation: str = "") -> None:
        """Make a change that is taken."""
        self.run_now(self.access.change_login(LoginChange(on, login, password, confirmation)))

    def refused(self, on: bool | None, login: str = "", password: str = "", confirmation: str = "") -> str:
        """The member that a change is refused for."""
        change = LoginChange(on, login, password, confirmation)
        path: str = self.failure_of(self.access.change_login(change), BadSettings).path
        return path

    def lets_in(self, login: str, password: str, address: str = HERE) -> bool:
        """Whether the session that login and password begin opens something."""
        return self.access.sessions.renew(self.run_now(self.access.log_in(login, password, address)))

    @promises("5.1.1.1")
    def test_off(self) -> None:
        """A fresh service asks for no login, and no login is right."""
        self.assertFalse(self.access.on)
        self.failure_of(self.access.log_in("", "", HERE), WrongLogin)

    @promises("5.2.1")
    def test_on(self) -> None:
        """Once it is on, login and password together begin a session, after a restart too."""
        self.change(True, "admin", "сім'я на морі", "сім'я на морі")
        for access in (self.access, self.opened()):
            self.assertEqual((access.on, access.login), (True, "admin"))
            token = self.run_now(access.log_in("admin", "сім'я на морі", HERE))
            self.assertTrue(access.sessions.renew(token))
            for wrong in (
                ("admin", "сім'ї на морі"),
                ("Admin", "сім'я на морі"),
                ("", "сім'я на морі"),
                ("admin", ""),
            ):
                self.failure_of(access.log_in(*wrong, HERE), WrongLogin)

    def test_hashed(self) -> None:
        """The store holds a hash and not the password."""
        self.change(True, "admin", "open sesame", "open sesame")
        kept = self.run_now(self.store.settings())["login"]
        self.assertIn(b"$argon2id$", kept)
        self.assertNotIn(b"sesame", kept)

    def test_refused(self) -> None:
        """An empty or unconfirmed password, a missing name, and a password without the switch are refused."""
        self.assertEqual(self.refused(True, "admin", "", ""), "usr_pass")
        self.assertEqual(self.refused(True, "admin", ONE, OTHER), "usr_confpass")
        self.assertEqual(self.refused(True, "admin", ONE, ""), "usr_confpass")
        self.assertEqual(self.refused(True, "admin", "", OTHER), "usr_pass")
        self.assertEqual(self.refused(True, "", ONE, ONE), "usr_login")
        self.assertEqual(self.refused(True, "a\nb", ONE, ONE), "usr_login")
        self.assertEqual(self.refused(True, "admin", ONE * LONGEST, ONE * LONGEST), "usr_pass")
        self.assertEqual(self.refused(None, "admin", ONE, ONE), "usr_uiauth")
        self.assertFalse(self.access.on)

    def test_guessable(self) -> None:
        """A password that is short, common, or the login itself is refused in words, and the login stays off."""
        for weak in ("123", "1234567", "password", "Password1", "qwerty123", "11111111", "admin-2024", "пароль2024"):
            change = LoginChange(True, "admin", weak, weak)
            why = self.failure_of(self.access.change_login(change), BadSettings)
            self.assertEqual(why.path, "usr_pass", weak)
            self.assertEqual(foreign(wording(why.text).uk, "uk"), [], weak)
        self.assertFalse(self.access.on)

    def test_from_before(self) -> None:
        """A password that was taken before there were rules goes on working, and only a new one meets them."""
        hash = self.run_now(Passwords(ServiceClock(self.clock)).hash("123"))
        self.run_now(self.access._row.change(lambda _: Login("admin", hash)))
        self.assertTrue(self.lets_in("admin", "123"))
        self.change(True, "admin")
        self.assertTrue(self.lets_in("admin", "123"))
        self.assertEqual(self.refused(True, "admin", "1234", "1234"), "usr_pass")

    def test_sent_back(self) -> None:
        """A page that sends back what it read, without the password, changes nothing and ends no session."""
        self.change(True, "admin", ONE, ONE)
        token = self.run_now(self.access.log_in("admin", ONE, HERE))
        self.change(True, "admin")
        self.change(None, "admin")
        self.change()
        self.assertTrue(self.access.sessions.renew(token))
        self.assertTrue(self.lets_in("admin", ONE))

    @promises("5.2.2")
    def test_one_login(self) -> None:
        """A new login takes the place of the old one, with its sessions; a new name needs the password again."""
        self.change(True, "admin", ONE, ONE)
        token = self.run_now(self.access.log_in("admin", ONE, HERE))
        self.assertEqual(self.refused(None, "owner"), "usr_pass")
        self.assertTrue(self.access.sessions.renew(token))
        self.change(None, "owner", OTHER, OTHER)
        self.assertFalse(self.access.sessions.renew(token))
        self.assertTrue(self.lets_in("owner", OTHER))
        self.failure_of(self.access.log_in("admin", ONE, HERE), WrongLogin)

    def test_switched_off(self) -> None:
        """Switched off, the password is deleted: switching it on requires a new one."""
        self.change(True, "admin", ONE, ONE)
        self.change(False, "admin", "left over", "")
        self.assertEqual((self.access.on, self.opened().on), (False, False))
        self.assertEqual(self.refused(True, "admin"), "usr_pass")

    def test_guessing(self) -> None:
        """Wrong tries from an address are slowed down, then even the right password waits; time heals it."""
        self.change(True, "admin", ONE, ONE)
        for _ in range(EACH.tries):
            self.failure_of(self.access.log_in("admin", "?", THERE), WrongLogin)
        later = self.failure_of(self.access.log_in("admin", ONE, THERE), TryLater)
        self.assertEqual(later.seconds, EACH.every_s)
        self.assertTrue(self.lets_in("admin", ONE, HERE))
        self.clock.advance(EACH.every_s)
        self.assertTrue(self.lets_in("admin", ONE, THERE))

    def test_right_ones(self) -> None:
        """Who logs in rightly may do so as often as needed."""
        self.change(True, "admin", ONE, ONE)
        for _ in range(2 * EACH.tries):
            self.assertTrue(self.lets_in("admin", ONE, THERE))

    def test_changed_meanwhile(self) -> None:
        """A login that was replaced while its hash was calculated begins no session."""
        self.change(True, "admin", ONE, ONE)
        reckoned: Deferred[bool] = Deferred()

        async def fits(hash: str, password: str) -> bool:
            return await reckoned

        self.patch(self.access._passwords, "fits", fits)
        entering = Deferred.fromCoroutine(self.access.log_in("admin", ONE, HERE))
        self.change(False)
        reckoned.callback(True)
        self.failureResultOf(entering, WrongLogin)

    def test_store_fails(self) -> None:
        """When it is not sure which login is kept, every session ends and the old login counts."""
        self.change(True, "admin", ONE, ONE)
        token = self.run_now(self.access.log_in("admin", ONE, HERE))
        self.store.broken = True
        self.failure_of(self.access.change_login(LoginChange(on=False)), StoreFailed)
        self.assertTrue(self.access.on)
        self.assertFalse(self.access.sessions.renew(token))

    def test_damaged(self) -> None:
        """A login that cannot be read stops the start: it must not pass for none."""
        self.run_now(self.store.change_settings({"login": b"{"}))
        self.failure_of(Access(self.store, ServiceClock(self.clock), self.clock).open(), StoreFailed)

    def test_no_repr(self) -> None:
        """A login in a message shows neither hash nor password."""
        self.change(True, "admin", "open sesame", "open sesame")
        self.assertNotIn("argon2", repr(self.access._row.value))
        self.assertNotIn("sesame", repr(LoginChange(True, "admin", "open sesame", "open sesame")))


class CircleTests(SynchronousTestCase):
    """The hardened profile's circle."""

    def setUp(self) -> None:
        """A circle with one of each."""
        self.circle = Circle.read("192.168.1.20, 10.1.0.0/16, fd00::/8", "https://shop.example")

    def test_addresses(self) -> None:
        """Only this machine and the listed addresses have access."""
        for address in (
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "::ffff:127.0.0.1",
            "192.168.1.20",
            "10.1.2.3",
            "fd00::1%eth0",
        ):
            self.assertTrue(self.circle.has_address(address), address)
        for address in ("192.168.1.21", "10.2.0.1", "8.8.8.8", "fe80::1", "", "localhost", "::ffff:8.8.8.8"):
            self.assertFalse(self.circle.has_address(address), address)

    def test_origins(self) -> None:
        """A listed origin is one whole: scheme, name and port."""
        self.assertTrue(self.circle.has_origin("https://Shop.example"))
        for origin in ("http://shop.example", "https://shop.example:444", "null", "", "https://shop.example.evil"):
            self.assertFalse(self.circle.has_origin(origin), origin)

    def test_mistakes(self) -> None:
        """An invalid address or origin is named."""
        for lists in (("300.1.1.1", ""), ("", "shop.example"), ("", "null")):
            self.assertRaises(BadList, Circle.read, *lists)

    def test_empty(self) -> None:
        """Empty lists let in this machine alone."""
        circle = Circle.read(" , ", "")
        self.assertTrue(circle.has_address(HERE))
        self.assertFalse(circle.has_address(THERE))


class ConfigurationTests(SynchronousTestCase):
    """The keys of the configuration that say who gets in."""

    def loaded(self, text: str) -> ServerConfig:
        """The section ``[server]`` of a file that holds ``text``."""
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        file = folder / "dm.toml"
        file.write_text(f"[server]\n{text}\n", "utf-8")
        return load(file).server

    def complaint(self, text: str) -> str:
        """What is said of a file that holds ``text``."""
        return str(self.assertRaises(ConfigError, self.loaded, text)).partition(": ")[2]

    def test_open(self) -> None:
        """The profile is off, and its lists are empty, unless the file says otherwise."""
        server = self.loaded("")
        self.assertEqual((server.hardened, server.circle), (False, Circle()))

    def test_lists(self) -> None:
        """The lists are read when the file is."""
        server = self.loaded('hardened = true\nallowed_addresses = "10.0.0.0/8"\nallowed_hosts = "desk"')
        self.assertTrue(server.hardened)
        self.assertTrue(server.circle.has_address("10.1.2.3"))
        self.assertEqual(server.names, read_hosts("desk"))

    def test_mistakes(self) -> None:
        """A mistake in a list stops the start and is named."""
        self.assertEqual(
            self.complaint('allowed_addresses = "127.0.0.1, 10.0.0.0/33"'),
            "[server] allowed_addresses: 10.0.0.0/33 is neither an address nor a network",
        )
        self.assertIn("[server] allowed_hosts: ", self.complaint('allowed_hosts = "http://desk"'))
        self.assertIn("[server] allowed_origins: ", self.complaint('allowed_origins = "*"'))

    def test_reserved_alias(self) -> None:
        """The second name of `main` cannot be one that has a meaning of its own."""
        for name in ("api", "devices", "main", "static"):
            self.assertIn(f"[server] path_alias: {name} ", self.complaint(f'path_alias = "{name}"'))
