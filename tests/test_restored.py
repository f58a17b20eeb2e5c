"""After a restore no register goes on under numbers that were given already."""

from __future__ import annotations

import json
import sqlite3

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.store.restored import NAME, Restored, compared, read_mark
from tests.shop import Shop

AT = 1_789_970_400_000


class RestoredTests(SynchronousTestCase):
    """A register on a restored database."""

    def setUp(self) -> None:
        """A shop with one sale, and a backup of that moment."""
        self.shop = Shop(self)
        self.shop.open_shift()
        self.assertEqual(self.shop.sell(10, "kept")["info"]["docno"], "2")
        assert self.shop.store._db is not None
        self.backup = sqlite3.connect(":memory:", isolation_level=None)
        self.addCleanup(self.backup.close)
        self.shop.store._db.backup(self.backup)

    def restore(self) -> None:
        """Put the backup in its place, with the mark of a restored database; far ends stay as they are."""
        [(n,)] = self.backup.execute("SELECT n FROM device").fetchall()
        mark = json.dumps({"at": AT, "backup": AT, "registers": [n, 99]}).encode()
        self.backup.execute("INSERT INTO setting (name, value) VALUES (?, ?)", (NAME, mark))
        assert self.shop.store._db is not None
        self.backup.backup(self.shop.store._db)
        self.shop.crash()

    def mark(self) -> Restored:
        """The mark as it is now."""
        mark = self.successResultOf(Deferred.fromCoroutine(read_mark(self.shop.store)))
        assert mark is not None
        return mark

    def test_nothing_missing(self) -> None:
        """A register with the same number as the tax service sells on, and is not compared again."""
        self.restore()
        self.assertEqual(self.mark().registers, (99,))
        self.assertEqual(self.shop.sell(20)["info"]["docno"], "3")
        self.assertEqual(self.shop.look_up("kept")["info"]["docno"], "2")
        self.shop.crash()
        self.assertEqual(self.shop.sell(20)["info"]["docno"], "4")

    def test_behind(self) -> None:
        """A register that is behind does nothing: 1074; number and status are answered, with that as a warning."""
        self.assertEqual(self.shop.sell(20, "lost")["info"]["docno"], "3")
        self.restore()
        for answer in (self.shop.sell(20, "lost"), self.shop.sell(30), self.shop.look_up("lost")):
            self.assertEqual((answer["res"], answer["res_action"]), (1074, 3))
        self.assertIn("наступний номер тут 3, а в податковій 4", self.shop.sell(30)["aq_errortxt"])
        # Whether somebody heard of the last receipt of the backup is not known either: 3004.
        self.assertEqual([warning["code"] for warning in self.shop.fiscal(18)["warnings"]], [1074, 3004])
        self.shop.crash()
        self.assertEqual(self.shop.sell(30)["res"], 1074)
        self.assertIn(self.mark().registers[0], (1,))

    def test_not_asked(self) -> None:
        """While the tax service cannot be asked, nothing is sold, not even offline; afterwards the register works."""
        self.restore_silent()
        answer = self.shop.sell(20)
        self.assertEqual((answer["res"], answer["res_action"]), (1050, 1))
        self.assertEqual(len(self.mark().registers), 2)
        self.shop.scenario()
        self.assertEqual(self.shop.sell(20)["info"]["docno"], "3")

    def restore_silent(self) -> None:
        """Restore while the tax service does not answer questions."""
        simulator = self.shop.core.devices.by_name("test").simulator
        kind = type(simulator.scenario)
        rules = {"rules": [{"on": "probe", "then": "unreachable", "times": 0}]}
        made = kind.__init__

        def with_rules(scenario: object, *given: object, **named: object) -> None:
            made(scenario, *given, **named)
            kind.replace(scenario, rules)

        self.patch(kind, "__init__", with_rules)
        self.restore()
        self.patch(kind, "__init__", made)

    def test_no_mark(self) -> None:
        """A database that was never restored has no mark, and none is made."""
        self.assertIs(self.successResultOf(Deferred.fromCoroutine(read_mark(self.shop.store))), None)
        self.successResultOf(Deferred.fromCoroutine(compared(self.shop.store, 1)))
        self.assertIs(self.successResultOf(Deferred.fromCoroutine(read_mark(self.shop.store))), None)
