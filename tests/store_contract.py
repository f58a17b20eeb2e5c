"""What every store promises, one test for each promise; a module for one implementation adds how to open it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.trial.unittest import TestCase
from zope.interface.verify import verifyObject

from dmtwisted.store.interface import IStore
from dmtwisted.store.values import (
    DeviceRow,
    DocumentIntent,
    DocumentQuery,
    DocumentRow,
    FoundDocument,
    FoundDocuments,
    Intent,
    NameTaken,
    OperationRow,
    Outcome,
    Reserved,
    State,
    StoreFailed,
)
from tests.specification import promises

AT = 1_789_970_400_000
"""Monday, 21 September 2026, 09:00 in Kyiv, in milliseconds since 1970."""

TILL, OTHER = 1, 2
"""Numbers of two registers; the journal does not ask whether they exist."""

MEGABYTE = bytes(range(256)) * 4096
"""Every byte there is, none of which may be lost or translated."""

ODD_TEXTS = (
    "Каса №1 «Їжа»",
    "каса №1 «їжа»",
    "test",
    "Test",
    "test ",
    " test",
    "é",
    "e\u0301",
    "🧾🍵",
    'o\'Neil "x" \\ %_?;--',
    "two\nlines",
)
"""Texts of which no two are the same, however alike they look to a database that folds case or trims blanks."""


def paper(number: int, **changes: Any) -> DocumentIntent:
    """A sale about to be sent under the local ``number``."""
    members = {"kind": "sale", "shift": 1, "at": AT, "sum": 12550, "value": b'{"v":1}', "sent": b"<CHECK/>"}
    return DocumentIntent(number=number, **{**members, **changes})


def intent(device_n: int, key: str, *papers: DocumentIntent, **changes: Any) -> Intent:
    """A sale on ``device_n`` about to be sent under the tag ``key``."""
    members = {"kind": "fiscal", "task": 1, "fingerprint": b"\x00hash", "at": AT}
    return Intent(device_n=device_n, key=key, documents=list(papers), **{**members, **changes})


def outcome(n: int, state: State = State.DONE, **changes: Any) -> Outcome:
    """What became of the operation ``n`` of `TILL`, a second after its begin."""
    members = {
        "device_n": TILL,
        "at": AT + 1000,
        "res": 0,
        "answer": b"",
        "fiscal_numbers": {},
        "register_state": None,
    }
    return Outcome(n=n, state=state, **{**members, **changes})


def kept(meant: DocumentIntent, state: State, fiscal_number: str = "") -> DocumentRow:
    """The row that ``meant`` is kept as."""
    return DocumentRow(
        meant.number, meant.kind, meant.shift, meant.at, meant.sum, state, fiscal_number, meant.value, meant.sent
    )


def row(n: int, meant: Intent, state: State, *papers: DocumentRow, res: int = 0, answer: bytes = b"") -> OperationRow:
    """The row that ``meant`` is kept as under the number ``n``."""
    return OperationRow(
        n=n,
        device_n=meant.device_n,
        kind=meant.kind,
        task=meant.task,
        key=meant.key,
        fingerprint=meant.fingerprint,
        state=state,
        at=meant.at,
        res=res,
        answer=answer,
        documents=list(papers),
    )


class StoreCase(TestCase if TYPE_CHECKING else object):  # type: ignore[misc]
    """How the tests of a contract reach the store that they are about."""

    integrity_error: type[Exception]
    """What the database itself raises when a row is not allowed to be."""

    async def opened(self) -> IStore:
        """An empty store, ready to be asked; the end of the test closes it."""
        raise NotImplementedError("an implementation says how it is opened")

    def bypass(self, statement: str) -> None:
        """Run ``statement`` on the database behind the store's back."""
        raise NotImplementedError("an implementation says where its database is")

    async def refused(self, asked: Any, *reasons: type[Exception]) -> Exception:
        """The exception that ``asked`` ends in, which is one of ``reasons``."""
        failed: Exception = await self.assertFailure(Deferred.fromCoroutine(asked), *reasons)
        return failed

    async def operation(self, store: IStore, key: str, state: State, *papers: DocumentIntent, **changes: Any) -> int:
        """The number of a new operation of `TILL` that has come to ``state``."""
        number = (await store.reserve(intent(TILL, key, *papers, **changes))).n
        if state is not State.INTENDED:
            numbers = {each.number: f"F-{each.number}" for each in papers} if state is State.DONE else {}
            await store.conclude(outcome(number, state, answer=b"{}", fiscal_numbers=numbers))
        return number


