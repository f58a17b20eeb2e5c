"""What every store promises, one test for each promise; a module for one implementation adds how to open it."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from twisted.internet.defer import Deferred, gatherResults
from twisted.trial.unittest import TestCase

from dmtwisted.store.interface import IStore
from dmtwisted.store.seals import GENESIS
from dmtwisted.store.values import (
    Change,
    Cut,
    DeadLetter,
    DeviceRow,
    DocumentIntent,
    DocumentQuery,
    DocumentRow,
    FoundDocument,
    FoundDocuments,
    HookCursor,
    Intent,
    Letter,
    MarkMove,
    Marks,
    MarkStep,
    NameTaken,
    OperationQuery,
    OperationRow,
    Outcome,
    Reserved,
    State,
    StoreFailed,
)
from dmtwisted.store.verification import verify
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
        ended_at=None if state is State.INTENDED else AT + 1000,
    )


CHANGE = Change("device", AT, b"{}", TILL)

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "devices": (),
    "add_device": ("id-1", "каса 🧾", "register", "training", b"\x00\xff", CHANGE),
    "change_device": (1, "каса 🧾", b"", None),
    "remove_device": (1, CHANGE),
    "settings": (),
    "change_settings": ({"ї": b"\x00", "": b""}, CHANGE),
    "record": (CHANGE,),
    "reserve": (intent(TILL, "Ї🧾", paper(1), paper(2, sum=-1, value=b"\xff")),),
    "conclude": (outcome(1, answer=b"{}", fiscal_numbers={1: "F"}, register_state=b"s", shift=1, sold={"ї": 1}),),
    "conclude_at_once": (
        intent(TILL, "Ї🧾 offline", paper(3, value=b"\xff")),
        outcome(0, answer=b"{}", fiscal_numbers={3: "F"}, register_state=b"s", shift=1, sold={"ї": 1}),
    ),
    "accept_document": (1, 2, "TEST_2"),
    "find": (1, "fiscal", "Ї🧾"),
    "note": (1, b"\x00how far"),
    "latest": (1, "pay", "Ї🧾"),
    "find_operations": (OperationQuery(devices=[1], kinds=["pay"], states=[State.UNKNOWN], key="Ї", n=1, at_to=2),),
    "find_documents": (DocumentQuery(devices=[1], kinds=["z"], shift_to=2, newest_first=False),),
    "sent_documents": (1, 2, 100),
    "sold_codes": (1, 2),
    "unresolved": (None,),
    "register_state": (1,),
    "find_marks": (["Ї🧾"],),
    "events": (0, 10, [1]),
    "last_event": (),
    "post": ([Letter("mail", 0, AT, b"\xff")],),
    "next_letter": (["mail"],),
    "take_letters": (["mail"], AT, AT + 1, 10),
    "put_letter": (1, AT, True, "Ї🧾"),
    "drop_letter": (1,),
    "find_letters": (["mail"], True, 10, 0),
    "hook_cursors": (),
    "keep_cursors": (
        [HookCursor("a" * 36, TILL, 7, AT, 2, AT, AT, "Ї🧾")],
        [DeadLetter(Letter("hook", 0, AT, b""), "5")],
    ),
    "drop_cursors": ("a" * 36,),
    "chains": (),
    "seals": (0, 100),
    "concluded": (0, 100),
    "aged": (0, 100),
    "cut": (Cut(TILL, GENESIS, [], [], {}),),
    "forget_codes": (TILL, 1),
    "forget_marks": (AT, 10),
}
"""Each verb with something to ask."""


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

    async def found(self, store: IStore, key: str, kind: str = "fiscal") -> OperationRow:
        """The receipt of `TILL` that is done under ``key``."""
        found = await store.find(TILL, kind, key)
        assert found is not None, key
        return found


class StoreContract(StoreCase):
    """Whatever the database."""

    async def test_empty(self) -> None:
        """A new store has every verb of the interface, knows of nothing, and says so in the shape of each."""
        store = await self.opened()
        self.assertIsInstance(store, IStore)
        self.assertEqual(await store.devices(), [])
        self.assertEqual(await store.settings(), {})
        self.assertIs(await store.find(TILL, "fiscal", "a"), None)
        self.assertEqual(await store.find_documents(DocumentQuery()), FoundDocuments(0, []))
        self.assertEqual(await store.sent_documents(TILL, 0, 100), [])
        self.assertEqual(await store.sold_codes(TILL, 1), {})
        self.assertEqual(await store.unresolved(None), [])
        self.assertEqual(await store.unresolved(TILL), [])
        self.assertIs(await store.register_state(TILL), None)

    # Devices and settings

    @promises("2.1.device.1")
    async def test_add_device(self) -> None:
        """A device is kept as it was described, under any name; devices are listed in the order of their coming."""
        store = await self.opened()
        names = (*ODD_TEXTS, "Ї" * 200, "🧾" * 200, "a")
        added = [await store.add_device(f"id-{i}", name, "printer", "escpos", b"{}") for i, name in enumerate(names)]
        self.assertEqual(
            added,
            [
                DeviceRow(device.n, f"id-{i}", name, "printer", "escpos", b"{}")
                for i, (device, name) in enumerate(zip(added, names, strict=True))
            ],
        )
        self.assertEqual(await store.devices(), added)

    @promises("2.1.device.3")
    async def test_name_taken(self) -> None:
        """A name or GUID that a device has is refused to another, new or renamed, and nothing changes."""
        store = await self.opened()
        first = await store.add_device("id-1", "till", "register", "training", b"{}")
        second = await store.add_device("id-2", "prn", "printer", "escpos", b"{}")
        for asked in (
            store.add_device("id-3", "till", "printer", "escpos", b"{}"),
            store.change_device(second.n, "till", b"new"),
        ):
            self.assertEqual(str(await self.refused(asked, NameTaken)), "till")
        await self.refused(store.add_device("id-1", "other", "register", "training", b"{}"), NameTaken, StoreFailed)
        self.assertEqual(await store.devices(), [first, second])

    async def test_change_device(self) -> None:
        """A device takes new settings, with a new name or its own; the rest of it and the others stay."""
        store = await self.opened()
        first = await store.add_device("id-1", "till", "register", "training", b"{}")
        second = await store.add_device("id-2", "prn", "printer", "escpos", b"{}")
        for name in ("till", "каса"):
            await store.change_device(first.n, name, name.encode())
            changed = DeviceRow(first.n, "id-1", name, "register", "training", name.encode())
            self.assertEqual(await store.devices(), [changed, second])

    async def test_remove_device(self) -> None:
        """A removed device leaves its name to others, but never its number: they would inherit its history."""
        store = await self.opened()
        stays = await store.add_device("id", "prn", "printer", "escpos", b"{}")
        used: set[int] = set()
        for turn in range(3):
            added = await store.add_device(f"id-{turn}", "till", "register", "training", b"{}")
            self.assertNotIn(added.n, used)
            used.add(added.n)
            await store.remove_device(added.n)
            self.assertEqual(await store.devices(), [stays])

    async def test_history_outlives_device(self) -> None:
        """What a device did stays when it is removed."""
        store = await self.opened()
        device = await store.add_device("id-1", "till", "register", "training", b"{}")
        self.assertEqual(device.n, TILL)
        await self.operation(store, "done", State.DONE, paper(1))
        open_n = await self.operation(store, "open", State.INTENDED)
        await store.conclude(outcome(open_n, State.UNKNOWN, register_state=b"state"))
        await store.remove_device(device.n)
        self.assertEqual((await self.found(store, "done")).answer, b"{}")
        self.assertEqual([known.n for known in await store.unresolved(TILL)], [open_n])
        self.assertEqual(await store.register_state(TILL), b"state")
        self.assertEqual((await store.find_documents(DocumentQuery(devices=[TILL]))).total, 1)

    async def test_settings(self) -> None:
        """Settings are kept byte for byte; a change sets what it names, which may be nothing, and no others."""
        store = await self.opened()
        settings = {text: text.encode() for text in ODD_TEXTS}
        for changes in (settings, {"test": b"new", "more": b""}, {}):
            await store.change_settings(changes)
        self.assertEqual(await store.settings(), {**settings, "test": b"new", "more": b""})

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
        # Nor has the number of its document been used up.
        self.assertIs((await store.reserve(intent(TILL, "next", paper(100)))).known, None)

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

    @promises("2.2.tag.4", "2.2.transaction_id.3")
    async def test_keys_apart(self) -> None:
        """Registers have tags of their own; the label of a payment is no tag, and several payments may bear it."""
        store = await self.opened()
        for meant in (
            intent(TILL, "a", paper(1)),
            intent(OTHER, "a", paper(1)),
            intent(TILL, "a", kind="pay"),
            intent(TILL, "a", kind="pay"),
        ):
            self.assertIs((await store.reserve(meant)).known, None)
        self.assertEqual(len(await store.unresolved(TILL)), 3)
        self.assertEqual(len(await store.unresolved(OTHER)), 1)

    async def test_any_key(self) -> None:
        """Tags of up to 200 characters are kept whole, and are different when anything in them is."""
        store = await self.opened()
        keys = (*ODD_TEXTS, *(letter * 199 + last for letter in "Ї🧾" for last in "ab"))
        numbers = [await self.operation(store, key, State.DONE) for key in keys]
        self.assertEqual(numbers, sorted(set(numbers)))
        for key, n in zip(keys, numbers, strict=True):
            found = await self.found(store, key)
            self.assertEqual((found.n, found.key), (n, key))

    async def test_at_once(self) -> None:
        """Of many who reserve the same tag at the same time one has it; those with other tags all have theirs."""
        store = await self.opened()
        meant = [intent(TILL, f"tag {number}", paper(number)) for number in range(50)]
        asked = [Deferred.fromCoroutine(store.reserve(each)) for each in meant for _ in range(5)]
        reserved: list[Reserved] = await gatherResults(asked)
        expected = []
        for one, same in zip(meant, (reserved[start : start + 5] for start in range(0, 250, 5)), strict=True):
            (n,) = {each.n for each in same}
            known = row(n, one, State.INTENDED, kept(one.documents[0], State.INTENDED))
            self.assertEqual(sorted((each.known for each in same), key=bool), [None, *[known] * 4])
            expected.append(known)
        self.assertEqual(await store.unresolved(TILL), sorted(expected, key=lambda known: known.n))

    async def test_number_taken(self) -> None:
        """A local number is used once: an intent with a used one fails, and nothing of it stays."""
        store = await self.opened()
        for number, state in enumerate((State.INTENDED, State.UNKNOWN, State.DONE), 1):
            await self.operation(store, state, state, paper(number))
            before = await store.unresolved(None)
            for taken in (number, 1000):
                late = intent(TILL, "late", paper(1000), paper(taken))
                await self.refused(store.reserve(late), StoreFailed)
            self.assertEqual(await store.unresolved(None), before)
        self.assertIs((await store.reserve(intent(TILL, "late", paper(1000)))).known, None)

    async def test_number_of_refused_document(self) -> None:
        """A refused document gives its number back."""
        store = await self.opened()
        await self.operation(store, "a", State.REFUSED, paper(1))
        self.assertIs((await store.reserve(intent(TILL, "b", paper(1)))).known, None)

    async def test_too_large_a_number(self) -> None:
        """A number or text that no database holds fails its own verb, and nothing of that verb stays."""
        store = await self.opened()
        for large in (2**63, 2**64, -(2**63) - 1):
            await self.refused(store.reserve(intent(TILL, "a", paper(1), paper(2, sum=large))), StoreFailed)
        await self.refused(store.reserve(intent(TILL, "\ud800")), StoreFailed)
        self.assertEqual(await store.unresolved(None), [])
        self.assertIs((await store.reserve(intent(TILL, "a", paper(1)))).known, None)

    # Outcomes

    @promises("3.3.1.1")
    async def test_done(self) -> None:
        """An operation that is done has its answer byte for byte, and its documents their fiscal numbers."""
        store = await self.opened()
        meant = intent(TILL, "a", paper(1), paper(2))
        n = (await store.reserve(meant)).n
        papers = [kept(each, State.DONE, f"TEST_{each.number}") for each in meant.documents]
        for answer in (b"", '{"res":0,"errortxt":"","info":{"qr":"Ї🧾"}}'.encode()):
            await store.conclude(outcome(n, answer=answer, fiscal_numbers={1: "TEST_1", 2: "TEST_2"}))
            self.assertEqual(await self.found(store, "a"), row(n, meant, State.DONE, *papers, answer=answer))
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
        """An operation of unknown outcome is unresolved, with its documents, until it is concluded again."""
        store = await self.opened()
        for number, state in ((1, State.DONE), (2, State.REFUSED)):
            meant = intent(TILL, state, paper(number))
            n = (await store.reserve(meant)).n
            await store.conclude(outcome(n, State.UNKNOWN, res=1084))
            unknown = row(n, meant, State.UNKNOWN, kept(meant.documents[0], State.UNKNOWN), res=1084)
            self.assertEqual(await store.unresolved(None), [unknown])
            self.assertIs(await store.find(TILL, "fiscal", state), None)
            await store.conclude(outcome(n, state, answer=b"{}"))
            self.assertEqual(await store.unresolved(None), [])
        found = await self.found(store, State.DONE)
        self.assertEqual((found.state, found.answer), (State.DONE, b"{}"))
        self.assertIs(await store.find(TILL, "fiscal", State.REFUSED), None)

    async def test_opened_again(self) -> None:
        """An operation that was refused too early can be opened again, with its documents, and concluded again."""
        store = await self.opened()
        meant = intent(TILL, "a", paper(1))
        n = (await store.reserve(meant)).n
        await store.conclude(outcome(n, State.REFUSED, res=1084))
        await store.conclude(outcome(n, State.UNKNOWN, res=1084))
        unknown = row(n, meant, State.UNKNOWN, kept(meant.documents[0], State.UNKNOWN), res=1084)
        self.assertEqual(await store.unresolved(TILL), [unknown])
        await store.conclude(outcome(n, State.DONE, answer=b"{}"))
        self.assertEqual((await self.found(store, "a")).answer, b"{}")

    async def test_other_operations_stay(self) -> None:
        """An outcome is that of one operation; its neighbours stay as they are."""
        store = await self.opened()
        await self.operation(store, "before", State.INTENDED, paper(1))
        n = await self.operation(store, "meant", State.INTENDED, paper(2))
        await self.operation(store, "after", State.UNKNOWN, paper(3))
        before = await store.unresolved(None)
        await store.conclude(outcome(n, fiscal_numbers={2: "F"}))
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
        # The second document's number is used by another operation by now.
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
        found = await self.found(store, "a")
        self.assertEqual((found.n, found.answer), (second, b"{}"))

    async def test_accept_document(self) -> None:
        """Of several documents one is accepted; the others, the operation and namesakes elsewhere stay as before."""
        store = await self.opened()
        meant = intent(TILL, "Z", paper(1, kind="z"), paper(2, kind="close"))
        theirs = intent(OTHER, "Z", paper(1))
        n, other = [(await store.reserve(each)).n for each in (meant, theirs)]
        await store.accept_document(n, 1, "TEST_1")
        z, close = meant.documents
        self.assertEqual(
            await store.unresolved(None),
            [
                row(n, meant, State.INTENDED, kept(z, State.DONE, "TEST_1"), kept(close, State.INTENDED)),
                row(other, theirs, State.INTENDED, kept(paper(1), State.INTENDED)),
            ],
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

    # Intent and outcome at once

    async def test_concluded_at_once(self) -> None:
        """An intent with its outcome leaves the same rows as one after the other, sealed."""
        store = await self.opened()
        made: dict[str, Any] = {"answer": b"{}", "register_state": b"s", "shift": 1, "sold": {"7": 1}}
        found = []
        for number, key in enumerate(("two", "one"), start=1):
            meant = intent(TILL, key, paper(number), paper(number + 10), request=b"way")
            result = outcome(0, **made, fiscal_numbers={number: "F-1", number + 10: "F-2"}, request=b"gone")
            if key == "two":
                n = (await store.reserve(meant)).n
                await store.conclude(replace(result, n=n))
            else:
                reserved = await store.conclude_at_once(meant, result)
                self.assertEqual((reserved.known, reserved.taken), (None, None))
                n = reserved.n
            each = await self.found(store, key)
            self.assertEqual(each.n, n)
            papers = [replace(one, number=one.number - number) for one in each.documents]
            found.append(replace(each, n=0, key="", documents=papers))
        self.assertEqual(found[0], found[1])
        self.assertEqual(await store.register_state(TILL), b"s")
        self.assertEqual(await store.sold_codes(TILL, 1), {"7": 1})
        self.assertEqual(await store.unresolved(TILL), [])
        self.assertIs(await verify(store), None)

    async def test_concluded_at_once_known(self) -> None:
        """A key that is there already is answered with its operation, and nothing of the outcome is stored."""
        store = await self.opened()
        await self.operation(store, "a", State.DONE, paper(1))
        known = await self.found(store, "a")
        result = outcome(0, register_state=b"s", fiscal_numbers={2: "F-2"})
        reserved = await store.conclude_at_once(intent(TILL, "a", paper(2)), result)
        self.assertEqual((reserved.n, reserved.known), (known.n, known))
        self.assertIs(await store.register_state(TILL), None)
        self.assertIs(await verify(store), None)

    async def test_concluded_at_once_wholly(self) -> None:
        """If its outcome cannot be stored, the intent is not there either, and both can be stored later."""
        store = await self.opened()
        await self.operation(store, "a", State.DONE, paper(1))
        meant, result = intent(TILL, "b", paper(2)), outcome(0, answer=b"{}", fiscal_numbers={2: "F-2"})
        await self.refused(store.conclude_at_once(meant, replace(result, res=2**70)), StoreFailed)
        await self.refused(
            store.conclude_at_once(replace(meant, documents=[paper(2), paper(1)]), result), StoreFailed
        )
        self.assertEqual(await store.unresolved(TILL), [])
        self.assertEqual((await store.find_operations(OperationQuery())).total, 1)
        await store.conclude_at_once(meant, result)
        self.assertEqual((await self.found(store, "b")).documents, [kept(paper(2), State.DONE, "F-2")])

    async def test_concluded_at_once_marks(self) -> None:
        """Its marks are sold with it; where another receipt holds one, nothing is stored."""
        store = await self.opened()
        spend = MarkMove(MarkStep.SPEND)
        first = replace(intent(TILL, "a", paper(1)), marks=Marks(["m"]))
        await store.conclude_at_once(first, outcome(0, fiscal_numbers={1: "F-1"}, marks=spend))
        [held] = await store.find_marks(["m"])
        self.assertEqual((held.state, held.fiscal_number), ("sold", "F-1"))
        again = replace(intent(TILL, "b", paper(2)), marks=Marks(["m"]))
        reserved = await store.conclude_at_once(again, outcome(0, register_state=b"s", marks=spend))
        self.assertEqual((reserved.n, reserved.known, reserved.taken), (0, None, held))
        self.assertIs(await store.register_state(TILL), None)

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
        self.assertEqual((await self.found(store, "a")).n, n)
        for device_n, kind, key in ((OTHER, "fiscal", "a"), (TILL, "pay", "a"), (TILL, "fiscal", "A")):
            self.assertIs(await store.find(device_n, kind, key), None)

    @promises("2.2.transaction_id.4")
    async def test_find_latest(self) -> None:
        """Of several payments under one label the latest that is done is found."""
        store = await self.opened()
        numbers = [
            await self.operation(store, "5d0b", state, kind="pay", at=AT + later)
            for later, state in enumerate((State.DONE, State.DONE, State.REFUSED, State.UNKNOWN))
        ]
        found = await store.find(TILL, "pay", "5d0b")
        assert found is not None
        self.assertEqual((found.n, found.at), (numbers[1], AT + 1))

    @promises("2.2.transaction_id.4")
    async def test_latest(self) -> None:
        """The latest operation of a terminal is found under its label whatever became of it, and without one."""
        store = await self.opened()
        first = await self.operation(store, "5d0b", State.DONE, kind="pay")
        for state in (State.REFUSED, State.UNKNOWN, State.INTENDED):
            n = await self.operation(store, "5d0b", state, kind="pay")
            known = await store.latest(TILL, "pay", "5d0b")
            assert known is not None
            self.assertEqual((known.n, known.state), (n, state))
        other = await self.operation(store, "77aa", State.DONE, kind="pay")
        await self.operation(store, "a job", State.DONE, kind="doc")
        known = await store.latest(TILL, "pay", "")
        assert known is not None
        self.assertEqual(known.n, other)
        self.assertEqual((await self.found(store, "5d0b", "pay")).n, first)
        for device_n, kind, key in ((OTHER, "pay", ""), (OTHER, "pay", "5d0b"), (TILL, "pay", "5D0B")):
            self.assertIs(await store.latest(device_n, kind, key), None)

    async def test_request(self) -> None:
        """What was asked is kept from the intent on, replaced by a note, and by an outcome that brings more."""
        store = await self.opened()
        n = (await store.reserve(intent(TILL, "5d0b", kind="pay", request=b"order"))).n

        async def kept_request() -> bytes:
            known = await store.latest(TILL, "pay", "5d0b")
            assert known is not None
            return known.request

        self.assertEqual(await kept_request(), b"order")
        await store.note(n, b"order, sent")
        self.assertEqual(await kept_request(), b"order, sent")
        await store.conclude(outcome(n, State.UNKNOWN, res=411, answer=b"{}"))
        self.assertEqual(await kept_request(), b"order, sent")
        await store.conclude(outcome(n, answer=b"{}", request=b"order, sent, approved"))
        self.assertEqual(await kept_request(), b"order, sent, approved")

    async def test_find_operations(self) -> None:
        """Operations are listed newest first, narrowed by all that is named, page by page."""
        store = await self.opened()
        pay = [
            await self.operation(store, f"p{later}", state, kind="pay", at=AT + later)
            for later, state in enumerate((State.DONE, State.REFUSED, State.UNKNOWN))
        ]
        sale = await self.operation(store, "s", State.DONE, at=AT + 5)
        elsewhere = (await store.reserve(intent(OTHER, "s", at=AT + 6))).n

        async def listed(**members: Any) -> tuple[int, list[int]]:
            found = await store.find_operations(OperationQuery(**members))
            return found.total, [known.n for known in found.operations]

        self.assertEqual(await listed(), (5, [elsewhere, sale, *reversed(pay)]))
        self.assertEqual(await listed(limit=2, offset=1), (5, [sale, pay[2]]))
        self.assertEqual(await listed(devices=[TILL], kinds=["pay"]), (3, pay[::-1]))
        self.assertEqual(await listed(states=[State.UNKNOWN, State.INTENDED]), (2, [elsewhere, pay[2]]))
        self.assertEqual(await listed(key="s", devices=[TILL]), (1, [sale]))
        self.assertEqual(await listed(at_from=AT + 1, at_to=AT + 5), (3, [sale, pay[2], pay[1]]))
        self.assertEqual(await listed(n=pay[0]), (1, [pay[0]]))
        self.assertEqual(await listed(kinds=["doc"]), (0, []))

    async def test_narrowed_operations(self) -> None:
        """Whatever a search for operations names, those are found that fulfil all of it, each once."""
        store = await self.opened()
        every = ["fiscal", "untagged", "pay", "doc"]
        history = (("a", State.REFUSED), ("a", State.DONE), ("b", State.REFUSED), ("b", State.UNKNOWN), ("c", None))
        made: list[tuple[int, int, str, State, str]] = []
        for kind, device_n, (key, state) in product(every, (TILL, OTHER), history):
            n = (await store.reserve(intent(device_n, key, kind=kind))).n
            if state is not None:
                await store.conclude(outcome(n, state, device_n=device_n))
            made.insert(0, (n, device_n, kind, state or State.INTENDED, key))
        some = [[state for bit, state in enumerate(State) if bits >> bit & 1] for bits in range(2 ** len(State))]
        for states, kinds, key, devices in product(
            some, ([], ["fiscal"], ["pay"], ["untagged", "doc"]), ("", "a", "b"), ([], [TILL])
        ):
            wanted = [
                n
                for n, *made_of in made
                if made_of[0] in (devices or [TILL, OTHER])
                and made_of[1] in (kinds or every)
                and made_of[2] in (states or list(State))
                and made_of[3] == (key or made_of[3])
            ]
            query = OperationQuery(devices, kinds, states, key, limit=3, offset=1)
            found = await store.find_operations(query)
            self.assertEqual((found.total, [row.n for row in found.operations]), (len(wanted), wanted[1:4]), query)
            uncounted = await store.find_operations(replace(query, counted=False))
            self.assertEqual((uncounted.total, uncounted.operations), (1 + len(wanted[1:4]), found.operations), query)
        for kind, device_n, key in product(every, (TILL, OTHER), "abcd"):
            newest = {row[0]: row[3] for row in made if (row[1], row[2], row[4]) == (device_n, kind, key)}
            latest = await store.latest(device_n, kind, key)
            self.assertEqual(latest and latest.n, next(iter(newest), None))
            done = await store.find(device_n, kind, key)
            self.assertEqual(done and done.n, next((n for n, state in newest.items() if state == "done"), None))

    async def _documents(self, store: IStore) -> None:
        """Accepted documents of two registers, and some that were not accepted."""
        for number, kind, shift, at in (
            (1, "open", 1, AT),
            (2, "sale", 1, AT + 10),
            (3, "z", 1, AT + 20),
            (4, "sale", 2, AT + 20),
            (5, "z", 2, AT + 30),
        ):
            meant = paper(number, kind=kind, shift=shift, at=at, sent=b"%d" % number)
            await self.operation(store, f"tag {number}", State.DONE, meant)
        other = (await store.reserve(intent(OTHER, "a", paper(1, at=AT + 15)))).n
        await store.conclude(outcome(other, device_n=OTHER, answer=b"other", fiscal_numbers={1: "X-1"}))
        await self.operation(store, "intended", State.INTENDED, paper(6, kind="z"))
        await self.operation(store, "unknown", State.UNKNOWN, paper(7))
        await self.operation(store, "refused", State.REFUSED, paper(8))

    async def test_found_document(self) -> None:
        """An accepted document has its fiscal number, its value and the answer of its operation, if there is one."""
        store = await self.opened()
        await self.operation(store, "sold", State.DONE, paper(1))
        n = await self.operation(store, "Z", State.INTENDED, paper(2, value=b"2"), paper(3))
        await store.accept_document(n, 2, "TEST_2")
        await store.conclude(outcome(n, State.UNKNOWN))
        self.assertEqual(
            await store.find_documents(DocumentQuery(newest_first=False)),
            FoundDocuments(
                2,
                [
                    FoundDocument(TILL, 1, "sale", AT, "F-1", b'{"v":1}', b"{}"),
                    FoundDocument(TILL, 2, "sale", AT, "TEST_2", b"2", b""),
                ],
            ),
        )

    async def test_narrowed_documents(self) -> None:
        """Each member of a query narrows what is found, ends included, and several narrow it together."""
        store = await self.opened()
        await self._documents(store)
        for query, expected in (
            (DocumentQuery(), [5, 4, 3, 1, 2, 1]),
            (DocumentQuery(devices=[TILL]), [5, 4, 3, 2, 1]),
            (DocumentQuery(devices=[TILL, OTHER], kinds=["sale"]), [4, 1, 2]),
            (DocumentQuery(devices=[3]), []),
            (DocumentQuery(kinds=["z"]), [5, 3]),
            (DocumentQuery(devices=[OTHER], kinds=["z"]), []),
            (DocumentQuery(kinds=["z", "open"]), [5, 3, 1]),
            (DocumentQuery(fiscal_number="F-2"), [2]),
            (DocumentQuery(fiscal_number="F-2", devices=[OTHER]), []),
            (DocumentQuery(fiscal_number="F-2", kinds=["z"]), []),
            (DocumentQuery(fiscal_number="X-2"), []),
            (DocumentQuery(number=1), [1, 1]),
            (DocumentQuery(devices=[TILL], number=4), [4]),
            (DocumentQuery(devices=[TILL], number=8), []),
            (DocumentQuery(shift_from=2), [5, 4]),
            (DocumentQuery(shift_to=1), [3, 1, 2, 1]),
            (DocumentQuery(devices=[TILL], shift_from=1, shift_to=1, kinds=["z"]), [3]),
            (DocumentQuery(at_from=AT + 20), [5, 4, 3]),
            (DocumentQuery(at_to=AT + 10), [2, 1]),
            (DocumentQuery(at_from=AT + 10, at_to=AT + 15), [1, 2]),
            (DocumentQuery(kinds=["z"], at_to=AT + 20), [3]),
        ):
            found = await store.find_documents(query)
            self.assertEqual([each.number for each in found.documents], expected, query)
            self.assertEqual(found.total, len(expected), query)

    async def test_pages_of_documents(self) -> None:
        """Documents come newest or oldest first, then by the journal; a page says how many there are, if wanted."""
        store = await self.opened()
        await self._documents(store)
        oldest_first = [(TILL, 1), (TILL, 2), (OTHER, 1), (TILL, 3), (TILL, 4), (TILL, 5)]
        for newest_first, every in ((False, oldest_first), (True, oldest_first[::-1])):
            for limit, offset in ((6, 0), (2, 0), (2, 2), (2, 5), (2, 6), (0, 0)):
                query = DocumentQuery(newest_first=newest_first, limit=limit, offset=offset)
                found = await store.find_documents(query)
                page = [(each.device_n, each.number) for each in found.documents]
                self.assertEqual((page, found.total), (every[offset : offset + limit], 6), query)
                uncounted = await store.find_documents(replace(query, counted=False))
                self.assertEqual((uncounted.total, uncounted.documents), (offset + len(page), found.documents), query)

    async def test_sent_documents(self) -> None:
        """The bytes of a register's accepted documents come in the order of their numbers, so many at a time."""
        store = await self.opened()
        await self._documents(store)
        self.assertEqual(await store.sent_documents(TILL, 2, 3), [(2, b"2"), (3, b"3"), (4, b"4")])
        self.assertEqual(await store.sent_documents(TILL, 5, 3), [(5, b"5")])
        self.assertEqual(await store.sent_documents(OTHER, 0, 3), [(1, b"<CHECK/>")])

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

    async def test_large(self) -> None:
        """Bodies of a megabyte come back byte for byte, and figures beyond 32 bits whole."""
        store = await self.opened()
        device = await store.add_device("id-1", "till", "register", "training", MEGABYTE)
        self.assertEqual((await store.devices(), device.settings), ([device], MEGABYTE))
        await store.change_settings({"logo": MEGABYTE})
        self.assertEqual(await store.settings(), {"logo": MEGABYTE})
        papers = (
            paper(2**40, sum=10**17, at=2**44, shift=2**33, value=MEGABYTE, sent=MEGABYTE[::-1]),
            paper(0, sum=-(10**17)),
        )
        meant = intent(TILL, "a", *papers, at=2**44, task=2**31 - 1)
        n = (await store.reserve(meant)).n
        numbers = {2**40: "F", 0: "G"}
        done = outcome(n, answer=MEGABYTE + b"!", fiscal_numbers=numbers, register_state=b"?" + MEGABYTE)
        await store.conclude(done)
        rows = [kept(each, State.DONE, numbers[each.number]) for each in papers]
        self.assertEqual(await self.found(store, "a"), row(n, meant, State.DONE, *rows, answer=done.answer))
        self.assertEqual(await store.register_state(TILL), b"?" + MEGABYTE)

    # The database itself

    async def test_damaged_row(self) -> None:
        """A row with a value of another type fails the verb that reads it, and only that verb."""
        store = await self.opened()
        await store.add_device("id-1", "till", "register", "training", b"{}")
        await self.operation(store, "a", State.UNKNOWN)
        await self.operation(store, "b", State.DONE)
        self.bypass("UPDATE device SET settings = 'text'")
        self.bypass("UPDATE operation SET state = 'lost' WHERE key = 'b'")
        self.bypass("UPDATE operation SET fingerprint = 1.5 WHERE key = 'a'")
        await self.refused(store.devices(), StoreFailed)
        await self.refused(store.unresolved(None), StoreFailed)
        await self.refused(store.reserve(intent(TILL, "b")), StoreFailed)
        self.assertEqual(await store.settings(), {})

    @promises("2.2.tag.3")
    async def test_tag_unique_in_database(self) -> None:
        """The database itself takes no second receipt under a tag, by whatever statement it comes."""
        store = await self.opened()
        copy = (
            'INSERT INTO operation (device_n, kind, task, "key", fingerprint, state, at) '
            "SELECT device_n, kind, task, \"key\", fingerprint, '{state}', at FROM operation WHERE n = {n}"
        )
        for state in (State.INTENDED, State.UNKNOWN, State.DONE):
            n = await self.operation(store, state, state)
            for second in (State.INTENDED, State.UNKNOWN, State.DONE):
                self.assertRaises(self.integrity_error, self.bypass, copy.format(state=second, n=n))
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
        """The database itself takes no second device of a name or of a GUID."""
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
