"""A printer is safe: nothing printed twice by itself, nothing reported that is not on paper, no silent loss."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred

from dmtwisted.conformance.desk import Answer, NotHere, expect, same
from dmtwisted.conformance.desks import APPROVED, REFUSED, UNKNOWN, PrinterDesk, said
from dmtwisted.conformance.levels import RECOVERS, SAFE
from dmtwisted.conformance.suite import check
from dmtwisted.devices.driver import PRINTER
from dmtwisted.documents.model import Cut, Line

PAGE = "docs/reference/printers.md#outcomes"
LINE = ("line",)

LONG = 400
"""Lines of a job that takes its time."""

CUTS = 12
"""Places at which the line to the printer breaks."""


@check(PRINTER, level=SAFE, source=PAGE)
def what_was_asked_for_comes_out(desk: PrinterDesk) -> None:
    """Lines come out in their order, once, and the answer names its job and says that it is printed or taken."""
    answer = desk.lines("перший", "другий", "третій")
    same(answer["res"], 0, f"a job on a good printer ({answer['errortxt']})")
    info = answer["info"]
    expect(info["state"] in ("printed", "accepted"), f"a job that came out is reported as {info['state']}")
    expect(info["job"] > 0, "the job has no number")
    found = [line.strip() for line in desk.paper.splitlines() if line.strip()]
    same([line for line in found if line in ("перший", "другий", "третій")], ["перший", "другий", "третій"], "paper")


@check(PRINTER, level=SAFE, source=PAGE)
def each_job_has_a_number(desk: PrinterDesk) -> None:
    """Each job has a number of its own and a row in the journal, and the last one is in the device's state."""
    numbers = [desk.printed(f"job {n}")["info"]["job"] for n in range(3)]
    same((len(set(numbers)), [row.n for row in desk.rows()]), (3, numbers), "numbers of jobs")
    same(desk.now(desk.built.state())["last_job"]["id"], numbers[-1], "the last job")


@check(PRINTER, level=SAFE, source=PAGE, needs=LINE)
def unreachable_is_reported(desk: PrinterDesk) -> None:
    """A printer that cannot be reached is reported within five seconds; nothing comes out later."""
    desk.switch_off()
    began = desk.world.seconds()
    answer = desk.lines("nobody")
    expect(desk.world.seconds() - began <= 6, "the caller waits too long")
    same((said(answer), answer["res_action"]), (REFUSED, 1), "a printer that is not there")
    same(desk.honest(answer, "nobody"), REFUSED, "a printer that is not there")


@check(PRINTER, level=SAFE, source=PAGE)
def end_of_paper_is_reported(desk: PrinterDesk) -> None:
    """Without paper nothing comes out, the caller gets the reason, and new paper prints no old job."""
    _stopped(desk, desk.device.take_paper_out)


@check(PRINTER, level=SAFE, source=PAGE)
def open_cover_is_reported(desk: PrinterDesk) -> None:
    """With an open cover nothing comes out, the caller gets the reason, and closing it prints no old job."""
    _stopped(desk, desk.device.open_cover)


def _stopped(desk: PrinterDesk, stop: Callable[[], object]) -> None:
    desk.printed("before")
    stop()
    answer = desk.lines("stopped")
    expect(answer["res"] != 0, "a printer that has stopped is reported as printing")
    expect(answer["errortxt"], "no reason is given")
    desk.honest(answer, "stopped")


@check(PRINTER, level=SAFE, source=PAGE)
def lost_job_is_honest(desk: PrinterDesk) -> None:
    """A line that breaks before anything was printed: never reported as printed, never sent again by itself."""
    _fault(desk, "lost_before")


@check(PRINTER, level=SAFE, source=PAGE)
def lost_proof_is_honest(desk: PrinterDesk) -> None:
    """A line that breaks after the paper came out: never reported as not printed, never printed twice."""
    _fault(desk, "lost_after")


@check(PRINTER, level=SAFE, source=PAGE)
def silence_is_honest(desk: PrinterDesk) -> None:
    """A printer that takes a job and stays silent is reported in time, with what is certain."""
    began = desk.world.seconds()
    answer = _asked_with(desk, "silent")
    expect(desk.world.seconds() - began <= 6, "the caller waits too long")
    desk.honest(answer, "silent")


@check(PRINTER, level=SAFE, source=PAGE)
def garbage_is_honest(desk: PrinterDesk) -> None:
    """A printer with unreadable answers is reported with what is certain, and prints nothing twice."""
    _fault(desk, "garbage")


def _asked_with(desk: PrinterDesk, then: str) -> Answer:
    desk.rule("print", then)
    return desk.lines(then)


def _fault(desk: PrinterDesk, then: str) -> None:
    desk.printed("before")
    desk.honest(_asked_with(desk, then), then)


