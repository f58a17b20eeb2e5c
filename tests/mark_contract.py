"""What every store promises of excise marks, and of letters that wait in the outbox."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from dmtwisted.store.interface import IStore
from dmtwisted.store.values import (
    DeadLetter,
    HookCursor,
    Letter,
    LetterRow,
    MarkMove,
    MarkRow,
    Marks,
    MarkStep,
    Reserved,
    State,
)
from tests.store_contract import AT, OTHER, TILL, StoreCase, intent, outcome, paper

MARK = "T25I9MLQ0JEOYJ06z9v8W"
ALIKE = (MARK, MARK.lower(), f"{MARK} ", "a  b", "a b", "i", "І", "I", "x\x1d", "x\x1d\x1f", "x\x1f", "🧾" * 32)
"""Marks of which no two are the same, however alike they look to a database."""


class MarkContract(StoreCase):
    """Whatever the database."""

    async def sold(self, store: IStore, number: int, *marks: str, device_n: int = TILL, shared: bool = False) -> int:
        """The number of a sale that holds ``marks``, and is done."""
        n = (await self.reserve(store, number, *marks, device_n=device_n, shared=shared)).n
        await self.move(store, n, MarkStep.SPEND, number=number, device_n=device_n)
        return n

    async def reserve(
        self, store: IStore, number: int, *marks: str, device_n: int = TILL, **members: Any
    ) -> Reserved:
        """What an intent with ``marks`` comes to."""
        return await store.reserve(
            intent(device_n, f"tag {number}", paper(number), marks=Marks(list(marks), **members))
        )

    async def move(
        self,
        store: IStore,
        n: int,
        step: MarkStep,
        *marks: str,
        number: int = 0,
        state: State = State.DONE,
        device_n: int = TILL,
        letters: tuple[Letter, ...] = (),
        shared: bool = False,
    ) -> None:
        """The outcome of an operation with a step."""
        numbers = {number: f"F-{number}"} if step is MarkStep.SPEND else {}
        moved = MarkMove(step, list(marks), shared, number)
        await store.conclude(
            outcome(n, state, device_n=device_n, fiscal_numbers=numbers, marks=moved, letters=list(letters))
        )

    async def test_reserve_marks(self) -> None:
        """Marks are reserved with the intent and sold with the outcome, byte for byte, each by itself."""
        store = await self.opened()
        n = (await self.reserve(store, 1, *ALIKE)).n
        rows = [MarkRow(mark, TILL, n, 1, "", AT, "reserved") for mark in ALIKE]
        self.assertEqual(await store.find_marks(list(ALIKE)), rows)
        await self.move(store, n, MarkStep.SPEND, number=1)
        sold = [MarkRow(mark, TILL, n, 1, "F-1", AT, "sold") for mark in ALIKE]
        self.assertEqual(await store.find_marks(list(ALIKE)), sold)
        self.assertEqual(await store.find_marks(["other"]), [])

    async def test_mark_taken(self) -> None:
        """A mark that another receipt holds, reserved, unknown or sold, is refused with it, and nothing is stored."""
        store = await self.opened()
        n = (await self.reserve(store, 1, "a", MARK)).n
        held = MarkRow(MARK, TILL, n, 1, "", AT, "reserved")
        self.assertEqual(await self.reserve(store, 2, "b", MARK, device_n=OTHER), Reserved(0, None, held))
        await store.conclude(outcome(n, State.UNKNOWN))
        self.assertEqual((await self.reserve(store, 2, MARK, device_n=OTHER)).taken, held)
        await self.move(store, n, MarkStep.SPEND, number=1)
        sold = MarkRow(MARK, TILL, n, 1, "F-1", AT, "sold")
        self.assertEqual((await self.reserve(store, 2, "b", MARK, device_n=OTHER)).taken, sold)
        self.assertEqual(await store.find_marks(["b"]), [])
        self.assertEqual(await store.unresolved(OTHER), [])
        self.assertIs((await self.reserve(store, 2, "b", device_n=OTHER)).taken, None)

    async def test_repeated_tag(self) -> None:
        """The repeat of a tag is no second sale of its marks: it gets the operation that it repeats."""
        store = await self.opened()
        n = await self.sold(store, 1, MARK)
        again = await self.reserve(store, 1, MARK)
        self.assertEqual((again.n, again.taken), (n, None))
        assert again.known is not None
        self.assertEqual(again.known.state, State.DONE)

    async def test_mark_released(self) -> None:
        """A mark whose receipt was refused may be sold; one that arrived after all is sold, unless another is."""
        store = await self.opened()
        n = (await self.reserve(store, 1, MARK, "a")).n
        await self.move(store, n, MarkStep.RELEASE, state=State.REFUSED)
        self.assertEqual(await store.find_marks([MARK]), [])
        other = await self.sold(store, 3, MARK, device_n=OTHER)
        for _ in range(2):
            await self.move(store, n, MarkStep.SPEND, MARK, "a", number=1)
            rows = [(row.mark, row.operation_n, row.fiscal_number) for row in await store.find_marks([MARK, "a"])]
            self.assertEqual(rows, [(MARK, other, "F-3"), ("a", n, "F-1")])

    async def test_mark_returned(self) -> None:
        """A return frees a mark, whichever register sold it; the storno of a sale frees those of that sale."""
        store = await self.opened()
        await self.sold(store, 1, MARK, "a", device_n=OTHER)
        back = await self.operation(store, "return", State.INTENDED, paper(2))
        await self.move(store, back, MarkStep.FREE, MARK)
        self.assertEqual([row.mark for row in await store.find_marks([MARK, "a"])], ["a"])
        await self.sold(store, 3, MARK)
        storno = await self.operation(store, "storno", State.INTENDED, paper(4))
        await self.move(store, storno, MarkStep.TAKE_BACK, MARK, "a", number=3)
        self.assertEqual([row.mark for row in await store.find_marks([MARK, "a"])], ["a"])
        # What is only reserved is not freed by a return.
        reserved = (await self.reserve(store, 5, MARK)).n
        second = await self.operation(store, "return 2", State.INTENDED, paper(6))
        await self.move(store, second, MarkStep.FREE, MARK)
        self.assertEqual([row.operation_n for row in await store.find_marks([MARK])], [reserved])

    async def test_mark_shared(self) -> None:
        """Parts may be sold under one mark again and again, the whole not; a return brings back one part."""
        store = await self.opened()
        for number in (1, 2, 3):
            await self.sold(store, number, MARK, shared=True)
        self.assertEqual([row.number for row in await store.find_marks([MARK])], [1, 2, 3])
        self.assertIsNot((await self.reserve(store, 4, MARK)).taken, None)
        back = await self.operation(store, "return", State.INTENDED, paper(5))
        await self.move(store, back, MarkStep.FREE, MARK)
        self.assertEqual([row.number for row in await store.find_marks([MARK])], [2, 3])
        await self.sold(store, 6, "whole")
        self.assertIsNot((await self.reserve(store, 7, "whole", shared=True)).taken, None)

    async def test_parts_taken_back(self) -> None:
        """A storno brings back the part of its own receipt, a return one that is sold; other parts stay."""
        store = await self.opened()
        for number, device_n in ((3, TILL), (3, OTHER), (4, TILL)):
            await self.sold(store, number, MARK, device_n=device_n, shared=True)
        storno = await self.operation(store, "storno", State.INTENDED, paper(5))
        await self.move(store, storno, MarkStep.TAKE_BACK, MARK, number=3)
        left = [(row.device_n, row.number) for row in await store.find_marks([MARK])]
        self.assertEqual(sorted(left), sorted([(OTHER, 3), (TILL, 4)]))
        held = (await self.reserve(store, 6, "part", shared=True)).n
        await self.sold(store, 7, "part", shared=True)
        back = await self.operation(store, "return", State.INTENDED, paper(8))
        await self.move(store, back, MarkStep.FREE, "part")
        self.assertEqual([row.operation_n for row in await store.find_marks(["part"])], [held])

    async def test_mark_inherited(self) -> None:
        """The marks of a receipt that is made again pass to the new one, and to nobody else."""
        store = await self.opened()
        for shared in (False, True):
            mark, number = f"{MARK}{shared}", 10 * shared
            n = (await self.reserve(store, number + 1, mark, shared=shared)).n
            await store.conclude(outcome(n, State.REFUSED))
            again = await self.reserve(store, number + 2, mark, shared=shared, heir_of=n)
            self.assertIs(again.taken, None)
            [row] = await store.find_marks([mark]) if not shared else (await store.find_marks([mark]))[:1]
            self.assertEqual((row.operation_n, row.number), (again.n, number + 2))
            self.assertIsNot((await self.reserve(store, number + 3, mark, heir_of=n)).taken, None)

    async def test_mark_at_once(self) -> None:
        """Of two registers that sell one mark at the same time one does."""
        store = await self.opened()
        for turn in range(10):
            asked = [
                Deferred.fromCoroutine(self.reserve(store, turn + 1, f"m{turn}", device_n=device_n))
                for device_n in (TILL, OTHER)
            ]
            first, second = await gatherResults(asked)
            self.assertEqual((first.taken is None) + (second.taken is None), 1)
        self.assertEqual(len(await store.unresolved(None)), 10)

    async def test_forget_marks(self) -> None:
        """Marks that were sold long ago are forgotten in small steps; what is reserved stays."""
        store = await self.opened()
        await self.sold(store, 1, "a", "b", "c")
        await self.reserve(store, 2, "d")
        self.assertEqual(await store.forget_marks(AT, 10), 0)
        self.assertEqual([await store.forget_marks(AT + 1, 2) for _ in range(3)], [2, 1, 0])
        self.assertEqual([row.mark for row in await store.find_marks(["a", "b", "c", "d"])], ["d"])

    # The outbox

    async def test_outbox(self) -> None:
        """A letter is kept with the outcome or alone, is taken when it is due, by one at a time, and stays until it
        is told."""
        store = await self.opened()
        self.assertIs(await store.next_letter(["marks"]), None)
        n = (await self.reserve(store, 1, MARK)).n
        await self.move(store, n, MarkStep.SPEND, number=1, letters=(Letter("marks", TILL, AT, b"\x00\xff"),))
        await store.post([Letter("mail", 0, AT + 5, b""), Letter("other", 0, AT - 5, b"")])
        self.assertEqual(await store.next_letter(["mail", "other"]), AT - 5)
        self.assertEqual(await store.take_letters(["marks", "mail"], AT - 1, AT + 60, 10), [])
        taken = await store.take_letters(["marks", "mail"], AT, AT + 60, 10)
        self.assertEqual(taken, [LetterRow(1, "marks", TILL, AT + 60, 1, False, "", b"\x00\xff")])
        self.assertEqual(await store.take_letters(["marks"], AT + 59, AT + 120, 10), [])
        # Nobody said what became of it: after a crash it is tried again.
        [again] = await store.take_letters(["marks"], AT + 60, AT + 120, 10)
        self.assertEqual(again.attempts, 2)
        await store.put_letter(1, AT + 200, False, "мовчить")
        waiting = await store.find_letters(["marks"], False, 10, 0)
        self.assertEqual(waiting, [LetterRow(1, "marks", TILL, AT + 200, 2, False, "мовчить", b"\x00\xff")])
        await store.drop_letter(1)
        self.assertEqual(await store.find_letters(["marks"], False, 10, 0), [])
        self.assertEqual([row.n for row in await store.find_letters(["mail", "other"], False, 1, 2)], [3])
        self.assertEqual(len(await store.take_letters(["marks", "mail", "other"], AT + 9, AT + 60, 1)), 1)

    async def test_cursors(self) -> None:
        """How far a subscriber is replaces what was known, never what is farther, with dead letters; all can go."""
        store = await self.opened()
        first = HookCursor("a" * 36, TILL, 7, AT, 2, AT + 1, AT + 2, "мовчить ")
        await store.keep_cursors([first, HookCursor("b", 0, 1)], [])
        later = HookCursor("a" * 36, TILL, 8)
        letter = Letter("hook", TILL, AT, b"\x00\xff")
        await store.keep_cursors([later, HookCursor("a" * 36, OTHER, 3)], [DeadLetter(letter, "500")])
        known = [later, HookCursor("a" * 36, OTHER, 3), HookCursor("b", 0, 1)]
        self.assertEqual(await store.hook_cursors(), known)
        [dead] = await store.find_letters(["hook"], True, 10, 0)
        self.assertEqual((dead.dead, dead.why, dead.payload, dead.attempts), (True, "500", b"\x00\xff", 0))
        self.assertEqual(await store.take_letters(["hook"], AT + 60, AT + 90, 10), [])
        await store.keep_cursors([first, HookCursor("b", 0, 1, attempts=3)], [])
        self.assertEqual(await store.hook_cursors(), [*known[:2], HookCursor("b", 0, 1, attempts=3)])
        await store.drop_cursors("a" * 36)
        self.assertEqual(await store.hook_cursors(), [HookCursor("b", 0, 1, attempts=3)])

    async def test_dead_letters(self) -> None:
        """A dead letter waits for a person, who has it tried again or drops it."""
        store = await self.opened()
        await store.post([Letter("mail", 0, AT, b"x")])
        await store.put_letter(1, AT, True, "550")
        self.assertIs(await store.next_letter(["mail"]), None)
        self.assertEqual(await store.take_letters(["mail"], AT + 1, AT + 60, 10), [])
        [dead] = await store.find_letters(["mail"], True, 10, 0)
        self.assertEqual((dead.n, dead.dead, dead.why), (1, True, "550"))
        await store.put_letter(1, AT + 2, False, "")
        self.assertEqual(await store.next_letter(["mail"]), AT + 2)