class StoreContract(StoreCase):
    """Whatever the database."""

    async def test_interface(self) -> None:
        """A store has every verb of the interface, with its arguments."""
        self.assertTrue(verifyObject(IStore, await self.opened()))

    async def test_empty(self) -> None:
        """A new store knows of nothing, and says so in the shape of every verb."""
        store = await self.opened()
        self.assertEqual(await store.devices(), [])
        self.assertEqual(await store.settings(), {})
        self.assertIs(await store.find(TILL, "fiscal", "a"), None)
        self.assertEqual(await store.find_documents(DocumentQuery()), FoundDocuments(0, []))
        self.assertEqual(await store.sold_codes(TILL, 1), {})
        self.assertEqual(await store.unresolved(None), [])
        self.assertEqual(await store.unresolved(TILL), [])
        self.assertIs(await store.register_state(TILL), None)

    # Devices

    async def test_add_device(self) -> None:
        """A device is kept with everything that was said of it, and has a number."""
        store = await self.opened()
        added = await store.add_device("3b1f", "till", "register", "training", b'{"a":1}')
        self.assertEqual(added, DeviceRow(added.n, "3b1f", "till", "register", "training", b'{"a":1}'))
        self.assertGreater(added.n, 0)
        self.assertEqual(await store.devices(), [added])

    async def test_oldest_device_first(self) -> None:
        """Devices are listed in the order in which they were added, whatever their names."""
        store = await self.opened()
        for name in ("c", "a", "b"):
            await store.add_device(f"id-{name}", name, "printer", "training", b"{}")
        listed = await store.devices()
        self.assertEqual([device.name for device in listed], ["c", "a", "b"])
        self.assertEqual(sorted({device.n for device in listed}), [device.n for device in listed])

    @promises("2.1.device.3")
    async def test_name_taken(self) -> None:
        """A name that a device has is refused to another, whatever its kind, and nothing changes."""
        store = await self.opened()
        first = await store.add_device("id-1", "till", "register", "training", b"{}")
        taken = await self.refused(store.add_device("id-2", "till", "printer", "escpos", b"{}"), NameTaken)
        self.assertEqual(str(taken), "till")
        self.assertEqual(await store.devices(), [first])

    async def test_dev_id_taken(self) -> None:
        """Two devices never have the same GUID."""
        store = await self.opened()
        first = await store.add_device("id-1", "till", "register", "training", b"{}")
        await self.refused(store.add_device("id-1", "other", "register", "training", b"{}"), NameTaken, StoreFailed)
        self.assertEqual(await store.devices(), [first])

    @promises("2.1.device.1")
    async def test_any_name(self) -> None:
        """Names may be any, and those that differ in case, blanks or composition alone are different names."""
        store = await self.opened()
        for index, name in enumerate(ODD_TEXTS):
            await store.add_device(f"id-{index}", name, "register", "training", b"{}")
        self.assertEqual([device.name for device in await store.devices()], list(ODD_TEXTS))

    async def test_longest_name(self) -> None:
        """A name of 200 characters is kept whole, letters outside of the first plane included."""
        store = await self.opened()
        for index, name in enumerate(("Ї" * 200, "🧾" * 200)):
            await store.add_device(f"id-{index}", name, "register", "training", b"{}")
        self.assertEqual([device.name for device in await store.devices()], ["Ї" * 200, "🧾" * 200])

    async def test_change_device(self) -> None:
        """A device takes a new name and new settings; the rest of it and the other devices stay as they are."""
        store = await self.opened()
        first = await store.add_device("id-1", "till", "register", "training", b"{}")
        second = await store.add_device("id-2", "prn", "printer", "escpos", b"{}")
        await store.change_device(first.n, "каса", b'{"step":50}')
        changed = DeviceRow(first.n, "id-1", "каса", "register", "training", b'{"step":50}')
        self.assertEqual(await store.devices(), [changed, second])

    async def test_change_settings_of_device(self) -> None:
        """A device may keep its name when its settings change."""
        store = await self.opened()
        first = await store.add_device("id-1", "till", "register", "training", b"{}")
        await store.change_device(first.n, "till", b"[]")
        self.assertEqual(await store.devices(), [DeviceRow(first.n, "id-1", "till", "register", "training", b"[]")])

    @promises("2.1.device.3")
    async def test_change_to_taken_name(self) -> None:
        """A device cannot take the name of another one, and keeps its settings when it tries."""
        store = await self.opened()
        first = await store.add_device("id-1", "till", "register", "training", b"{}")
        second = await store.add_device("id-2", "prn", "printer", "escpos", b"{}")
        taken = await self.refused(store.change_device(second.n, "till", b"new"), NameTaken)
        self.assertEqual(str(taken), "till")
        self.assertEqual(await store.devices(), [first, second])

    async def test_remove_device(self) -> None:
        """A device that was removed is gone, and its name is free."""
        store = await self.opened()
        first = await store.add_device("id-1", "till", "register", "training", b"{}")
        second = await store.add_device("id-2", "prn", "printer", "escpos", b"{}")
        await store.remove_device(first.n)
        self.assertEqual(await store.devices(), [second])
        third = await store.add_device("id-3", "till", "register", "training", b"{}")
        self.assertEqual(await store.devices(), [second, third])

    async def test_number_never_used_again(self) -> None:
        """The number of a removed device is never given to another, or that one would inherit its history."""
        store = await self.opened()
        used: set[int] = set()
        for turn in range(3):
            added = await store.add_device(f"id-{turn}", "till", "register", "training", b"{}")
            self.assertNotIn(added.n, used)
            used.add(added.n)
            await store.remove_device(added.n)
        self.assertEqual(await store.devices(), [])

    async def test_history_outlives_device(self) -> None:
        """What a device did stays when it is removed."""
        store = await self.opened()
        device = await store.add_device("id-1", "till", "register", "training", b"{}")
        self.assertEqual(device.n, TILL)
        await self.operation(store, "done", State.DONE, paper(1))
        open_n = await self.operation(store, "open", State.INTENDED)
        await store.conclude(outcome(open_n, State.UNKNOWN, register_state=b"state"))
        await store.remove_device(device.n)
        found = await store.find(TILL, "fiscal", "done")
        assert found is not None
        self.assertEqual(found.answer, b"{}")
        self.assertEqual([known.n for known in await store.unresolved(TILL)], [open_n])
        self.assertEqual(await store.register_state(TILL), b"state")
        self.assertEqual((await store.find_documents(DocumentQuery(devices=[TILL]))).total, 1)

    # Settings

    async def test_settings(self) -> None:
        """A setting is changed or added, and the others stay as they were."""
        store = await self.opened()
        await store.change_settings({"a": b"1", "b": b"2"})
        await store.change_settings({"b": b"3", "c": b""})
        self.assertEqual(await store.settings(), {"a": b"1", "b": b"3", "c": b""})

    async def test_no_changes(self) -> None:
        """To change nothing is no mistake."""
        store = await self.opened()
        await store.change_settings({"a": b"1"})
        await store.change_settings({})
        self.assertEqual(await store.settings(), {"a": b"1"})

    async def test_any_setting(self) -> None:
        """Names and values of settings are kept byte for byte."""
        store = await self.opened()
        changes = {text: text.encode() for text in ODD_TEXTS}
        await store.change_settings(changes)
        self.assertEqual(await store.settings(), changes)

    # Intents

    async def test_reserve(self) -> None:
        """An intent is kept whole, its documents in their order, before anything happens."""
        store = await self.opened()
        papers = (paper(8, kind="z"), paper(7, kind="close", shift=2, at=AT + 5, sum=-1, value=b"", sent=b"\xff"))
        meant = intent(TILL, "Z-1", *papers, task=11, fingerprint=b"", at=AT + 4)
        reserved = await store.reserve(meant)
        self.assertEqual(reserved, Reserved(reserved.n, None))
        self.assertEqual(
            await store.unresolved(TILL),
            [row(reserved.n, meant, State.INTENDED, *(kept(each, State.INTENDED) for each in papers))],
        )

    async def test_numbers_grow(self) -> None:
        """A later operation has a higher number, so that the journal has an order."""
        store = await self.opened()
        numbers = [await self.operation(store, key, State.INTENDED) for key in "abc"]
        self.assertEqual(numbers, sorted(set(numbers)))

    @promises("2.2.tag.1", "2.2.tag.3", "1.10.1.1")
    async def test_known_key(self) -> None:
        """A tag that is under way, unknown or done is not reserved again: the row that has it is returned."""
        store = await self.opened()
        for number, state in enumerate((State.INTENDED, State.UNKNOWN, State.DONE), 1):
            first = intent(TILL, state, paper(number))
            n = (await store.reserve(first)).n
            answer = b'{"res":0}' if state is State.DONE else b""
            fiscal_numbers = {number: "F"} if state is State.DONE else {}
            if state is not State.INTENDED:
                await store.conclude(outcome(n, state, res=1084, answer=answer, fiscal_numbers=fiscal_numbers))
            known = row(
                n,
                first,
                state,
                kept(first.documents[0], state, fiscal_numbers.get(number, "")),
                res=0 if state is State.INTENDED else 1084,
                answer=answer,
            )
            again = await store.reserve(intent(TILL, state, paper(100), task=2, fingerprint=b"other"))
            self.assertEqual(again, Reserved(n, known))
        self.assertEqual(len(await store.unresolved(None)), 2)

    async def test_known_key_keeps_nothing(self) -> None:
        """Of an intent whose tag is known not even the documents stay: their numbers are free."""
        store = await self.opened()
        await store.reserve(intent(TILL, "a", paper(1)))
        await store.reserve(intent(TILL, "a", paper(2)))
        self.assertIs((await store.reserve(intent(TILL, "b", paper(2)))).known, None)

    @promises("3.2.1.3")
    async def test_refused_key(self) -> None:
        """A tag whose operation was refused is free again, as often as it takes."""
        store = await self.opened()
        first = await self.operation(store, "a", State.REFUSED)
        second = await self.operation(store, "a", State.REFUSED)
        third = await store.reserve(intent(TILL, "a"))
        self.assertIs(third.known, None)
        self.assertEqual(len({first, second, third.n}), 3)
        self.assertEqual((await store.reserve(intent(TILL, "a"))).n, third.n)

    @promises("2.2.tag.4")
    async def test_key_of_another_device(self) -> None:
        """Two registers may use the same tag without minding each other."""
        store = await self.opened()
        first = await store.reserve(intent(TILL, "a", paper(1)))
        second = await store.reserve(intent(OTHER, "a", paper(1)))
        self.assertEqual((first.known, second.known), (None, None))
        self.assertEqual([known.n for known in await store.unresolved(OTHER)], [second.n])

    async def test_key_of_another_kind(self) -> None:
        """The key of a payment is no tag of a receipt."""
        store = await self.opened()
        await store.reserve(intent(TILL, "a", kind="pay"))
        self.assertIs((await store.reserve(intent(TILL, "a"))).known, None)

    @promises("2.2.transaction_id.3")
    async def test_label_of_payments(self) -> None:
        """Several payments of a terminal may bear the same label."""
        store = await self.opened()
        labels = [await store.reserve(intent(TILL, "5d0b", kind="pay")) for _ in range(3)]
        self.assertEqual([reserved.known for reserved in labels], [None] * 3)
        self.assertEqual([known.n for known in await store.unresolved(TILL)], [reserved.n for reserved in labels])

    async def test_longest_key(self) -> None:
        """Tags of 200 characters are kept whole and told apart by the last of them."""
        store = await self.opened()
        for letter in ("Ї", "🧾"):
            keys = [letter * 199 + last for last in "ab"]
            numbers = [await self.operation(store, key, State.DONE) for key in keys]
            for key, n in zip(keys, numbers, strict=True):
                found = await store.find(TILL, "fiscal", key)
                assert found is not None
                self.assertEqual((found.n, found.key), (n, key))

    async def test_any_key(self) -> None:
        """Tags that differ in case, blanks or composition alone are different tags."""
        store = await self.opened()
        numbers = [await self.operation(store, key, State.DONE) for key in ODD_TEXTS]
        self.assertEqual(len(set(numbers)), len(ODD_TEXTS))
        for key, n in zip(ODD_TEXTS, numbers, strict=True):
            found = await store.find(TILL, "fiscal", key)
            assert found is not None
            self.assertEqual((found.n, found.key), (n, key))

    async def test_same_key_at_once(self) -> None:
        """Of many who reserve a tag at the same time one has it, and all the others are given that row."""
        store = await self.opened()
        meant = intent(TILL, "a", paper(1))
        asked = [Deferred.fromCoroutine(store.reserve(meant)) for _ in range(20)]
        reserved: list[Reserved] = await gatherResults(asked)
        (n,) = {each.n for each in reserved}
        known = row(n, meant, State.INTENDED, kept(meant.documents[0], State.INTENDED))
        self.assertEqual([each.known for each in reserved].count(None), 1)
        self.assertEqual([each.known for each in reserved].count(known), 19)
        self.assertEqual(await store.unresolved(None), [known])

    async def test_many_at_once(self) -> None:
        """Many who reserve different tags at the same time have a number each, and all are kept."""
        store = await self.opened()
        meant = [intent(TILL, f"tag {number}", paper(number)) for number in range(100)]
        asked = [Deferred.fromCoroutine(store.reserve(each)) for each in meant]
        reserved: list[Reserved] = await gatherResults(asked)
        expected = [
            row(each.n, one, State.INTENDED, kept(one.documents[0], State.INTENDED))
            for each, one in zip(reserved, meant, strict=True)
        ]
        self.assertEqual(sorted(await store.unresolved(TILL), key=lambda known: known.n), expected)

    # Local numbers

    async def test_number_taken(self) -> None:
        """A local number is used once: an intent with a used one fails, and nothing of it stays."""
        store = await self.opened()
        for state, key in ((State.INTENDED, "a"), (State.UNKNOWN, "b"), (State.DONE, "c")):
            number = ord(key)
            n = await self.operation(store, key, state, paper(number))
            before = await store.unresolved(None)
            await self.refused(store.reserve(intent(TILL, f"late {key}", paper(1000), paper(number))), StoreFailed)
            self.assertEqual(await store.unresolved(None), before, state)
            self.assertEqual((await store.reserve(intent(TILL, key))).n, n)
        again = await store.reserve(intent(TILL, "late a", paper(1000)))
        self.assertIs(again.known, None)

    async def test_number_twice_in_one_intent(self) -> None:
        """An intent cannot use one number for two documents."""
        store = await self.opened()
        await self.refused(store.reserve(intent(TILL, "a", paper(1), paper(1))), StoreFailed)
        self.assertEqual(await store.unresolved(None), [])

    async def test_number_of_refused_document(self) -> None:
        """A refused document gives its number back."""
        store = await self.opened()
        await self.operation(store, "a", State.REFUSED, paper(1))
        self.assertIs((await store.reserve(intent(TILL, "b", paper(1)))).known, None)

    # Outcomes

    @promises("3.3.1.1")
    async def test_done(self) -> None:
        """An operation that is done has its answer byte for byte, and its documents their fiscal numbers."""
        store = await self.opened()
        meant = intent(TILL, "a", paper(1), paper(2))
        n = (await store.reserve(meant)).n
        answer = '{"res":0,"errortxt":"","info":{"qr":"Ї🧾"}}'.encode()
        await store.conclude(outcome(n, answer=answer, fiscal_numbers={1: "TEST_1", 2: "TEST_2"}))
        done = row(
            n,
            meant,
            State.DONE,
            kept(meant.documents[0], State.DONE, "TEST_1"),
            kept(meant.documents[1], State.DONE, "TEST_2"),
            answer=answer,
        )
        self.assertEqual(await store.find(TILL, "fiscal", "a"), done)
        self.assertEqual(await store.unresolved(None), [])

    @promises("3.3.only-success")
    async def test_refused(self) -> None:
        """An operation that was refused is neither found nor unresolved, and none of its documents is."""
        store = await self.opened()
        n = await self.operation(store, "a", State.INTENDED, paper(1), paper(2))
        await store.conclude(outcome(n, State.REFUSED, res=1034))
        self.assertIs(await store.find(TILL, "fiscal", "a"), None)
        self.assertEqual(await store.unresolved(None), [])
        self.assertEqual((await store.find_documents(DocumentQuery())).total, 0)

    async def test_unknown(self) -> None:
        """An operation of which nobody knows is unresolved, with its result and its documents."""
        store = await self.opened()
        meant = intent(TILL, "a", paper(1))
        n = (await store.reserve(meant)).n
        await store.conclude(outcome(n, State.UNKNOWN, res=1084))
        self.assertEqual(
            await store.unresolved(None),
            [row(n, meant, State.UNKNOWN, kept(meant.documents[0], State.UNKNOWN), res=1084)],
        )
        self.assertIs(await store.find(TILL, "fiscal", "a"), None)

    async def test_settled_later(self) -> None:
        """What was unknown can be concluded again when it is known."""
        store = await self.opened()
        for key, number, state in (("a", 1, State.DONE), ("b", 2, State.REFUSED)):
            n = await self.operation(store, key, State.UNKNOWN, paper(number))
            await store.conclude(outcome(n, state, answer=b"{}"))
        self.assertEqual(await store.unresolved(None), [])
        found = await store.find(TILL, "fiscal", "a")
        assert found is not None
        self.assertEqual((found.state, found.answer), (State.DONE, b"{}"))
        self.assertIs(await store.find(TILL, "fiscal", "b"), None)

    async def test_empty_answer(self) -> None:
        """An operation without an answer has an empty one."""
        store = await self.opened()
        n = await self.operation(store, "a", State.INTENDED)
        await store.conclude(outcome(n, answer=b""))
        found = await store.find(TILL, "fiscal", "a")
        assert found is not None
        self.assertEqual((found.answer, found.documents), (b"", []))

    async def test_other_operations_stay(self) -> None:
        """An outcome is that of one operation; its neighbours stay as they are."""
        store = await self.opened()
        neighbours = [
            await self.operation(store, "before", State.INTENDED, paper(1)),
            await self.operation(store, "meant", State.INTENDED, paper(2)),
            await self.operation(store, "after", State.UNKNOWN, paper(3)),
        ]
        before = await store.unresolved(None)
        await store.conclude(outcome(neighbours[1], fiscal_numbers={2: "F"}))
        self.assertEqual(await store.unresolved(None), [before[0], before[2]])

    async def test_register_state(self) -> None:
        """The state of a register is that of its last outcome that brought one; registers have one each."""
        store = await self.opened()
        n = await self.operation(store, "a", State.INTENDED)
        await store.conclude(outcome(n, register_state=b"first"))
        self.assertEqual(await store.register_state(TILL), b"first")
        await store.conclude(outcome(n, register_state=None))
        self.assertEqual(await store.register_state(TILL), b"first")
        await store.conclude(outcome(n, register_state=b"second"))
        await store.conclude(outcome(n, device_n=OTHER, register_state=b""))
        self.assertEqual(await store.register_state(TILL), b"second")
        self.assertEqual(await store.register_state(OTHER), b"")

    async def test_all_or_nothing(self) -> None:
        """An outcome that cannot be kept whole leaves operation, documents and register as they were."""
        store = await self.opened()
        first = await self.operation(store, "a", State.REFUSED, paper(1), paper(2))
        await self.operation(store, "b", State.UNKNOWN, paper(2))
        await store.conclude(outcome(first, State.REFUSED, register_state=b"before"))
        # The second document's number belongs to somebody else by now.
        late = outcome(first, fiscal_numbers={1: "F-1", 2: "F-2"}, register_state=b"after", shift=1, sold={"code": 1})
        await self.refused(store.conclude(late), StoreFailed)
        self.assertIs(await store.find(TILL, "fiscal", "a"), None)
        self.assertEqual((await store.find_documents(DocumentQuery())).total, 0)
        self.assertEqual(await store.register_state(TILL), b"before")
        self.assertEqual(await store.sold_codes(TILL, 1), {})
        self.assertIs((await store.reserve(intent(TILL, "a", paper(1)))).known, None)

    @promises("2.2.tag.3")
    async def test_two_successes(self) -> None:
        """A refused operation cannot be called done once its tag has gone to another."""
        store = await self.opened()
        first = await self.operation(store, "a", State.REFUSED)
        second = await self.operation(store, "a", State.DONE)
        await self.refused(store.conclude(outcome(first, answer=b"late")), StoreFailed)
        found = await store.find(TILL, "fiscal", "a")
        assert found is not None
        self.assertEqual((found.n, found.answer), (second, b"{}"))

    # Documents of one operation

    async def test_accept_document(self) -> None:
        """Of several documents one is accepted; the others and the operation stay as they are."""
        store = await self.opened()
        meant = intent(TILL, "Z", paper(1, kind="z"), paper(2, kind="close"))
        n = (await store.reserve(meant)).n
        await store.accept_document(n, 1, "TEST_1")
        z, close = meant.documents
        self.assertEqual(
            await store.unresolved(None),
            [row(n, meant, State.INTENDED, kept(z, State.DONE, "TEST_1"), kept(close, State.INTENDED))],
        )

    async def test_accepted_stays_accepted(self) -> None:
        """A document that was accepted stays so, whatever became of the ones after it."""
        store = await self.opened()
        for number, state in ((1, State.UNKNOWN), (3, State.REFUSED)):
            n = await self.operation(store, state, State.INTENDED, paper(number), paper(number + 1))
            await store.accept_document(n, number, f"F-{number}")
            await store.conclude(outcome(n, state))
        (unknown,) = await store.unresolved(None)
        self.assertEqual(
            [(each.state, each.fiscal_number) for each in unknown.documents],
            [(State.DONE, "F-1"), (State.UNKNOWN, "")],
        )
        await self.refused(store.reserve(intent(TILL, "late", paper(3))), StoreFailed)
        self.assertIs((await store.reserve(intent(TILL, "late", paper(4)))).known, None)

    async def test_same_numbers_of_another_register(self) -> None:
        """An accepted document is that of its operation, not its namesake of another register."""
        store = await self.opened()
        mine = await self.operation(store, "a", State.INTENDED, paper(1))
        theirs = intent(OTHER, "a", paper(1))
        other = (await store.reserve(theirs)).n
        await store.accept_document(mine, 1, "F")
        self.assertEqual(
            await store.unresolved(OTHER), [row(other, theirs, State.INTENDED, kept(paper(1), State.INTENDED))]
        )

    # Look-ups

    async def test_unresolved_order(self) -> None:
        """What is unresolved comes oldest first, of all devices or of one."""
        store = await self.opened()
        expected: list[int] = []
        for device_n in (OTHER, TILL, OTHER):
            expected.append((await store.reserve(intent(device_n, f"tag {len(expected)}"))).n)
        await self.operation(store, "done", State.DONE)
        await self.operation(store, "refused", State.REFUSED)
        expected.append(await self.operation(store, "unknown", State.UNKNOWN))
        # A later outcome does not make an operation younger.
        await store.conclude(outcome(expected[0], State.UNKNOWN, device_n=OTHER))
        self.assertEqual([known.n for known in await store.unresolved(None)], expected)
        self.assertEqual([known.n for known in await store.unresolved(TILL)], [expected[1], expected[3]])
        self.assertEqual([known.n for known in await store.unresolved(OTHER)], [expected[0], expected[2]])
        self.assertEqual(await store.unresolved(3), [])

    @promises("3.3.only-success", "3.3.1.5")
    async def test_find_only_done(self) -> None:
        """Only what is done is found, and only under its device, its kind and its key."""
        store = await self.opened()
        n = await self.operation(store, "a", State.DONE)
        for key, state in (("b", State.INTENDED), ("c", State.UNKNOWN), ("d", State.REFUSED)):
            await self.operation(store, key, state)
            self.assertIs(await store.find(TILL, "fiscal", key), None)
        found = await store.find(TILL, "fiscal", "a")
        assert found is not None
        self.assertEqual(found.n, n)
        self.assertIs(await store.find(OTHER, "fiscal", "a"), None)
        self.assertIs(await store.find(TILL, "pay", "a"), None)
        self.assertIs(await store.find(TILL, "fiscal", "A"), None)

    @promises("2.2.transaction_id.4")
    async def test_find_latest(self) -> None:
        """Of several payments under one label the latest that is done is found."""
        store = await self.opened()
        await self.operation(store, "5d0b", State.DONE, kind="pay")
        latest = await self.operation(store, "5d0b", State.DONE, kind="pay", at=AT + 1)
        await self.operation(store, "5d0b", State.REFUSED, kind="pay", at=AT + 2)
        await self.operation(store, "5d0b", State.UNKNOWN, kind="pay", at=AT + 3)
        found = await store.find(TILL, "pay", "5d0b")
        assert found is not None
        self.assertEqual((found.n, found.at), (latest, AT + 1))

    async def _documents(self, store: IStore) -> None:
        """Accepted documents of two registers, and some that were not accepted."""
        for number, kind, shift, at in (
            (1, "open", 1, AT),
            (2, "sale", 1, AT + 10),
            (3, "z", 1, AT + 20),
            (4, "sale", 2, AT + 20),
            (5, "z", 2, AT + 30),
        ):
            meant = paper(number, kind=kind, shift=shift, at=at, value=b"%d" % number)
            await self.operation(store, f"tag {number}", State.DONE, meant)
        other = (await store.reserve(intent(OTHER, "a", paper(1, at=AT + 15)))).n
        await store.conclude(outcome(other, device_n=OTHER, answer=b"other", fiscal_numbers={1: "X-1"}))
        await self.operation(store, "intended", State.INTENDED, paper(6))
        await self.operation(store, "unknown", State.UNKNOWN, paper(7))
        await self.operation(store, "refused", State.REFUSED, paper(8))

    async def test_found_document(self) -> None:
        """A document is found with its fiscal number, its own value and the answer of its operation."""
        store = await self.opened()
        await self._documents(store)
        self.assertEqual(
            await store.find_documents(DocumentQuery(devices=[OTHER])),
            FoundDocuments(1, [FoundDocument(OTHER, 1, "sale", AT + 15, "X-1", b'{"v":1}', b"other")]),
        )

    async def test_accepted_part_of_operation(self) -> None:
        """An accepted document is found even while its operation is unknown and has no answer."""
        store = await self.opened()
        n = await self.operation(store, "Z", State.INTENDED, paper(1), paper(2))
        await store.accept_document(n, 1, "F-1")
        await store.conclude(outcome(n, State.UNKNOWN))
        self.assertEqual(
            await store.find_documents(DocumentQuery()),
            FoundDocuments(1, [FoundDocument(TILL, 1, "sale", AT, "F-1", b'{"v":1}', b"")]),
        )

    async def test_documents_by_time(self) -> None:
        """Accepted documents come newest first or oldest first; at the same time the journal's order decides."""
        store = await self.opened()
        await self._documents(store)
        oldest_first = [(TILL, 1), (TILL, 2), (OTHER, 1), (TILL, 3), (TILL, 4), (TILL, 5)]
        for newest_first in (True, False):
            found = await store.find_documents(DocumentQuery(newest_first=newest_first))
            self.assertEqual(found.total, 6)
            self.assertEqual(
                [(each.device_n, each.number) for each in found.documents],
                oldest_first[::-1] if newest_first else oldest_first,
            )

    async def test_narrowed_documents(self) -> None:
        """Each member of a query narrows what is found, ends included, and several narrow it together."""
        store = await self.opened()
        await self._documents(store)
        for query, expected in (
            (DocumentQuery(devices=[TILL]), [5, 4, 3, 2, 1]),
            (DocumentQuery(devices=[TILL, OTHER], kinds=["sale"]), [4, 1, 2]),
            (DocumentQuery(kinds=["z"]), [5, 3]),
            (DocumentQuery(kinds=["z", "open"]), [5, 3, 1]),
            (DocumentQuery(fiscal_number="F-2"), [2]),
            (DocumentQuery(fiscal_number="X-2"), []),
            (DocumentQuery(shift_from=2), [5, 4]),
            (DocumentQuery(shift_to=1), [3, 1, 2, 1]),
            (DocumentQuery(shift_from=1, shift_to=1, kinds=["z"]), [3]),
            (DocumentQuery(at_from=AT + 20), [5, 4, 3]),
            (DocumentQuery(at_to=AT + 10), [2, 1]),
            (DocumentQuery(at_from=AT + 10, at_to=AT + 15), [1, 2]),
            (DocumentQuery(devices=[3]), []),
        ):
            found = await store.find_documents(query)
            self.assertEqual([each.number for each in found.documents], expected, query)
            self.assertEqual(found.total, len(expected), query)

    async def test_pages_of_documents(self) -> None:
        """A page has as many documents as it may, and tells how many there are in all."""
        store = await self.opened()
        await self._documents(store)
        for limit, offset, expected in ((2, 0, [5, 4]), (2, 2, [3, 1]), (2, 5, [1]), (2, 6, []), (0, 0, [])):
            found = await store.find_documents(DocumentQuery(limit=limit, offset=offset))
            self.assertEqual([each.number for each in found.documents], expected)
            self.assertEqual(found.total, 6)

    async def test_sold_codes(self) -> None:
        """A shift knows the item codes that it sold with their first tax group; other shifts and registers do not."""
        store = await self.opened()
        n = await self.operation(store, "a", State.INTENDED)
        await store.conclude(outcome(n, shift=7, sold={"1": 1, "кава 🍵": 8}))
        await store.conclude(outcome(n, shift=7, sold={"1": 2, "2": 3}))
        await store.conclude(outcome(n, shift=8, sold={"1": 5}))
        self.assertEqual(await store.sold_codes(TILL, 7), {"1": 1, "кава 🍵": 8, "2": 3})
        self.assertEqual(await store.sold_codes(TILL, 8), {"1": 5})
        self.assertEqual(await store.sold_codes(OTHER, 7), {})

    # Sizes

    async def test_large_bodies(self) -> None:
        """Settings, documents, answers and states of a megabyte come back byte for byte."""
        store = await self.opened()
        device = await store.add_device("id-1", "till", "register", "training", MEGABYTE)
        self.assertEqual(await store.devices(), [device])
        self.assertEqual(device.settings, MEGABYTE)
        await store.change_settings({"logo": MEGABYTE})
        self.assertEqual(await store.settings(), {"logo": MEGABYTE})
        meant = intent(TILL, "a", paper(1, value=MEGABYTE, sent=MEGABYTE[::-1]))
        n = (await store.reserve(meant)).n
        await store.conclude(
            outcome(n, answer=MEGABYTE + b"!", fiscal_numbers={1: "F"}, register_state=b"?" + MEGABYTE)
        )
        self.assertEqual(
            await store.find(TILL, "fiscal", "a"),
            row(n, meant, State.DONE, kept(meant.documents[0], State.DONE, "F"), answer=MEGABYTE + b"!"),
        )
        self.assertEqual(await store.register_state(TILL), b"?" + MEGABYTE)

    async def test_large_figures(self) -> None:
        """Sums and times beyond 32 bits are kept, and sums below zero."""
        store = await self.opened()
        meant = intent(
            TILL,
            "a",
            paper(2**40, sum=10**17, at=2**44, shift=2**33),
            paper(0, sum=-(10**17)),
            at=2**44,
            task=2**31 - 1,
        )
        n = (await store.reserve(meant)).n
        self.assertEqual(
            await store.unresolved(TILL),
            [row(n, meant, State.INTENDED, *(kept(each, State.INTENDED) for each in meant.documents))],
        )

    # The database itself

    @promises("2.2.tag.3")
    async def test_tag_unique_in_database(self) -> None:
        """The database itself takes no second receipt under a tag, by whatever statement it comes."""
        store = await self.opened()
        copy = (
            'INSERT INTO operation (device_n, kind, task, "key", fingerprint, state, at) '
            "SELECT device_n, kind, task, \"key\", fingerprint, '{state}', at FROM operation WHERE n = {n}"
        )
        for key, state in (("a", State.INTENDED), ("b", State.UNKNOWN), ("c", State.DONE)):
            n = await self.operation(store, key, state)
            for second in (State.INTENDED, State.UNKNOWN, State.DONE):
                statement = copy.format(state=second, n=n)
                self.assertRaises(self.integrity_error, self.bypass, statement)
            self.bypass(copy.format(state=State.REFUSED, n=n))
        n = await self.operation(store, "5d0b", State.DONE, kind="pay")
        self.bypass(copy.format(state=State.DONE, n=n))

    async def test_number_unique_in_database(self) -> None:
        """The database itself takes no second document under a local number, unless one of them was refused."""
        store = await self.opened()
        n = await self.operation(store, "a", State.DONE, paper(1))
        copy = (
            "INSERT INTO document (operation_n, device_n, number, kind, shift, at, sum, state, value, sent) "
            "SELECT operation_n, device_n, number, kind, shift, at, sum, '{state}', value, sent FROM document "
            f"WHERE operation_n = {n}"
        )
        for second in (State.INTENDED, State.UNKNOWN, State.DONE):
            self.assertRaises(self.integrity_error, self.bypass, copy.format(state=second))
        self.bypass(copy.format(state=State.REFUSED))

    @promises("2.1.device.3")
    async def test_name_unique_in_database(self) -> None:
        """The database itself takes no second device of a name."""
        store = await self.opened()
        await store.add_device("id-1", "till", "register", "training", b"{}")
        copy = (
            "INSERT INTO device (dev_id, name, kind, driver, settings) "
            "SELECT '{dev_id}', '{name}', kind, driver, settings FROM device WHERE dev_id = 'id-1'"
        )
        self.assertRaises(self.integrity_error, self.bypass, copy.format(dev_id="id-2", name="till"))
        self.assertRaises(self.integrity_error, self.bypass, copy.format(dev_id="id-1", name="other"))
        self.bypass(copy.format(dev_id="id-2", name="other"))
        self.assertEqual([device.name for device in await store.devices()], ["till", "other"])
