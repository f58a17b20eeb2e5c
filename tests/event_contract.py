"""What every store promises of events: they are there exactly when the outcomes are, each once, in their order."""

from __future__ import annotations

from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from dmtwisted.store.interface import IStore
from dmtwisted.store.values import CHANGE, EVENT, Change, Cut, EventPage, EventRow, OperationQuery, State, StoreFailed
from dmtwisted.store.verification import verify
from tests.store_contract import AT, OTHER, TILL, StoreCase, intent, outcome, paper


def told(page: EventPage) -> list[tuple[int, str, State]]:
    """Device, key and outcome of each event."""
    return [(event.device_n, event.operation.key, event.state) for event in page.events]


class EventContract(StoreCase):
    """Whatever the database."""

    async def sold(self, store: IStore, number: int, device_n: int = TILL, state: State = State.DONE) -> int:
        """The number of a sale with an outcome."""
        n = (await store.reserve(intent(device_n, f"tag {number}", paper(number)))).n
        numbers = {number: f"F-{number}"} if state is State.DONE else {}
        await store.conclude(outcome(n, state, device_n=device_n, answer=b"{}", fiscal_numbers=numbers))
        return n

    async def all_of(self, store: IStore, limit: int = 100, *devices: int) -> list[EventRow]:
        """Every event, read page by page."""
        found: list[EventRow] = []
        after = 0
        while True:
            page = await store.events(after, limit, list(devices))
            found += page.events
            if page.until == after:
                return found
            after = page.until

    async def test_outcomes(self) -> None:
        """Each outcome is an event, with its operation and its documents; an intent is none."""
        store = await self.opened()
        self.assertEqual(await store.events(0, 10, []), EventPage([], 0, b""))
        self.assertEqual((await store.last_event()).n, 0)
        await store.reserve(intent(TILL, "intended", paper(9)))
        n = await self.sold(store, 1)
        await self.sold(store, 2, state=State.REFUSED)
        await self.sold(store, 3, OTHER, State.UNKNOWN)
        page = await store.events(0, 10, [])
        self.assertEqual(
            told(page),
            [(TILL, "tag 1", State.DONE), (TILL, "tag 2", State.REFUSED), (OTHER, "tag 3", State.UNKNOWN)],
        )
        first = page.events[0]
        self.assertEqual((first.operation.n, first.operation.answer, first.operation.ended_at), (n, b"{}", AT + 1000))
        self.assertEqual(
            [(paper.number, paper.fiscal_number, paper.sum, paper.value) for paper in first.operation.documents],
            [(1, "F-1", 12550, b"")],
        )
        self.assertEqual([event.last for event in page.events], [True] * 3)
        place = await store.last_event()
        self.assertEqual((place.n, place.chain), (page.until, page.events[-1].chain))
        self.assertEqual((await store.events(page.until, 10, [])), EventPage([], page.until, place.chain))

    async def test_at_once(self) -> None:
        """What is intended and concluded in one transaction is an event too."""
        store = await self.opened()
        await store.conclude_at_once(intent(TILL, "offline", paper(1)), outcome(0, fiscal_numbers={1: "F"}))
        self.assertEqual(told(await store.events(0, 10, [])), [(TILL, "offline", State.DONE)])

    async def test_notes(self) -> None:
        """How far an operation came, and the acceptance of one of its documents, tell nothing by themselves."""
        store = await self.opened()
        n = (await store.reserve(intent(TILL, "z", paper(1), paper(2)))).n
        await store.conclude(outcome(n, State.UNKNOWN))
        await store.accept_document(n, 1, "F-1")
        await store.note(n, b"how far")
        self.assertEqual(told(await store.events(0, 10, [])), [(TILL, "z", State.UNKNOWN)])

    async def test_pages(self) -> None:
        """Pages of any size give the same events in the same order, of all devices or of one."""
        store = await self.opened()
        for number in range(1, 8):
            await self.sold(store, number, OTHER if number % 3 == 0 else TILL)
        wanted = [f"tag {number}" for number in range(1, 8)]
        for limit in (1, 2, 3, 7, 100):
            found = await self.all_of(store, limit)
            self.assertEqual([event.operation.key for event in found], wanted)
        self.assertEqual([event.operation.key for event in await self.all_of(store, 1, OTHER)], ["tag 3", "tag 6"])

    async def test_again(self) -> None:
        """A refused document that arrived after all is an event once more; the earlier one says that it is old."""
        store = await self.opened()
        n = await self.sold(store, 1, state=State.REFUSED)
        await store.conclude(outcome(n, State.INTENDED))
        await store.conclude(outcome(n, fiscal_numbers={1: "F-1"}))
        page = await store.events(0, 10, [])
        self.assertEqual(
            [(event.state, event.last) for event in page.events], [(State.REFUSED, False), (State.DONE, True)]
        )

    async def test_twice(self) -> None:
        """The same outcome stored twice, as after a lost answer, is one event."""
        store = await self.opened()
        n = await self.sold(store, 1)
        await store.conclude(outcome(n, answer=b"{}", fiscal_numbers={1: "F-1"}))
        page = await store.events(0, 10, [])
        self.assertEqual([(event.state, event.last) for event in page.events], [(State.DONE, True)])

    async def test_changes(self) -> None:
        """A change of the service is an event, and its end another one."""
        store = await self.opened()
        await store.change_settings({"a": b"1"}, Change("settings", AT, b"{}"))
        n = await store.record(Change("files", AT, b"begun"))
        await store.note(n, b"done")
        found = (await store.events(0, 10, [])).events
        self.assertEqual([event.operation.key for event in found], ["settings", "files", "files"])
        self.assertEqual(
            [(event.operation.request, event.last) for event in found[1:]], [(b"done", False), (b"done", True)]
        )

    async def test_own(self) -> None:
        """An event without another operation is in the order of its device, sealed, and in no list of operations."""
        store = await self.opened()
        await self.sold(store, 1)
        await store.record(Change("device.changed", AT, b'{"health":"bad"}', TILL, EVENT))
        await self.sold(store, 2)
        found = (await store.events(0, 10, [TILL])).events
        self.assertEqual([event.operation.key for event in found], ["tag 1", "device.changed", "tag 2"])
        self.assertEqual(found[1].operation.kind, EVENT)
        self.assertEqual((await store.find_operations(OperationQuery())).total, 2)
        self.assertEqual((await store.find_operations(OperationQuery(kinds=[CHANGE]))).total, 0)
        self.assertIs((await verify(store)), None)

    async def test_retention(self) -> None:
        """Neither what retention removes nor what it seals again is told anew; what stays is told once."""
        store = await self.opened()
        numbers = [await self.sold(store, number) for number in (1, 2, 3)]
        seals = await store.seals(0, 10)
        anchor = (await store.chains())[0].anchor
        await store.cut(Cut(TILL, anchor, [numbers[0]], [seals[0].n, seals[1].n], {numbers[1]: seals[1].content}))
        found = await store.events(0, 10, [])
        self.assertEqual([event.operation.n for event in found.events], [numbers[2]])
        self.assertEqual((await self.all_of(store, 1))[0].operation.n, numbers[2])
        self.assertEqual((await store.events(seals[0].n, 10, [])).chain, b"")
        self.assertIs((await verify(store)), None)

    async def test_gone(self) -> None:
        """Who reads over what retention has removed learns it, page by page, and of its own devices alone."""
        store = await self.opened()
        first, _ = [await self.sold(store, number) for number in (1, 2)]
        await self.sold(store, 3, OTHER)
        await self.sold(store, 4)
        anchor = (await store.chains())[0].anchor
        await store.cut(Cut(TILL, anchor, [first]))
        for limit, told_of, gone in ((10, ["tag 2", "tag 3", "tag 4"], True), (2, ["tag 2"], True)):
            page = await store.events(0, limit, [])
            self.assertEqual(([event.operation.key for event in page.events], page.gone), (told_of, gone))
        self.assertEqual((await store.events(0, 1, [])).until, 1)
        self.assertFalse((await store.events(1, 10, [])).gone)
        self.assertFalse((await store.events(0, 10, [OTHER])).gone)

    async def test_together(self) -> None:
        """A reader beside many devices that sell at once gets each once, in the order of its device."""
        store = await self.opened()
        devices, each = range(1, 9), 6

        async def sell(device_n: int) -> None:
            for number in range(each):
                await self.sold(store, 100 * device_n + number, device_n)

        async def read() -> list[EventRow]:
            found: list[EventRow] = []
            after = 0
            while len(found) < len(devices) * each:
                # What sells has its turn.
                await deferLater(reactor, 0)
                page = await store.events(after, 5, [])
                after = page.until
                found += page.events
            return found

        reading = Deferred.fromCoroutine(read())
        await gatherResults([Deferred.fromCoroutine(sell(device_n)) for device_n in devices], consumeErrors=True)
        found = await reading
        for device_n in devices:
            own = [event.operation.key for event in found if event.device_n == device_n]
            self.assertEqual(own, [f"tag {100 * device_n + number}" for number in range(each)])

    async def test_damaged(self) -> None:
        """An outcome that is none is told as damage, not left out."""
        store = await self.opened()
        await self.sold(store, 1)
        self.bypass("UPDATE seal SET event = 9")
        await self.refused(store.events(0, 10, []), StoreFailed)
