"""``/dm/main/`` and ``/dm/``: the pages (specification 1.6, docs/reference/http-interface.md#web-interface).

A page only reads. Its scripts change things through the JSON interfaces, under the rules of origin of those.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from klein import Klein
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.iweb import IRequest
from twisted.web.server import Request
from werkzeug.exceptions import HTTPException

from dmtwisted.access.roles import BOUND, ROLE_NAMES, Role
from dmtwisted.backups import Backups
from dmtwisted.changes import Area
from dmtwisted.clock import day_of
from dmtwisted.conformance.levels import found_of
from dmtwisted.core import Core
from dmtwisted.devices.devices import Device
from dmtwisted.devices.driver import KINDS, PRINTER, REGISTER, TERMINAL, BadSettings, Driver
from dmtwisted.devices.sealing import without_secrets
from dmtwisted.documents.accounts import TABLES, spreadsheet
from dmtwisted.documents.qr import receipt_qr
from dmtwisted.finding.search import RECOGNISED
from dmtwisted.hooks.subscribers import place_of
from dmtwisted.messages.kinds import EventType
from dmtwisted.registers.customers import HANDED_OUT
from dmtwisted.registers.interface import TaxServiceRegister
from dmtwisted.registers.proposals import proposals
from dmtwisted.registers.prro.settings import CABINET_URL, SERVER_URL
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.values import CHANGE, OperationQuery
from dmtwisted.unfinished import unfinished
from protocols.printers.profiles import PROFILES
from web import changes
from web.answers import json_answer, plain_answer
from web.backups import why_kept
from web.certificate import CertificateStatus
from web.doctor import Examination
from web.filters import LARGEST_NUMBER, PAGE_SIZE, covered, page_of, query_of
from web.gate import base_of, report_refusal
from web.hooks import shown_hooks
from web.mail import letters_of
from web.pages import receipts, search, selling
from web.pages.adding import (
    BANKS,
    FOUND_SCRIPT,
    MAKERS,
    REGISTER_FOUND_SCRIPT,
    REGISTER_SCRIPT,
    carried,
    given_in,
)
from web.pages.board import board_of
from web.pages.dated import dated_part
from web.pages.day import Figures
from web.pages.examples import PATHS, examples
from web.pages.feed import GROUPS, Feed
from web.pages.fields import form_of
from web.pages.overview import last_documents, last_payment, standing, verdict
from web.pages.pictures import NAMES, gallery, today
from web.pages.practise import EXERCISES, given_to_script, practice_devices
from web.pages.rendering import Pages
from web.pages.search_file import send_found
from web.pages.service import TRUST, bytes_in_words, log_words, protection, warned_of
from web.pages.words import speaker
from web.receipts import KINDS as KINDS_OF_DOCUMENTS
from web.receipts import listed
from web.rights import may, may_sell, permit_of
from web.selling import sale_of
from web.support import Database, tail

MOVED = {
    b"/": b"/dm/main/",
    b"/dm": b"/dm/",
    b"/dm/main": b"/dm/main/",
    b"/dm/main/dashboard.html": b"/dm/main/",
    b"/dm/main/settings.html": b"/dm/main/settings",
    b"/dm/devices": b"/dm/",
    b"/dm/devices/": b"/dm/",
}
"""Other addresses of pages, which people type."""


WHOLE = 120.0
"""Seconds that a file of figures waits until all of its days are read."""


class CodeRecord(msgspec.Struct):
    """A result code: its text, its action, and advice for the calling program and the cashier."""

    text: str
    action: int
    caller: str
    cashier: str


class PageSite:
    """Every page."""

    log = Logger()
    app = Klein()

    def __init__(
        self,
        core: Core,
        default_language: str,
        database: Database,
        certificate: Callable[[], Awaitable[CertificateStatus]],
        examination: Examination,
        backups: Backups,
        asks_for_code: Callable[[Any], bool],
    ) -> None:
        self._core, self._database, self._certificate = core, database, certificate
        self._examination, self._backups = examination, backups
        self._pages = Pages(
            default_language,
            core.config.service.training,
            lambda: core.access.on,
            core.needs.seen,
            lambda: warned_of(core),
            core.config.server.path_alias,
            asks_for_code,
            lambda request: may_sell(permit_of(request)) and bool(self._named(request, REGISTER)),
        )
        self._main = f"/dm/{core.config.server.path_alias or 'main'}/".encode()
        self._figures = Figures(core.store, core.clock)

    @app.route("/", methods=["GET"])
    @app.route("/dm", methods=["GET"])
    @app.route("/dm/main", methods=["GET"])
    @app.route("/dm/main/dashboard.html", methods=["GET"])
    @app.route("/dm/main/settings.html", methods=["GET"])
    @app.route("/dm/devices", methods=["GET"])
    @app.route("/dm/devices/", methods=["GET"])
    def moved(self, request: Request) -> bytes:
        """Another address of a page."""
        request.setResponseCode(302)
        request.setHeader(b"location", base_of(request) + MOVED[request.path].replace(b"/dm/main/", self._main))
        return b""

    # Registers and application

    @app.route("/dm/main/", methods=["GET"])
    async def overview(self, request: IRequest) -> bytes:
        """Every device at a glance."""
        core, now, permit = self._core, self._core.clock.now(), permit_of(request)
        await core.needs.fresh()
        devices, sees_sales = covered(core.devices, permit), may(permit, "GET /dm/main/receipts")
        found = [await standing(device, core.devices) for device in devices]
        registers = [
            (one, await last_documents(core.store, core.devices.by_id(one.dev_id)) if sees_sales else [])
            for one in found
            if one.kind == REGISTER
        ]
        payments = {
            device.row.dev_id: await last_payment(core.store, device) for device in devices if device.kind == TERMINAL
        }
        # The sum of the day is that of all registers.
        sales = await today(core, self._figures, permit) if sees_sales and not permit.bound else None
        open_ones = await unfinished(core.store, core.devices, now)
        return self._pages.page(
            request,
            "overview.html",
            verdict=verdict([one for one, _ in registers]),
            registers=registers,
            others=[one for one in found if one.kind != REGISTER],
            unfinished=[one for one in open_ones if permit.covers(one.dev_id)],
            today=sales,
            payments=payments,
            fresh=not any(documents for _, documents in registers) and may(permit, "GET /dm/main/first"),
            sees_sales=sees_sales,
        )

    @app.route("/dm/main/first", methods=["GET"])
    async def first(self, request: IRequest) -> bytes:
        """The steps to the first receipt, on a training register."""
        training = next(
            (device for device in self._core.devices if (device.kind, device.row.driver) == (REGISTER, "training")),
            None,
        )
        register = await standing(training, self._core.devices) if training is not None else None
        return self._pages.page(request, "first.html", register=register)

    @app.route("/dm/main/practise", methods=["GET"])
    async def practise(self, request: IRequest) -> bytes:
        """Exercises with failures; in training mode only."""
        if not self._core.devices.training:
            raise Refused(Res.UNKNOWN_DEVICE)
        say = speaker(self._pages.language(request))
        found = practice_devices(covered(self._core.devices, permit_of(request)))
        return self._pages.page(
            request,
            "practise.html",
            exercises=EXERCISES,
            missing=[kind for kind in (REGISTER, TERMINAL, PRINTER) if kind not in found],
            given=given_to_script(found, say("coffee")),
        )

    @app.route("/dm/main/registers/<dev_id>", methods=["GET"])
    async def board(self, request: IRequest, dev_id: str) -> bytes:
        """The actions of a cashier on one register."""
        device = self._core.devices.by_id(dev_id)
        if device.kind != REGISTER:
            raise Refused(Res.UNKNOWN_DEVICE)
        core, permit, register = self._core, permit_of(request), await standing(device, self._core.devices)
        allows = partial(may, permit)
        return self._pages.page(
            request,
            "board.html",
            register=register,
            board=await board_of(core.store, device, register, core.clock.now(), allows, may_sell(permit)),
            documents=await last_documents(core.store, device, 8),
            printers=self._named(request, PRINTER),
        )

    # Sales and goods

    @app.route("/dm/main/sell", methods=["GET"])
    async def sell_somewhere(self, request: IRequest) -> bytes:
        """A sale on the only register, or a choice of them."""
        registers = self._named(request, REGISTER)
        if len(registers) == 1:
            return await self._sell(request, registers[0]["dev_id"])
        return self._pages.page(request, "sell.html", register=None, registers=registers)

    @app.route("/dm/main/registers/<dev_id>/sell", methods=["GET"])
    async def sell(self, request: IRequest, dev_id: str) -> bytes:
        """A sale on one register."""
        return await self._sell(request, dev_id)

    async def _sell(self, request: IRequest, dev_id: str) -> bytes:
        device = self._core.devices.by_id(dev_id)
        if device.kind != REGISTER:
            raise Refused(Res.UNKNOWN_DEVICE)
        printers = self._named(request, PRINTER)
        facts = selling.desk(self._core, device, [printer["name"] for printer in printers])
        terminals = {one["name"]: one["dev_id"] for one in self._named(request, TERMINAL)}
        return self._pages.page(
            request,
            "sell.html",
            register=await standing(device, self._core.devices),
            desk=facts,
            terminal_id=terminals.get(facts["terminal"], ""),
            printers=printers,
            has_goods=bool(await self._core.goods.load()),
        )

    @app.route("/dm/main/goods", methods=["GET"])
    async def goods(self, request: IRequest) -> bytes:
        """The list of goods."""
        query = query_of(request)
        asked, page = query.get("q", "").strip(), search.wanted(query).page
        await self._core.goods.load()
        found, total = await self._core.goods.find(asked, PAGE_SIZE, (page - 1) * PAGE_SIZE)
        return self._pages.page(
            request,
            "goods.html",
            goods=found,
            total=total,
            query=asked,
            page=page,
            pages=max(1, -(-total // PAGE_SIZE)),
        )

    @app.route("/dm/main/receipts", methods=["GET"])
    async def receipts(self, request: IRequest) -> bytes:
        """Receipts, searched by whatever is known of them."""
        core, asked = self._core, search.wanted(query_of(request))
        devices = covered(core.devices, permit_of(request))
        return self._pages.page(
            request,
            "receipts.html",
            asked=asked,
            found=await search.Finder(core.store, devices, asked).page(),
            registers=self._named(request, REGISTER),
            kinds=KINDS_OF_DOCUMENTS,
            pays=search.payments(devices),
            states=search.STATES,
            presets=search.presets(core.clock.now()),
            exports=TABLES if may(permit_of(request), "GET /dm/api/v3/accounts") else (),
        )

    @app.route("/dm/main/receipts.csv", methods=["GET"])
    async def receipts_file(self, request: IRequest) -> bytes:
        """Everything that the pages of a search list, as one table."""
        core, language = self._core, self._pages.language(request)
        finder = search.Finder(
            core.store, covered(core.devices, permit_of(request)), search.wanted(query_of(request))
        )
        await send_found(request, finder, language, core.clock)
        return b""

    @app.route("/dm/main/receipts/<dev_id>/<int:number>", methods=["GET"])
    async def receipt(self, request: IRequest, dev_id: str, number: int) -> bytes:
        """One receipt."""
        device, row, value = await self._document(dev_id, number)
        language = self._pages.language(request)
        steps = await receipts.way_of(self._core.store, device, row, value, language)
        return self._pages.page(
            request,
            "receipt.html",
            device=device,
            row=row,
            document=value,
            shown=listed(row, device),
            steps=steps,
            printed=receipts.was_printed(steps),
            shares_time=receipts.shares_time(steps),
            answer=receipts.pretty(row.answer),
            link=receipt_qr(value, row.fiscal_number) if row.fiscal_number and row.kind in HANDED_OUT else "",
            handed_out=row.kind in HANDED_OUT and bool(row.fiscal_number),
            mail_works=self._core.post.ways().mail,
            text=receipts.text_of(device, row, value),
            printers=self._named(request, PRINTER),
        )

    @app.route("/dm/main/receipts/<dev_id>/<int:number>/return", methods=["GET"])
    async def give_back(self, request: IRequest, dev_id: str, number: int) -> bytes:
        """A return of a receipt, or of a part of it."""
        sale = await sale_of(self._core, dev_id, number)
        if sale is None:
            raise Refused(Res.TAG_NOT_FOUND)
        printers = self._named(request, PRINTER)
        facts = selling.desk(self._core, sale.device, [printer["name"] for printer in printers])
        now = await standing(sale.device, self._core.devices)
        return self._pages.page(
            request,
            "return.html",
            sale=sale,
            register=now,
            desk={**facts, "number": number},
            printers=printers,
        )

    @app.route("/dm/main/receipts/<dev_id>/<int:number>/picture", methods=["GET"])
    async def picture(self, request: IRequest, dev_id: str, number: int) -> bytes:
        """The picture of one receipt, drawn from the store: no till has to wait."""
        device, row, value = await self._document(dev_id, number)
        drawn = await receipts.picture_of(device, row, value, self._core.clock)
        return plain_answer(request, b"image/png", drawn)

    @app.route("/dm/main/receipts/<dev_id>/<int:number>/qr", methods=["GET"])
    async def qr(self, request: IRequest, dev_id: str, number: int) -> bytes:
        """The QR code that leads a customer to the receipt at the tax service."""
        _, row, value = await self._document(dev_id, number)
        if not row.fiscal_number or not value.has_total:
            raise Refused(Res.TAG_NOT_FOUND)
        drawn = await self._core.clock.apart(receipts.qr_svg, receipt_qr(value, row.fiscal_number))
        return plain_answer(request, b"image/svg+xml", drawn)

    async def _document(self, dev_id: str, number: int) -> Any:
        device = self._core.devices.by_id(dev_id)
        found = await receipts.one(self._core.store, device, min(number, LARGEST_NUMBER))
        if found is None:
            raise Refused(Res.TAG_NOT_FOUND)
        return device, *found

    @app.route("/dm/main/day", methods=["GET"])
    async def day(self, request: IRequest) -> bytes:
        """A day, a week or a month in pictures."""
        permit, language = permit_of(request), self._pages.language(request)
        drawn, values = await gallery(self._core, self._figures, permit, query_of(request), language)
        return self._pages.page(request, "day.html", pictures=drawn.pictures(), total=drawn.total, **values)

    @app.route("/dm/main/day/<picture>", methods=["GET"])
    async def day_table(self, request: IRequest, picture: str) -> bytes:
        """The table of one picture as CSV."""
        if picture not in NAMES:
            raise Refused(Res.UNKNOWN_DEVICE)
        permit, language = permit_of(request), self._pages.language(request)
        drawn, values = await gallery(self._core, self._figures, permit, query_of(request), language, WHOLE)
        if values["missing"]:
            raise Refused(Res.STORE_FAILED)
        table = drawn.picture(picture)
        name = f"{picture}-{values['period'].first}.csv"
        request.setHeader(b"content-disposition", f'attachment; filename="{name}"'.encode())
        return plain_answer(request, b"text/csv; charset=utf-8", spreadsheet([table.head, *table.rows]))

    @app.route("/dm/main/feed", methods=["GET"])
    async def feed(self, request: IRequest) -> bytes:
        """What happens in the shop, as far as the journal has it; the page's script goes on."""
        given, language = query_of(request), self._pages.language(request)
        group = given.get("kind", "")
        lines = Feed(self._core, permit_of(request), language, given.get("device", ""), group)
        return self._pages.page(
            request,
            "feed.html",
            entries=await lines.entries(),
            names=lines.names,
            named=lines.named,
            group=group,
            groups=GROUPS,
            now=self._core.clock.now(),
            data=lines.for_script(),
        )

    @app.route("/dm/main/console", methods=["GET"])
    async def console(self, request: IRequest) -> bytes:
        """Requests to try."""
        say = speaker(self._pages.language(request))
        return self._pages.page(
            request,
            "console.html",
            examples=[
                {"title": say(example.word), "path": example.path, "body": example.body}
                for example in examples(covered(self._core.devices, permit_of(request)), say("coffee"))
            ],
            paths=PATHS,
        )

    @app.route("/dm/main/codes", methods=["GET"])
    async def codes(self, request: IRequest) -> bytes:
        """Result codes, searched by number or word."""
        query = query_of(request).get("q", "").strip()
        found = [res for res in _CODES if _matches(res, query)]
        return self._pages.page(request, "codes.html", codes=found, query=query)

    @app.route("/dm/main/codes.json", methods=["GET"])
    def codes_json(self, request: IRequest) -> bytes:
        """The catalogue for scripts, in the language of the page."""
        language = self._pages.language(request)
        return json_answer(request, 200, {str(res.code): _code_record(res, language) for res in _CODES})

    @app.route("/dm/main/settings", methods=["GET"])
    async def settings(self, request: IRequest) -> bytes:
        """Settings of the service."""
        core, language = self._core, self._pages.language(request)
        return self._pages.page(
            request,
            "settings.html",
            settings=core.settings.now,
            login=core.access.login,
            people=core.access.people,
            keys=list(core.access.keys),
            roles=[(role, ROLE_NAMES[role].for_language(language), role in BOUND) for role in Role],
            devices=list(core.devices),
            protection=protection(core),
            exposed=core.exposed,
            refused=core.hosts.refused,
        )

    @app.route("/dm/main/settings/mail", methods=["GET"])
    async def mail(self, request: IRequest) -> bytes:
        """Receipts to customers: the mail server, and what has not reached anybody yet."""
        core, language = self._core, self._pages.language(request)
        letters = await letters_of(core, language)
        return self._pages.page(request, "mail.html", settings=core.settings.now, letters=letters)

    @app.route("/dm/main/settings/webhooks", methods=["GET"])
    async def webhooks(self, request: IRequest) -> bytes:
        """Programs that get events: how each is, and what it never took."""
        core, language = self._core, self._pages.language(request)
        return self._pages.page(
            request,
            "webhooks.html",
            hooks=await shown_hooks(core, language),
            kinds=list(EventType),
            devices=list(core.devices),
            place=place_of,
            now=core.clock.now(),
        )

    @app.route("/dm/main/settings/certificate", methods=["GET"])
    async def certificate(self, request: IRequest) -> bytes:
        """The certificate: its status, installation, and a local authority."""
        config, tls = self._core.config, await self._certificate()
        removable = bool(tls.subject) and (not config.tls.given or config.tls_is_installed)
        return self._pages.page(request, "certificate.html", tls=tls, removable=removable, trust=TRUST)

    @app.route("/dm/main/settings/database", methods=["GET"])
    async def database(self, request: IRequest) -> bytes:
        """The database: which one, how large, how much it contains, whether it is intact; backups."""
        facts = await self._database.facts()
        return self._pages.page(
            request,
            "database.html",
            facts=facts,
            size=bytes_in_words(facts.size),
            verdict=self._database.verdict,
            backups=await self._backups.found(),
            making=self._backups.running,
            trouble=self._backups.trouble,
            folder=self._backups.folder,
            in_words=bytes_in_words,
            now=self._core.clock.now(),
            handed_out=not why_kept(self._core, request),
            settings=self._core.settings.now,
        )

    @app.route("/dm/main/settings/doctor", methods=["GET"])
    def doctor(self, request: IRequest) -> bytes:
        """What the last check found, with buttons that fix some of it."""
        looked = self._examination
        findings = [finding.record(self._pages.language(request)) for finding in looked.found]
        return self._pages.page(request, "doctor.html", findings=findings, at=looked.at)

    @app.route("/dm/main/settings/log", methods=["GET"])
    def log_page(self, request: IRequest) -> bytes:
        """The last lines of the log, and the bundle for support."""
        log, words = self._core.log_lines, log_words(self._pages.language(request))
        data = {**words, "last": log.written}
        return self._pages.page(request, "log.html", lines=tail(log), data=data, settings=self._core.settings.now)

    @app.route("/dm/main/settings/changes", methods=["GET"])
    async def changes_page(self, request: IRequest) -> bytes:
        """Who changed what in the service, newest first."""
        core, asked = self._core, query_of(request)
        given = {name: asked.get(name, "") for name in changes.FILTERS}
        # The fields of the page have dates with hyphens.
        filters = {**given, **{name: given[name].replace("-", "") for name in ("from", "to")}}
        mistake, page, size = "", 1, PAGE_SIZE
        try:
            page, size = page_of(asked)
            wanted = changes.query_of(filters, core.devices, permit_of(request))
        except BadSettings as error:
            mistake, wanted = error.path, OperationQuery(kinds=[CHANGE], n=0)
        found = await core.store.find_operations(
            msgspec.structs.replace(wanted, limit=size, offset=(page - 1) * size)
        )
        return self._pages.page(
            request,
            "changes.html",
            found=[(row.at, changes.listed(row)) for row in found.operations],
            total=found.total,
            page=page,
            pages=-(-found.total // size),
            given=given,
            mistake=mistake,
            kinds=list(Area),
            devices=[device.name for device in core.devices],
        )

    # Devices

    @app.route("/dm/", methods=["GET"])
    async def devices(self, request: IRequest) -> bytes:
        """Every device."""
        core, devices = self._core, covered(self._core.devices, permit_of(request))
        found = [await standing(device, core.devices) for device in devices]
        return self._pages.page(request, "devices.html", devices=found)

    @app.route("/dm/devices/new", methods=["GET"])
    async def new_device(self, request: IRequest) -> bytes:
        """Add a device: its kind, then its driver, then its settings."""
        query = query_of(request)
        kind = query.get("kind", "") if query.get("kind") in KINDS else ""
        known = self._core.devices
        drivers = [driver for driver in known.drivers.values() if driver.kind == kind and not known.bars(driver)]
        drivers.sort(key=lambda driver: (driver.name == "training", driver.title.lower()))
        chosen = next((driver for driver in drivers if driver.name == query.get("driver")), None)
        if chosen is None and len(drivers) == 1:
            chosen = drivers[0]
        given = given_in(query)
        form = form_of(chosen.schema(day_of(known.clock.now())), chosen.secrets) if chosen is not None else None
        return self._pages.page(
            request,
            "new_device.html",
            kinds=[each for each in KINDS if any(driver.kind == each for driver in known.drivers.values())],
            kind=kind,
            drivers=drivers,
            levels={driver.name: _level(driver, self._core.state) for driver in drivers},
            driver=chosen,
            form=form,
            values=given,
            given=given,
            carried=carried(given),
            banks=BANKS,
            bank=next((bank for bank in BANKS if bank.id == query.get("bank")), None),
            makers=MAKERS,
            said={name: speaker(self._pages.language(request))(key) for name, key in FOUND_SCRIPT.items()},
            finds=self._finds(request, chosen),
            usual_name=self._usual_name(kind),
            known_names={**self._known_names(request), "profile": list(PROFILES)},
        )

    @app.route("/dm/devices/new/register", methods=["GET"])
    async def new_register(self, request: IRequest) -> bytes:
        """Add a register at the tax service, step by step."""
        say = speaker(self._pages.language(request))
        return self._pages.page(
            request,
            "new_register.html",
            taken=[device.name for device in self._core.devices],
            said={name: say(key) for name, key in REGISTER_SCRIPT.items()},
            server=SERVER_URL,
            cabinet=CABINET_URL,
        )

    def _usual_name(self, kind: str) -> str:
        """A free name, the usual one if possible: tills expect a printer `prn`."""
        taken = {device.name for device in self._core.devices}
        base = {REGISTER: "test", PRINTER: "prn", TERMINAL: "pos"}.get(kind, "device")
        names = [base, *(f"{base}{n}" for n in range(2, len(taken) + 3))]
        return next(name for name in names if name not in taken)

    @app.route("/dm/devices/<dev_id>", methods=["GET"])
    async def device(self, request: IRequest, dev_id: str) -> bytes:
        """One device: its state, actions and settings."""
        device = self._core.devices.by_id(dev_id)
        core, secrets = self._core, device.driver.secrets
        now = core.clock.now()
        open_ones = await unfinished(core.store, core.devices, now)
        values = without_secrets(device.driver, _settings_of(device))
        return self._pages.page(
            request,
            "device.html",
            device=await standing(device, self._core.devices),
            driver=device.driver,
            form=form_of(device.driver.schema(), secrets),
            values=values,
            sells=may_sell(permit_of(request)),
            has_strip="strip" in device.driver.capabilities,
            unfinished=[one for one in open_ones if one.dev_id == dev_id],
            payment=await last_payment(core.store, device) if device.kind == TERMINAL else None,
            has_key=isinstance(device.built, TaxServiceRegister),
            proposals=proposals(device.settings, day_of(now)),
            known_names={**self._known_names(request), "profile": list(PROFILES)},
            dated=dated_part(device.settings, day_of(now)) if isinstance(device.settings, RegisterSettings) else None,
            finds=self._finds(request, device.driver),
        )

    def _finds(self, request: IRequest, driver: Driver | None) -> dict[str, str]:
        """The texts of the button that finds out which register is there; empty for a driver that none finds."""
        if driver is None or driver.kind != REGISTER or driver.name not in RECOGNISED:
            return {}
        say = speaker(self._pages.language(request))
        return {name: say(key) for name, key in REGISTER_FOUND_SCRIPT.items()}

    def _known_names(self, request: IRequest) -> dict[str, list[str]]:
        """Names for the settings `batch.terminal`, `batch.printer`, `spare`."""
        return {kind: [one["name"] for one in self._named(request, kind)] for kind in (TERMINAL, PRINTER)}

    def _named(self, request: IRequest, kind: str) -> list[dict[str, str]]:
        devices = covered(self._core.devices, permit_of(request))
        return [{"name": device.name, "dev_id": device.row.dev_id} for device in devices if device.kind == kind]

    @app.route("/dm/main/me", methods=["GET"])
    async def me(self, request: IRequest) -> bytes:
        """Who is logged in, what they may do, and their password."""
        permit = permit_of(request)
        if permit.role is None or not permit.name:
            raise Refused(Res.UNKNOWN_DEVICE)
        devices = [device.name for device in covered(self._core.devices, permit)] if permit.bound else []
        return self._pages.page(request, "me.html", role=ROLE_NAMES[permit.role], devices=devices)

    # The interface for programs

    @app.route("/dm/api", methods=["GET"])
    async def interface(self, request: IRequest) -> bytes:
        """Every path, task and result code of the interface, with examples to try."""
        texts: dict[str, str] = {}
        if self._pages.language(request) == "uk":
            texts = msgspec.json.decode((files("web.openapi") / "uk.json").read_bytes())
        return self._pages.page(request, "api.html", texts=texts)

    # Errors

    def forbid(self, request: Request, why: Text) -> bytes:
        """403: the role does not allow it."""
        report_refusal(request)
        return self._pages.page(request, "forbidden.html", 403, why=why.for_language(self._pages.language(request)))

    @app.handle_errors(HTTPException)
    def no_such_page(self, request: IRequest, failure: Failure) -> bytes:
        """There is no such page, or it has no such method."""
        error = failure.value
        status = error.code if isinstance(error, HTTPException) and error.code in (404, 405) else 404
        return self._pages.page(request, "not_here.html", status)

    @app.handle_errors(Refused)
    def no_such_thing(self, request: IRequest, failure: Failure) -> bytes:
        """What the page would show does not exist."""
        return self._pages.page(request, "not_here.html", 404)

    @app.handle_errors(Exception)
    def failed(self, request: IRequest, failure: Failure) -> bytes:
        """An internal error, or a store that does not answer; the page says so in plain words."""
        self.log.failure("the page {path} could not be shown", failure, path=request.path)
        return self._pages.page(request, "failed.html", 503)


def _level(driver: Driver, state: Path | None) -> str:
    """The key of the words for a driver's conformance level."""
    found = found_of(driver, state)
    return f"level_{found.level}" if found is not None else "level_none"


def _settings_of(device: Device) -> dict[str, Any]:
    settings = msgspec.to_builtins(device.settings)
    return settings if isinstance(settings, dict) else {}


def _code_record(res: Res, language: str) -> CodeRecord:
    text, caller, cashier = (text.for_language(language) for text in (res.text, res.caller, res.cashier))
    return CodeRecord(text, int(res.action), caller, cashier)


_CODES = sorted(Res, key=lambda res: res.code)


def _matches(res: Res, query: str) -> bool:
    """Whether a line of the catalogue has the number ``query``, or all of its words in its texts."""
    if not query:
        return True
    if query.isdigit():
        return query in str(res.code)
    texts = " ".join((*res.text, *res.caller, *res.cashier)).casefold()
    return all(word in texts for word in query.casefold().split())