@check(PRINTER, level=SAFE, source=PAGE, needs=LINE)
def break_in_the_middle_is_honest(desk: PrinterDesk) -> None:
    """The line breaks during a job: the answer agrees with the paper, and no line comes out twice."""
    for place in range(CUTS):
        texts = [f"{place} {n}" for n in range(20)]
        due = desk.asked_print({"lines": [{"t": text} for text in texts]})
        desk.run(0.003 * place)
        desk.world.hang_up()
        answer = desk.answer(due)
        desk.run(30)
        out = [desk.times(text) for text in texts]
        expect(max(out) <= 1, f"a line came out {max(out)} times")
        if said(answer) == APPROVED:
            same(sum(out), len(texts), "lines of a job that is reported as printed")
        elif said(answer) == REFUSED:
            same(sum(out), 0, "lines of a job that is reported as not printed")
    desk.printed("after all of them")


@check(PRINTER, level=SAFE, source=PAGE, needs=LINE)
def answers_byte_by_byte(desk: PrinterDesk) -> None:
    """The printer's answers are read from any pieces."""
    desk.weather.one_by_one = True
    desk.printed("one by one")


@check(PRINTER, level=SAFE, source=PAGE, needs=LINE)
def noise_proves_nothing(desk: PrinterDesk) -> None:
    """Noise and doubled bytes never prove a job that did not come out."""
    desk.weather.noise = b"\xff\xa5\x80garbage"
    desk.honest(desk.lines("noise"), "noise")
    desk.weather.twice = True
    desk.honest(desk.lines("twice"), "twice")


@check(PRINTER, level=SAFE, source=PAGE)
def a_paper_is_printed_once(desk: PrinterDesk) -> None:
    """The paper of a document comes out once, however often it is asked for."""
    for _ in range(3):
        printed = desk.wait(Deferred.fromCoroutine(desk.built.print([Line("receipt 17"), Cut()], "receipt 17")))
        same(printed.on_paper, True, "the paper of a document")
    desk.run(20)
    same(desk.times("receipt 17"), 1, "how often the paper came out")


@check(PRINTER, level=SAFE, source=PAGE)
def restart_sends_nothing_again(desk: PrinterDesk) -> None:
    """A job that a crash left open counts as unknown: some of it may be on paper, so it is not sent again."""
    for n, pause in enumerate((0.0, 0.002, 0.05)):
        desk.underway({"type": 2, "doc": {"lines": [{"t": f"crash {n}"}]}}, pause)
        open_before = len(desk.rows())
        desk.restart()
        desk.run(60)
        same(len(desk.rows()), open_before, "jobs after the restart")
        expect(desk.times(f"crash {n}") <= 1, "the job came out twice")
        expect("intended" not in desk.states(), "a job that a crash left open is still open")
    desk.printed("after the restart")


@check(PRINTER, level=SAFE, source="docs/printing.md")
def nothing_leaves_before_the_job_is_stored(desk: PrinterDesk) -> None:
    """When the job cannot be stored it is not sent."""
    for n in range(1, 6):
        with desk.failing(n):
            answer = desk.lines(f"unstored {n}")
            failed = desk.store.asked[n - 1] if len(desk.store.asked) >= n else ""
        desk.run(30)
        if failed == "reserve":
            same((answer["res"], desk.times(f"unstored {n}")), (1082, 0), "a job that was not stored")
            return
        expect(desk.times(f"unstored {n}") <= 1, "the job came out twice")
    raise NotHere("a job never calls reserve of the store")


@check(PRINTER, level=SAFE, source=PAGE)
def store_may_fail_anywhere(desk: PrinterDesk) -> None:
    """Any call of the store may fail, before or after its effect: no paper comes out twice, and printing goes on."""
    for happened in (False, True):
        for n in range(1, 6):
            text = f"store {n} {happened}"
            with desk.failing(n, happened):
                answer = desk.lines(text)
            desk.run(30)
            out = desk.times(text)
            expect(out <= 1, "the job came out twice")
            expect(answer["res"] != 0 or out == 1, "a job that did not come out is reported as printed")
    desk.printed("after all of them")


@check(PRINTER, level=SAFE, source="specification 1.9")
def jobs_in_turn(desk: PrinterDesk) -> None:
    """Jobs that come at once come out one after the other, whole."""
    dues = [desk.asked_print({"lines": [{"t": f"{job} {n}"} for n in range(5)]}) for job in "abc"]
    same([desk.answer(due)["res"] for due in dues], [0, 0, 0], "three jobs at once")
    desk.run(30)
    found = [line.strip() for line in desk.paper.splitlines() if line.strip()[:2] in ("a ", "b ", "c ")]
    same(found, [f"{job} {n}" for job in "abc" for n in range(5)], "their lines")


