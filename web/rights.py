"""Which roles may use which route; an administrator may use all of them (docs/security.md has the table).

A route that is not listed is an administrator's, and a test fails. A device in the path is checked against the permit
here. What a route reads besides, its own module narrows to the devices of the permit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from twisted.web.iweb import IRequest

from dmtwisted.access.roles import BOUND, NOBODY, ROLE_NAMES, Permit, Role
from dmtwisted.devices.devices import Device, Devices, register_settings
from dmtwisted.devices.driver import REGISTER
from dmtwisted.papers import DEFAULT_PRINTER
from dmtwisted.plain_sales import plain_sale
from dmtwisted.registers.interface import (
    COPY,
    LAST_COPY,
    LAST_NUMBERS,
    NUMBER,
    STATUS,
    SUMMARY_BY_DATE,
    SUMMARY_BY_NUMBER,
    X_REPORT,
)
from dmtwisted.registers.settings import BatchSettings
from dmtwisted.requests import TYPE_FISCAL, TYPE_LOOKUP, TaskRequest, read_json, read_task
from dmtwisted.results import Refused, Text

EXECUTE, PRINTED, BATCH = "POST /dm/execute", "POST /dm/execute-prn", "POST /dm/execute-pkg"
CLOUD = "POST /api/v3/fiscal/execute"

_MANAGER, _CASHIER, _INTEGRATOR, _WATCHER = Role.MANAGER, Role.CASHIER, Role.INTEGRATOR, Role.WATCHER
_API, _V1 = "/dm/api/v3", "/dm/main/api/v1"
_DEVICE = f"{_API}/devices/{{dev_id}}"

TASKS = (
    *(EXECUTE, PRINTED, BATCH, "GET /dm/bankping", "GET /dm/bankecho", "GET /dm/getmerchantlist"),
    *("GET /dm/execute", "GET /dm/execute-prn", "GET /dm/execute-pkg"),
    *("GET /dm/getmasklist", "GET /dm/getgetmasklist", "GET /dm/transaction-status", "GET /dm/lasttransaction"),
)
"""Tasks and service methods: open to everybody unless `task_keys` or the hardened profile is on."""

_GROUPS: tuple[tuple[frozenset[Role], tuple[str, ...]], ...] = (
    (
        frozenset(Role),
        (
            *("GET /login", "POST /login", "POST /logout"),
            *("GET /health/live", "GET /health/ready", "GET /metrics"),
        ),
    ),
    (
        frozenset({_MANAGER, *BOUND}),
        TASKS,
    ),
    (
        frozenset(Role),
        (
            *("GET /", "GET /dm", "GET /dm/", "GET /dm/main", "GET /dm/main/", "GET /dm/main/dashboard.html"),
            *("GET /dm/main/settings.html", "GET /dm/devices", "GET /dm/devices/", "GET /dm/devices/{dev_id}"),
            *("GET /dm/main/codes", "GET /dm/main/codes.json", "GET /dm/api", "GET /dm/static/{name}", CLOUD),
            *(f"GET {_API}/openapi.json", f"GET {_API}/postman.json", f"GET {_API}/tls/authority.pem"),
            *(f"GET {_API}/devices", f"GET {_DEVICE}", f"GET {_API}/drivers"),
            *(f"GET {_API}/events", f"GET {_API}/events/stored"),
            *(f"GET {_V1}/dashboard", "GET /dm/api/v1/sys_info"),
            *("GET /dm/main/me", f"POST {_API}/users/me/password", "GET /dm/main/feed"),
        ),
    ),
    (
        frozenset({_MANAGER, *BOUND}),
        (
            *("GET /dm/main/receipts.csv", "GET /dm/main/receipts", "GET /dm/main/receipts/{dev_id}/{number}"),
            *("GET /dm/main/goods", f"GET {_API}/goods", f"GET {_API}/goods/export"),
            *("GET /dm/main/receipts/{dev_id}/{number}/picture", "GET /dm/main/registers/{dev_id}"),
            "GET /dm/main/receipts/{dev_id}/{number}/qr",
            *("GET /dm/main/day", "GET /dm/main/day/{picture}"),
            *(f"GET {_API}/receipts", f"GET {_API}/receipts/{{dev_id}}/{{number}}"),
            *(f"GET {_API}/operations", f"GET {_API}/jobs", f"GET {_DEVICE}/strip"),
            *(f"GET {_V1}/prro", f"GET {_V1}/prro/groups"),
        ),
    ),
    (
        BOUND,
        (
            *("GET /dm/main/sell", "GET /dm/main/registers/{dev_id}/sell", f"POST {_DEVICE}/reckon"),
            *("GET /dm/main/receipts/{dev_id}/{number}/return", f"POST {_API}/receipts/{{dev_id}}/{{number}}/return"),
            *(f"POST {_DEVICE}/check", f"POST {_DEVICE}/interrupt"),
            *(f"POST {_API}/jobs/{{n}}/reprint", f"POST {_API}/operations/{{n}}/slip"),
            *("GET /dm/main/practise", f"GET {_DEVICE}/scenario", f"PUT {_DEVICE}/scenario", f"GET {_DEVICE}/ledger"),
            f"POST {_API}/receipts/{{dev_id}}/{{number}}/mail",
        ),
    ),
    (
        frozenset({_INTEGRATOR}),
        (*("GET /dm/main/console", f"GET {_API}/training/clock"),),
    ),
    (
        frozenset({_MANAGER}),
        (f"GET {_API}/accounts", f"POST {_API}/goods", f"DELETE {_API}/goods", f"POST {_API}/goods/import"),
    ),
    (frozenset({_MANAGER, _WATCHER}), (f"GET {_API}/doctor", f"GET {_API}/tls")),
    (
        frozenset(),
        (
            *("GET /dm/main/first", "GET /dm/devices/new", "GET /dm/devices/new/register", "GET /dm/main/settings"),
            *(f"POST {_API}/tax-key", f"GET {_API}/found"),
            *(f"{method} {_API}/search" for method in ("GET", "POST", "DELETE")),
            *(f"GET /dm/main/settings/{area}" for area in ("certificate", "changes", "database", "doctor", "log")),
            *("GET /dm/main/settings/mail", "GET /dm/main/settings/webhooks"),
            *(f"{method} {_API}/webhooks" for method in ("GET", "POST")),
            *(f"{method} {_API}/webhooks/{{id}}" for method in ("PATCH", "DELETE")),
            *(f"POST {_API}/webhooks/{{id}}/{what}" for what in ("rotate", "test", "dead/retry")),
            *(f"GET {_API}/webhooks/{{id}}/dead", f"POST {_API}/webhooks/{{id}}/dead/{{n}}/retry"),
            f"DELETE {_API}/webhooks/{{id}}/dead/{{n}}",
            *(f"GET {_API}/mail", f"POST {_API}/mail/test", f"POST {_API}/mail/{{n}}/retry"),
            f"DELETE {_API}/mail/{{n}}",
            *(f"POST {_API}/devices", f"PATCH {_DEVICE}", f"DELETE {_DEVICE}", f"POST {_API}/check"),
            *(f"GET {_DEVICE}/tax-objects", f"GET {_DEVICE}/protocol"),
            *(f"POST {_DEVICE}/go-offline", f"POST {_DEVICE}/go-online"),
            *(f"PUT {_API}/training/clock", f"POST {_API}/operations/{{n}}/settle"),
            *(f"GET {_API}/api-keys", f"POST {_API}/api-keys", f"DELETE {_API}/api-keys/{{id}}"),
            *(f"POST {_API}/api-keys/{{id}}/replace", f"PATCH {_API}/api-keys/{{id}}"),
            *(f"GET {_API}/users", f"POST {_API}/users", f"PATCH {_API}/users/{{id}}", f"DELETE {_API}/users/{{id}}"),
            *(f"POST {_API}/tls", f"DELETE {_API}/tls", f"POST {_API}/tls/reload", f"POST {_API}/tls/authority"),
            *(f"GET {_API}/log", f"GET {_API}/diagnostics", f"POST {_API}/doctor", f"POST {_API}/doctor/fix"),
            *(f"GET {_API}/backups", f"POST {_API}/backups", f"GET {_API}/backups/{{name}}"),
            *(f"GET {_API}/database", f"POST {_API}/database/check"),
            *(f"GET {_API}/changes", f"GET {_API}/changes/export"),
            *(f"GET {_V1}/settings", f"POST {_V1}/settings", f"POST {_V1}/prro", f"POST {_V1}/prro/sign"),
        ),
    ),
)
"""The roles beside the administrator, and the routes that they may use."""

RIGHTS = {route: roles for roles, routes in _GROUPS for route in routes}
"""The roles of each route, by its method and path as the OpenAPI document has them."""

READING = frozenset({X_REPORT, SUMMARY_BY_NUMBER, SUMMARY_BY_DATE, STATUS, NUMBER, LAST_NUMBERS, LAST_COPY, COPY})
"""Tasks of a register that a manager may ask for: reports and copies, nothing that makes a document."""


def permit_of(request: IRequest) -> Permit:
    """What the caller of ``request`` may do, as the gate found."""
    permit: Permit = getattr(request, "permit", NOBODY)
    return permit


def route_of(method: bytes, path: str) -> str:
    """The route of a method and a path, or of the rule that Klein has for it."""
    named = b"GET" if method == b"HEAD" else method
    return named.decode("latin-1") + " " + _PART.sub(r"{\1}", path)


_PART = re.compile(r"<(?:\w+:)?(\w+)>")


def may(permit: Permit, route: str) -> bool:
    """Whether ``permit`` allows ``route``, on any device."""
    return permit.whole or permit.role in RIGHTS.get(route, ())


def may_sell(permit: Permit) -> bool:
    """Whether ``permit`` allows tasks that make documents, too, on its devices."""
    return may(permit, EXECUTE) and (permit.whole or permit.bound)


def refusal_of(permit: Permit, route: str, dev_id: str | None = None) -> Text | None:
    """Why ``permit`` does not allow ``route``, on the device with this id if there is one; `None` when it does."""
    if not may(permit, route):
        return _not_for(permit)
    if dev_id is not None and not permit.covers(dev_id):
        return _not_its(permit)
    return None


def refusal_of_task(permit: Permit, route: str, body: bytes, printer: str, devices: Devices) -> Text | None:
    """Why ``permit`` does not allow a task; `None` when it does, or when the task fails without it.

    Every device that the task uses has to be allowed: that of the request, the printer of its paper, and in batch
    mode those of the register's settings.
    """
    if not may(permit, route):
        return _not_for(permit)
    try:
        request = plain_sale(body) or read_task(read_json(body), route == BATCH)
    except Refused:
        return None
    if not permit.bound and not _reads(request):
        return _not_for(permit)
    return _uncovered(permit, _used(request, route, printer, devices))


def refusal_of_method(permit: Permit, route: str, terminal: str, devices: Devices) -> Text | None:
    """Why ``permit`` does not allow a service method of a terminal; `None` when it does."""
    return refusal_of(permit, route) or _uncovered(permit, [_named(devices, terminal)])


def refusal_of_printer(permit: Permit, printer: str, devices: Devices) -> Text | None:
    """Why ``permit`` does not allow paper on a ``printer``; `None` when it does."""
    return _uncovered(permit, [_named(devices, printer)])


def _reads(request: TaskRequest) -> bool:
    if request.type == TYPE_LOOKUP or (request.fiscal is not None and request.fiscal.receipts is not None):
        return True
    return request.type == TYPE_FISCAL and request.task in READING


def _used(request: TaskRequest, route: str, printer: str, devices: Devices) -> Iterator[Device | None]:
    device = _named(devices, request.device)
    yield device
    asked = request.fiscal.receipts if request.fiscal is not None else None
    if asked is not None:
        named = asked.dev_name or asked.dev_id
        yield from [_named(devices, named)] if named else (one for one in devices if one.kind == REGISTER)
    elif route == BATCH and device is not None:
        batch = register_settings(device).batch or BatchSettings()
        names = (batch.terminal, "" if request.skipprint else batch.printer or DEFAULT_PRINTER)
        yield from _there(devices, names)
    elif route == PRINTED:
        yield from _there(devices, [printer])


def _there(devices: Devices, names: Iterable[str]) -> Iterator[Device]:
    """Those of the devices that there are: paper for a printer that does not exist goes nowhere."""
    yield from (device for device in (_named(devices, name) for name in names) if device is not None)


def _named(devices: Devices, name: str) -> Device | None:
    """The device with this name or id."""
    for find in (devices.by_name, devices.by_id):
        try:
            return find(name)
        except Refused:
            continue
    return None


def _uncovered(permit: Permit, used: Iterable[Device | None]) -> Text | None:
    """Why one of the devices may not be used. Whoever is bound to some does not hear which others there are."""
    for device in used:
        if permit.bound and (device is None or not permit.covers(device.row.dev_id)):
            return _not_its(permit)
    return None


def _not_for(permit: Permit) -> Text:
    role = ROLE_NAMES[permit.role] if permit.role is not None else Text("ніхто", "nobody")
    return Text(
        f"роль «{role.uk}» не має на це права; зверніться до адміністратора сервісу",
        f'the role "{role.en}" has no right to this; ask an administrator of the service',
    )


def _not_its(permit: Permit) -> Text:
    return Text(
        f"для «{permit.name}» цей пристрій не дозволено; адміністратор може додати його в налаштуваннях сервісу",
        f'this device is not allowed for "{permit.name}"; an administrator can add it in the settings of the service',
    )
