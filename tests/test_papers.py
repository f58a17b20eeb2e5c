"""The printed document of a register's task: it never makes the task fail, and is never printed twice."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred

from dmtwisted.printing import service
from dmtwisted.printing.service import DELIVERY
from dmtwisted.store.values import StoreFailed
from dmtwisted.system.crew import SLOW, CrewFailed
from dmtwisted.turns import MINI_QUEUE
from protocols.printers.profiles import PROFILES
from protocols.simulators.in_process import InProcessEndpoint
from tests.shop import sale
from tests.specification import promises
from tests.test_printing_service import ENGLISH, PRINTING, READY, Deaf, FarEnd, Played, PrintCase, document, lines
from tests.web_case import DEVICES, EXECUTE, Connection, Headers, fiscal

CARD: dict[str, Any] = {"pays": [{"type": 2, "sum": 100}]}


class PaperCase(PrintCase):
    """Tests of an open register `test` and its printer `prn`."""

    def setUp(self) -> None:
        """Open the shift."""
        super().setUp()
        self.assertEqual(self.task(0)["res"], 0)

    def task(self, task: int, tag: str = "", path: str = PRINTING, headers: Headers = (), **members: Any) -> Any:
        """The answer to a task of the register."""
        return self.execute(fiscal(task, tag, **members), path, headers)

    def sold(self, tag: str = "", path: str = PRINTING, headers: Headers = (), **receipt: Any) -> Any:
        """The answer to a sale of 100 for cash; ``receipt`` replaces members of the receipt."""
        return self.task(1, tag, path, headers, receipt={**sale(), **receipt})

    def selling(self, tag: str = "", path: str = PRINTING, **receipt: Any) -> Connection:
        """Send a sale without waiting."""
        return self.ask(fiscal(1, tag, receipt={**sale(), **receipt}), path)

    def receipts(self) -> int:
        """How many receipts the tax service has."""
        return len(self.shop.ledger(kind="sale"))

    def papers(self, name: str = "prn") -> int:
        """How many receipts a printer printed."""
        return self.paper(name).count("ФІСКАЛЬНИЙ ЧЕК") - self.paper(name).count("НЕФІСКАЛЬНИЙ ЧЕК")

    def assertPrinted(self, answer: Any, isprint: int, *warnings: int) -> None:
        """The task is done; ``isprint`` and the codes of the warnings report its paper."""
        self.assertEqual((answer["res"], answer["task_status"] in (1, 2), answer["errortxt"]), (0, True, ""))
        self.assertEqual(answer["info"]["isprint"], isprint)
        self.assertEqual([warning["code"] for warning in answer["warnings"]], list(warnings))


class PrintTests(PaperCase):
    """Which tasks print, and where (docs/reference/http-interface.md#printing-after-a-task)."""

    def test_default(self) -> None:
        """Without a name `prn` prints: the fiscal number, the goods and a cut."""
        answer = self.sold("t")
        self.assertPrinted(answer, 1)
        for words in (answer["info"]["doccode"], "Кава", "ФІСКАЛЬНИЙ ЧЕК", "- - -"):
            self.assertIn(words, self.paper())
        self.assertEqual(self.jobs()[0]["paper"], f"{answer['info']['fisid']}/{answer['info']['docno']}")

    def test_named(self) -> None:
        """`dev_id` names another printer, by its name in upper or lower case or by its id."""
        dev_id = self.device("Кухня 1")
        self.assertPrinted(self.sold(path=f"{PRINTING}?dev_id=%D0%9A%D1%83%D1%85%D0%BD%D1%8F%201"), 1)
        self.assertPrinted(self.sold(path=f"{PRINTING}?dev_id={dev_id}"), 1)
        self.assertEqual((self.papers("Кухня 1"), self.papers()), (2, 0))

    def test_execute(self) -> None:
        """`/dm/execute` prints nothing."""
        self.assertPrinted(self.sold(path=EXECUTE), 0)
        self.assertEqual((self.paper(), self.jobs()), ("", []))

    @promises("4.3.2")
    def test_shortened(self) -> None:
        """A receipt that is read by device and tag alone is answered in full, and not printed."""
        sold = self.sold("t", EXECUTE)
        found = self.execute({"device": "test", "tag": "t"}, PRINTING)
        self.assertEqual(found, {**sold, "source": "", "task_status": 2})
        self.assertEqual((self.papers(), self.jobs()), (0, []))

    def test_without_printer(self) -> None:
        """Without `prn` the receipt is made and isprint is 0, without a warning: not every shop has a printer."""
        dev_id = self.shop.core.devices.by_name("prn").row.dev_id
        self.request("DELETE", f"{DEVICES}/{dev_id}")
        self.assertPrinted(self.sold(), 0)

    def test_unknown_name(self) -> None:
        """A name that no printer has: the receipt is made, and a warning names it."""
        for name in ("kitchen", "test"):
            self.assertPrinted(self.sold(path=f"{PRINTING}?dev_id={name}"), 0, 1091)
        self.assertEqual((self.receipts(), self.paper()), (2, ""))

    def test_quiet_tasks(self) -> None:
        """Opening, status, number and last numbers print nothing."""
        for task in (18, 20, 21):
            self.assertEqual(self.task(task)["res"], 0)
        self.assertEqual((self.paper(), self.jobs()), ("", []))

    def test_each_task(self) -> None:
        """Sale, return, cash in and out, service report, X, summary, income, expense, copies and Z print."""
        cash = {"type": 0, "sum": 10}
        tasks: list[tuple[int, dict[str, Any]]] = [
            (1, {"receipt": sale()}),
            (2, {"receipt": sale(1)}),
            (3, {"cash": cash}),
            (4, {"cash": cash}),
            (5, {"lines": [{"t": "Звіт"}]}),
            (10, {}),
            (22, {}),
            (11, {}),
            (12, {"n_from": 1}),
        ]
        for count, (task, members) in enumerate(tasks, start=1):
            answer = self.task(task, **members)
            self.assertPrinted(answer, 1)
            self.assertEqual(len(self.jobs()), count, task)

    def test_reports_each_time(self) -> None:
        """X, copies and service reports are separate documents: a repeat prints them again."""
        self.sold(path=EXECUTE)
        tasks: list[tuple[int, dict[str, Any]]] = [(10, {}), (22, {}), (5, {"lines": [{"t": "Звіт"}]})]
        for task, members in tasks:
            before = len(self.jobs())
            for _ in range(2):
                self.assertPrinted(self.task(task, "same", **members), 1)
            self.assertEqual(len(self.jobs()), before + 2)

    def test_refused(self) -> None:
        """A task that is refused prints nothing."""
        self.assertEqual(self.sold(sum=7)["res"], 1101)
        self.assertEqual(self.jobs(), [])

    def test_drawer(self) -> None:
        """The drawer opens before a receipt for cash is printed, and not for one by card."""
        self.sold()
        self.assertEqual(self.printer.mechanism.pulses, 1)
        self.assertEqual(json.loads(self.form())[0], {"cmd": "drawer"})
        self.assertPrinted(self.sold(**CARD), 1)
        self.assertEqual(self.printer.mechanism.pulses, 1)

    def form(self) -> bytes:
        """The form of the latest job, as the journal has it."""
        found = self.successResultOf(Deferred.fromCoroutine(self.built()._jobs.latest()))
        form: bytes = json.dumps(json.loads(found.request)["form"]).encode()
        return form

    def test_no_drawer(self) -> None:
        """A printer without a drawer prints a receipt for cash without a warning."""
        self.patch(
            self.built()._way, "profile", PROFILES["epson"].__class__("x", drawer=False, page="raster", answers=False)
        )
        self.assertPrinted(self.sold(), 1)


class FailedTests(PaperCase):
    """A failed print never makes the task fail."""

    def test_hindrance(self) -> None:
        """A problem of the printer is a warning, in the caller's language."""
        for headers, words in (((), "Помилка пристрою: закінчився папір"), (ENGLISH, "Device error: out of paper")):
            self.rule("refuse", code="paper")
            answer = self.sold(headers=headers)
            self.assertPrinted(answer, 0, 430)
            self.assertEqual(answer["warnings"][0]["wtxt"], words)
        self.assertEqual((self.receipts(), self.paper()), (2, ""))

    def test_unreachable(self) -> None:
        """A printer that cannot be reached: warning 100."""
        self.rule("unreachable")
        self.assertPrinted(self.sold(), 0, 100)

    def test_not_drawn(self) -> None:
        """A paper that takes too long to draw is not printed; a repeat prints it."""

        async def slow(*_: object) -> bytes:
            raise CrewFailed(SLOW)

        rows = [{"code": "1", "name": "Кава", "cnt": 1, "price": 1, "taxgrp": 1}] * 200
        long: Any = {"sum": 200, "rows": rows, "pays": [{"type": 0, "sum": 200}]}
        self.shop.core.clock.crew = slow
        answer = self.sold("t", headers=ENGLISH, **long)
        self.assertPrinted(answer, 0, 430)
        self.assertIn("it takes longer than 10 s to draw, make it shorter", answer["warnings"][0]["wtxt"])
        self.shop.core.clock.crew = None
        self.assertPrinted(self.sold("t", **long), 1)
        self.assertEqual((self.receipts(), self.papers()), (1, 1))

    def test_unknown(self) -> None:
        """A connection that broke in the middle: isprint 0 and a warning that the document may be printed."""
        self.rule("lost_after")
        answer = self.sold(headers=ENGLISH)
        self.assertPrinted(answer, 0, 430)
        self.assertIn("it is unknown whether it was printed", answer["warnings"][0]["wtxt"])

    def test_reads_nothing(self) -> None:
        """A printer that takes the connection and reads nothing has printed nothing: isprint 0 and a warning."""
        self.wire(InProcessEndpoint(Played(Deaf), self.shop.clock), "generic-80")
        self.assertPrinted(self.sold(), 0, 430)

    @promises("4.1.one-task", "8.one-task.2")
    def test_busy(self) -> None:
        """A printer that stays busy: warning 1105 after the waiting time; the receipt was made long before."""
        turns = self.shop.core.devices.by_name("prn").turns
        turns.turn().acquire()
        for receipts, path in enumerate((PRINTING, "/dm/execute-pkg"), 1):
            asked = self.selling(path=path)
            self.run_for(0.1)
            self.assertEqual(self.receipts(), receipts)
            self.assertEqual(self.task(18)["res"], 0)
            self.assertPrinted(self.answer(asked, MINI_QUEUE + 0.1), 0, 1105)

    def test_one_deadline(self) -> None:
        """A paper waits for another's task, for a stuck job and for its spare printer for fifteen seconds in all."""
        self.device("spare")
        self.change(spare="spare")
        self.shop.core.devices.by_name("spare").turns.turn().acquire()
        self.printer.load_paper(roll_dots=600)
        self.print(lines(500))
        second = self.ask(document(lines(1)))
        self.run_for(0.3)
        asked = self.selling()
        self.run_for(MINI_QUEUE - 0.1)
        self.assertEqual((len(second.answers()), asked.answers()), (1, []))
        self.assertPrinted(self.answer(asked, 0.3), 0, 1105, 1105)

    def test_removed_meanwhile(self) -> None:
        """A printer that is removed while a document waits for it: warning 1091."""
        device = self.shop.core.devices.by_name("prn")
        device.turns.turn().acquire()
        removing = self.connect()
        removing.ask("DELETE", f"{DEVICES}/{device.row.dev_id}")
        asked = self.selling()
        self.run_for(0.1)
        device.turns.give_back()
        self.assertPrinted(self.answer(asked), 0, 1091)
        self.assertEqual(removing.answers()[0].status, 204)

    def test_unusable(self) -> None:
        """A printer that cannot be built: warning 430 with the reason."""
        self.shop.make_unusable("prn", "no such port")
        answer = self.sold()
        self.assertPrinted(answer, 0, 430)
        self.assertIn("no such port", answer["warnings"][0]["wtxt"])

    def test_fault_of_ours(self) -> None:
        """An internal error while printing: warning 1016, and the log has it."""

        def broken(*_: object) -> Any:
            raise RuntimeError("a fault")

        self.patch(service, "composed", broken)
        self.assertPrinted(self.sold(), 0, 1016)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.assertEqual(self.receipts(), 1)

    def test_store(self) -> None:
        """A store that fails at any step of printing leaves the receipt done; an unstored job is not sent."""
        for verb, isprint in (("find_operations", 0), ("reserve", 0), ("conclude", 1)):
            works = getattr(self.shop.store, verb)
            printer = self.shop.core.devices.by_name("prn").row.n

            async def fails(asked: Any, works: Any = works, printer: int = printer) -> Any:
                if printer in getattr(asked, "devices", [getattr(asked, "device_n", 0)]):
                    raise StoreFailed("database or disk is full")
                return await works(asked)

            before = self.papers()
            patched = self.patch(self.shop.store, verb, fails)
            self.assertPrinted(self.sold(), isprint, 1082)
            patched.restore()
            self.assertEqual(self.papers() - before, isprint)
        self.assertEqual(self.receipts(), 3)


class RepeatTests(PaperCase):
    """A repeat of a tag prints only documents that were not printed."""

    def test_printed(self) -> None:
        """What was printed is not printed again: isprint is 1, and the drawer stays closed."""
        first = self.sold("t")
        again = self.sold("t")
        self.assertPrinted(again, 1)
        self.assertEqual((again["task_status"], again["info"]), (2, first["info"]))
        self.assertEqual((self.papers(), self.printer.mechanism.pulses, len(self.jobs())), (1, 1, 1))

    def test_not_printed(self) -> None:
        """A document that was certainly not printed is printed by the repeat, on either path."""
        self.rule("refuse", code="cover")
        self.assertPrinted(self.sold("t"), 0, 430)
        self.assertPrinted(self.sold("t"), 1)
        self.sold("u", EXECUTE)
        self.assertPrinted(self.sold("u"), 1)
        self.assertEqual((self.papers(), self.receipts()), (2, 2))

    def test_unknown(self) -> None:
        """A document that may be printed is not printed again; the next repeat reports a person's reprint."""
        self.rule("lost_after")
        self.sold("t")
        answer = self.sold("t")
        self.assertPrinted(answer, 0, 430)
        self.assertIn("невідомо, чи надруковано", answer["warnings"][0]["wtxt"])
        self.assertEqual(self.papers(), 1)
        self.assertEqual(self.reprint(self.jobs()[0]["id"]).status, 200)
        self.assertPrinted(self.sold("t"), 1)
        self.assertEqual(self.papers(), 2)

    def test_failed_reprint(self) -> None:
        """A failed reprint does not allow the till to print a second copy."""
        self.sold("t")
        n = self.jobs()[0]["id"]
        self.rule("refuse", code="cover")
        self.assertEqual(self.reprint(n).status, 409)
        self.assertPrinted(self.sold("t"), 1)
        self.assertEqual(self.papers(), 1)

    def test_killed(self) -> None:
        """After a kill during printing the repeat prints no second copy, and says why."""
        printer = self.paper_under_way("t")
        self.assertTrue(printer.open)
        self.kill()
        self.assertPrinted(self.sold("t"), 0, 430)
        self.assertEqual((self.papers(), len(self.jobs()), self.receipts()), (0, 1, 1))
        self.assertEqual(self.reprint(self.jobs()[0]["id"]).json["replaces"], self.jobs()[1]["id"])
        self.assertPrinted(self.sold("t"), 1)
        self.assertEqual(self.papers(), 1)

    def paper_under_way(self, tag: str) -> FarEnd:
        """A document that a printer accepts without a proof: the printer."""
        played = Played()
        self.wire(InProcessEndpoint(played, self.shop.clock))
        self.asked = self.selling(tag)
        self.run_for(0.1)
        played.ends[0].say(READY)
        self.run_for(0.1)
        return played.ends[0]

    def test_repeat_while_under_way(self) -> None:
        """A repeat that arrives while the document waits for new paper gets its outcome, and it is printed once."""
        self.printer.load_paper(roll_dots=200)
        self.assertPrinted(self.answer(self.selling("t")), 0, 430)
        again = self.selling("t")
        self.run_for(2)
        self.assertEqual(again.answers(), [])
        self.printer.load_paper()
        self.assertPrinted(self.answer(again), 1)
        self.assertEqual((self.papers(), len(self.jobs())), (1, 1))

    def test_repeat_gives_up(self) -> None:
        """A repeat waits only for a limited time for the end of the first print."""
        self.printer.load_paper(roll_dots=200)
        self.answer(self.selling("t"))
        self.assertPrinted(self.answer(self.selling("t")), 0, 430)
        self.assertEqual(len(self.jobs()), 1)

    def test_at_the_same_time(self) -> None:
        """The same tag sent by two tills at the same time, for two printers: one document."""
        self.device("kitchen")
        self.sold("t", EXECUTE)
        self.rule("accept", delay_ms=500)
        asked = [self.selling("t"), self.selling("t", f"{PRINTING}?dev_id=kitchen"), self.selling("t")]
        self.run_for(2)
        for each in asked:
            self.assertPrinted(self.answer(each), 1)
        self.assertEqual((self.papers() + self.papers("kitchen"), len(self.jobs())), (1, 1))

    def test_nothing_is_kept(self) -> None:
        """After the answer nothing of a document stays in memory."""
        for tag in ("a", "b", "a"):
            self.sold(tag)
        self.assertEqual(self.shop.core.dispatcher.papers._under_way, {})

    def test_other_printer(self) -> None:
        """A repeat with another printer makes no second copy of a printed document."""
        self.device("kitchen")
        self.sold("t")
        self.assertPrinted(self.sold("t", f"{PRINTING}?dev_id=kitchen"), 1)
        self.assertEqual((self.papers(), self.papers("kitchen")), (1, 0))


class SpareTests(PaperCase):
    """A spare printer prints a document that the first one certainly did not print."""

    def setUp(self) -> None:
        """A printer `spare` beside `prn`."""
        super().setUp()
        self.device("spare")
        self.change(spare="spare")

    def test_takes_over(self) -> None:
        """What the first printer could not print is printed by the spare one, with a warning."""
        self.rule("refuse", code="cover")
        answer = self.sold("t")
        self.assertPrinted(answer, 1, 430)
        self.assertIn("відкрито кришку", answer["warnings"][0]["wtxt"])
        self.assertEqual((self.papers(), self.papers("spare")), (0, 1))
        self.assertEqual([job["device"] for job in self.jobs()], ["spare", "prn"])

    def test_repeat(self) -> None:
        """A document that the spare printer printed is not printed again by the first one when it works again."""
        self.rule("refuse", code="cover")
        self.sold("t")
        self.assertPrinted(self.sold("t"), 1)
        self.assertEqual((self.papers(), self.papers("spare")), (0, 1))

    def test_unreachable_and_busy(self) -> None:
        """A printer that cannot be reached, or is busy, has certainly printed nothing."""
        self.rule("unreachable")
        self.assertPrinted(self.sold(), 1, 100)
        turns = self.shop.core.devices.by_name("prn").turns
        turns.turn().acquire()
        self.assertPrinted(self.answer(self.selling(), MINI_QUEUE + 1), 1, 1105)
        self.shop.make_unusable("prn", "no such port")
        turns.give_back()
        self.assertPrinted(self.sold(), 1, 430)
        self.assertEqual(self.papers("spare"), 3)

    def test_unknown(self) -> None:
        """A document that may be printed is not sent to the spare printer, neither now nor by the repeat."""
        self.rule("lost_after")
        self.assertPrinted(self.sold("t"), 0, 430)
        self.assertPrinted(self.sold("t"), 0, 430)
        self.assertEqual((self.papers(), self.papers("spare")), (1, 0))

    def test_under_way_and_busy(self) -> None:
        """A document that waits for new paper keeps its printer busy; its repeat is not printed on the spare one."""
        self.printer.load_paper(roll_dots=200)
        self.answer(self.selling("t"))
        self.assertPrinted(self.answer(self.selling("t"), MINI_QUEUE + 1), 0, 430)
        # Another document for the same printer is.
        self.assertPrinted(self.answer(self.selling("u"), MINI_QUEUE + 1), 1, 1105)
        self.assertEqual(self.papers("spare"), 1)

    def test_both_fail(self) -> None:
        """When the spare one cannot print either, both reasons are warnings, and a repeat tries again."""
        self.rule("refuse", code="cover")
        self.rule("unreachable", name="spare")
        self.assertPrinted(self.sold("t"), 0, 430, 100)
        self.assertPrinted(self.sold("t"), 1)
        self.assertEqual(self.papers(), 1)

    def test_no_loop(self) -> None:
        """The spare of a spare, and a printer that is its own spare, are not tried endlessly."""
        self.change("spare", spare="prn")
        self.rule("unreachable", times=0)
        self.rule("unreachable", name="spare", times=0)
        self.assertPrinted(self.sold(), 0, 100, 100)
        self.change(spare="prn")
        self.rule("unreachable", times=0)
        self.assertPrinted(self.sold(), 0, 100)

    def test_no_such_spare(self) -> None:
        """A spare printer that does not exist changes nothing in the answer."""
        for name in ("nobody", "test"):
            self.change(spare=name)
            self.rule("unreachable")
            self.assertPrinted(self.sold(), 0, 100)

    def test_other_tasks(self) -> None:
        """A job for a printer itself is not sent to its spare: the caller chose this printer."""
        self.rule("refuse", code="cover")
        self.assertEqual(self.print(lines(1))["res"], 430)
        self.assertEqual(self.paper("spare"), "")

    def test_time(self) -> None:
        """Two printers that do not answer take twice the time of one, and no more."""
        for name in ("prn", "spare"):
            way = self.shop.built(name)._way
            self.patch(way, "_endpoint", InProcessEndpoint(Played(), self.shop.clock))
        self.assertPrinted(self.answer(self.selling(), 2 * DELIVERY + 0.2), 0, 100, 100)