@check(PRINTER, level=SAFE, source="docs/drivers.md#texts")
def texts_are_no_commands(desk: PrinterDesk) -> None:
    """Control characters in a text never reach the printer as commands: no drawer opens, nothing is reset or cut."""
    pulses = desk.device.mechanism.pulses
    desk.lines("\x1bp\x00\x19\x19 \x1b@ \x1dV\x00 \x10\x14\x01\x00\x05 кінець")
    desk.run(20)
    same(desk.device.mechanism.pulses, pulses, "pulses of the drawer")
    desk.printed("after that")


@check(PRINTER, level=SAFE, source="docs/reference/printers.md#refusals")
def wrong_documents_are_refused(desk: PrinterDesk) -> None:
    """A wrong document is 2000 with its path, and nothing of it comes out."""
    wrong: tuple[object, ...] = (
        {"lines": [{"t": "x"}], "test": 1},
        {"test": 99},
        {"doccmd": [{"cmd": "text", "text": "begun"}, {"cmd": "no such"}]},
        {"doccmd": [{"cmd": "text", "text": "begun"}, {"cmd": "barcode", "kind": "ean13", "data": "1"}]},
        {"doccmd": [{"cmd": "text", "text": "begun"}, {"cmd": "image", "data": "no picture"}]},
    )
    before = len(desk.rows())
    for doc in wrong:
        answer = desk.print(doc)
        same((answer["res"], answer["res_action"]), (2000, 3), f"{doc}")
        expect("doc" in answer["errortxt"], f"the path is not named: {answer['errortxt']}")
    same((len(desk.rows()), desk.times("begun")), (before, 0), "what is left of it")


@check(PRINTER, level=SAFE, source="docs/drivers.md#life-of-a-device")
def close_during_a_job(desk: PrinterDesk) -> None:
    """A printer that is closed during a job closes its line and sends nothing by itself."""
    desk.underway({"type": 2, "doc": {"lines": [{"t": f"long {n}"} for n in range(LONG)]}}, 0.002)
    desk.devices.close()
    desk.run(120)
    same(desk.world.open_lines, 0, "lines that stay open")
    desk.restart()
    desk.run(60)
    out = [desk.times(f"long {n}") for n in range(LONG)]
    expect(max(out) <= 1, "a line came out twice")
    desk.printed("after that")


@check(PRINTER, level=RECOVERS, source=PAGE, needs=LINE)
def paper_is_proved(desk: PrinterDesk) -> None:
    """A job that came out is reported as printed by the printer's own answer, not because its bytes were sent."""
    same(desk.printed("proof")["info"]["state"], "printed", "the state of a job that came out")


@check(PRINTER, level=RECOVERS, source=PAGE)
def the_printer_reports_its_state(desk: PrinterDesk) -> None:
    """The check distinguishes no paper, an open cover and a printer that works again."""
    reasons: list[str] = []
    for stop, mend in (
        (desk.device.take_paper_out, desk.device.load_paper),
        (desk.device.open_cover, desk.device.close_cover),
    ):
        stop()
        reasons.append(desk.check())
        mend()
        same(desk.check(), "", "a printer that works again")
    expect(all(reasons) and reasons[0] != reasons[1], f"no paper and an open cover are reported as {reasons}")


@check(PRINTER, level=RECOVERS, source=PAGE)
def reasons_come_with_the_answer(desk: PrinterDesk) -> None:
    """Without paper and with an open cover a job is certainly not printed, and each has its own text."""
    reasons: list[str] = []
    for stop in (desk.device.take_paper_out, desk.device.open_cover):
        stop()
        answer = desk.lines(f"reason {len(reasons)}")
        same(said(answer), REFUSED, "a printer that had stopped before the job")
        reasons.append(answer["errortxt"])
        desk.honest(answer, f"reason {len(reasons) - 1}")
    expect(reasons[0] != reasons[1], f"both are reported as {reasons[0]}")


@check(PRINTER, level=RECOVERS, source=PAGE, needs=LINE)
def paper_that_ends_in_a_job_is_reported(desk: PrinterDesk) -> None:
    """A job during which the paper ends is unknown, with a reason, and a person may ask for a reprint."""
    desk.device.load_paper(400)
    answer = desk.print({"lines": [{"t": f"roll {n}"} for n in range(60)]})
    same(said(answer), UNKNOWN, "a job of which some lines are on paper")
    expect(answer["errortxt"], "no reason is given")
    desk.mend()
    desk.run(180)
    out = [desk.times(f"roll {n}") for n in range(60)]
    expect(max(out) <= 1, "a line came out twice")
    printed = desk.wait(Deferred.fromCoroutine(desk.built.reprint(desk.rows()[-1].n)))
    desk.run(60)
    expect(printed.on_paper and desk.times("roll 59") >= 1, "a reprint that a person asked for")
