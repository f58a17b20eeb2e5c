"""The specification, sentence by sentence, and the mark by which a test proves one of them.

Each row of the tables below is one rule that can be tested by itself: an id, and the rule in our own words.
``docs/reference/specification.md`` is made from them. An id is the rule's place in the specification:

========================  ====================================================================
``1.3.2``                 part 1, item 3, sentence 2
``1.4b.1``                part 1, item 4, second sub-bullet, sentence 1; so ``3.1c.1`` in section 3.1
``1.2.1.1``               one further number: the first of several rules in that one sentence
``2.2.tag``, ``8.port``   a row of a table, by its first column
``2.2.tag.2``             the second rule of that row
``3.2.2``, ``3.3.4``      ``res_action`` 2 of table 3.2; row 4 of table 3.3
``3.4.search1.no``        the row of table 3.4 for ``transaction_search`` 1 and no such transaction
``3.3.tag-tasks.1``       text beside a table has a word of ours in place of a number
========================  ====================================================================

Remarks that something is not shown are left out. "Register" is short for cash register.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

T = TypeVar("T")

MARK: Final = "promises"
"""The attribute of a test method, or of a test case, that holds the ids it proves."""


@dataclass(frozen=True)
class Sentence:
    """One rule of the specification."""

    id: str
    text: str


@dataclass(frozen=True)
class Part:
    """One numbered part of the specification, with its sentences in the order of the text."""

    number: int
    title: str
    sentences: tuple[Sentence, ...]


def read_part(number: int, title: str, table: str) -> Part:
    """
    Read ``table``: a row is an id, blanks and a text; an indented line continues the row above it.

    :raises ValueError: an id is not of this part, or the table opens with a continuation.
    """
    return Part(number, title, tuple(_sentences(number, table)))


def _sentences(number: int, table: str) -> Iterator[Sentence]:
    rows: list[list[str]] = []
    for line in filter(str.strip, table.splitlines()):
        if not line[0].isspace():
            rows.append(line.split(maxsplit=1))
        elif rows:
            rows[-1].append(line.strip())
        else:
            raise ValueError(f"part {number} opens with a continuation: {line.strip()!r}")
    for name, *lines in rows:
        if not name.startswith(f"{number}."):
            raise ValueError(f"{name!r} is not an id of part {number}")
        yield Sentence(name, " ".join(lines))


PARTS: Final[tuple[Part, ...]] = (
    read_part(
        1,
        "What the service does",
        """
1.1.1       The service is an application installed on a host.
1.1.2.1     There is a version for Windows.
1.1.2.2     There is a version for Linux.
1.1.2.3     There is a version for Android.

1.2.1.1     A started service runs a web server with a REST API.
1.2.1.2     The web server listens on TCP port 3939 by default.
1.2.2       A configuration file can name another port.

1.3.1.1     The web server answers on localhost.
1.3.1.2     The web server answers other machines of the network.
1.3.2       On Android only, a setting restricts access to localhost.

1.4.1       The default transport is HTTP.
1.4.2       On Windows and Linux an installed certificate turns on HTTPS.
1.4a.1      There is one web server at a time, HTTP or HTTPS, never both.
1.4b.1.1    With a valid certificate, requests are accepted over HTTPS only.
1.4b.1.2    With a valid certificate, the web interface opens over https only.
1.4b.2      Without a certificate, requests are accepted over HTTP only.
1.4c.1      The calling system has to trust the installed certificate.

1.5.1.1     The service works with fiscal registers.
1.5.1.2     The service works with printers.
1.5.1.3     The service works with payment terminals.
1.5.1.4     The service works with devices of other kinds.
1.5.2       Each device is added through a web interface.

1.6.1       The web interfaces open by the host's IP address, and by localhost for a local application.
1.6a.1      Registers and the application are set up at `/dm/main/`.
1.6b.1      Payment terminals are set up at `/dm/`.

1.7.1       Each kind of device has one endpoint for all its actions.
1.7a.1      `device` of a request says which device is meant.
1.7b.1      `type` of a request says which kind of task is meant.
1.7c.1      `task` of a request says which task is meant.

1.8.1.1     The web interface can be put behind a login and password.
1.8.1.2     The settings methods of the API can be put behind a login and password.

1.9a.1      Requests run in parallel unless a rule below says otherwise.
1.9b.1.1    The default database is an embedded SQLite.
1.9b.1.2    On SQLite, requests for information on registers, receipts, terminals or printers share one queue.
1.9b.1.3    On SQLite, every edit of settings goes through the same queue.
1.9b.1.4    On SQLite, every fiscalization of a receipt goes through the same queue.
1.9b.2      On SQLite, that queue causes visible delays under heavy load or on slow storage.
1.9c.1.1    On MS SQL, receipts of two registers are processed in parallel.
1.9c.1.2    On PostgreSQL, receipts of two registers are processed in parallel.
1.9c.1.3    On MS SQL, all other requests run in parallel too.
1.9c.1.4    On PostgreSQL, all other requests run in parallel too.
1.9d.1.1    A register takes one task at a time.
1.9d.1.2    A printer takes one task at a time.
1.9d.1.3    A terminal takes one task at a time.
1.9d.1.4    One turn per device spans `/dm/execute`, `/dm/execute-prn` and `/dm/execute-pkg`.
1.9d.2      A request for a busy device is answered 1105; a request for another device is not.
1.9d.3      A busy register answers 1105 at once.
1.9d.4.1    A request for a busy printer waits in a mini-queue for up to 15 seconds.
1.9d.4.2    A request for a busy terminal waits in a mini-queue for up to 15 seconds.
1.9d.4.3    A waiting request is executed when the first task ends within the 15 seconds.
1.9d.4.4    After 15 seconds a waiting request is answered 1105.
1.9e.1.1    Requests to all other endpoints run in parallel.
1.9e.1.2    No other endpoint ever answers 1105.

1.10.1.1    A register task can be repeated safely under its `tag`.
1.10.1.2    A terminal task can be repeated safely by `transaction_id` and `transaction_search`.

1.11.1.1    How long receipts are kept can be changed on the settings page.
1.11.1.2    How long terminal operations are kept can be changed on the settings page.
1.11a.1     Receipts are kept for 40 days by default.
1.11b.1     Terminal operations are kept for 90 days by default.
1.11c.1.1   A result can be retrieved by its `tag` only while it is stored locally.
1.11c.1.2   A result can be retrieved by its `transaction_id` only while it is stored locally.
""",
    ),
    read_part(
        2,
        "Resources and their fields",
        """
2.1.device.1                A device's name is an arbitrary string.
2.1.device.2                The name is given when the device is created, whatever its kind.
2.1.device.3                No two devices of the application share a name.
2.1.device.4                Task requests address the device by this name.

2.2.device.1                `device`, a string, names the device that performs the task.
2.2.device.2                A name that no device has is answered 1091.
2.2.type.1                  `type` is an integer, and 0 asks for a look-up by `tag` alone.
2.2.type.2                  A shortened request without `type` is a look-up by `tag` too.
2.2.type.3                  `type` 1 is a fiscal task: an action of a register.
2.2.type.4                  `type` 2 is a doc task: printing or another printer operation.
2.2.type.5                  `type` 3 is a pay task: a payment or another terminal operation.
2.2.task.1                  `task` is an integer: the number of the task inside its kind.
2.2.task.2                  A register's task number is in the object `fiscal`.
2.2.task.3                  A terminal's task number is in the object `pay`.
2.2.tag.1                   `tag` is a string, the unique key of a register task.
2.2.tag.2                   A `tag` has at most 200 characters.
2.2.tag.3                   Each new fiscalization of a register needs a `tag` not yet used on that register.
2.2.tag.4                   Two registers may use the same `tag` independently.
2.2.tag.5                   A task that supports `tag` and has none gets a UUID, which is returned.
2.2.transaction_id.1        `transaction_id` is a UUID (v5) in a string that labels a terminal transaction.
2.2.transaction_id.2        A value that is not a UUID is replaced by a UUID of the service, which is returned.
2.2.transaction_id.3        The label need not be unique: several operations may have the same one.
2.2.transaction_id.4        Of several operations under one label, the latest by date is returned.
2.2.transaction_search      `transaction_search`, an integer 0, 1 or 2, selects how a terminal looks up.
2.2.skipprint               `skipprint`, a boolean: `true` in batch mode keeps the receipt from being printed.

2.2.fiscal.receipt.sum      `fiscal.receipt.sum` is the receipt's total.
2.2.fiscal.receipt.disc     `fiscal.receipt.disc` is a discount on the receipt as a whole.
2.2.fiscal.receipt.rows.1   `fiscal.receipt.rows` is an array of the receipt's items.
2.2.fiscal.receipt.rows.2   A row has its own `sum`.
2.2.fiscal.receipt.rows.3   A row has its own `disc`, a discount on that item.
2.2.fiscal.receipt.pays.1   `fiscal.receipt.pays` holds the payments of the receipt.
2.2.fiscal.receipt.pays.2   A payment has the code of its payment type or group.
2.2.fiscal.receipt.pays.3   Each payment of an income or expense receipt needs `paysys`, `rrn`, `cardmask`.
2.2.fiscal.receipt.pays.4   The change of a payment of an income or expense receipt is not negative.
2.2.dev_name                `dev_name` names the terminal device in service tasks.
2.2.refundid                `refundid` of a refund is the RRN of the refunded transaction.
2.2.rrn                     `rrn` of a refund is the RRN of the refunded transaction.
2.2.cancelid                `cancelid` is the number of the transaction to cancel.

2.2.typing.1                Values in a request are of the described type, such as a JSON number for `sum`.
2.2.typing.2                A number is accepted in a numeric string as well.
2.2.typing.3                An empty value may be written `""`.
2.2.typing.4                An array may be empty: `[]`.
2.2.typing.5                Any other value of a wrong type, such as `""` for an array, is an error.
2.2.typing.6                JSON of a malformed structure is answered 2000.

2.3.ver                     `ver` is an integer: the version of the structure of requests and responses.
2.3.resp_ver.1              `resp_ver` is an integer: the version of the response's structure.
2.3.resp_ver.2              Some responses come without `resp_ver`.
2.3.source.1                `source` is a string that repeats the `source` of the request.
2.3.source.2                `source` may be empty.
2.3.device                  `device` is a string: the name of the device.
2.3.tag.1                   `tag` is a string: the key as the caller gave it.
2.3.tag.2                   `tag` is the key made by the service when the caller gave none.
2.3.task_status.1           `task_status` is an integer: the state of the task.
2.3.task_status.2           `task_status` is 2 when a stored result was found by `tag`.
2.3.task_status.3           `task_status` is 3 in the response to an error.
2.3.type                    `type` is an integer: the kind of task, 0 to 3.
2.3.task.1                  `task` is an integer: the number of the task.
2.3.task.2                  `task` is -1 when a look-up by `tag` found nothing.
2.3.dt.1                    `dt` is a moment to the millisecond: a string of 17 digits, `yyyyMMddHHmmssSSS`.
2.3.dt.2                    `dt` is an empty string when a look-up found nothing.
2.3.res.1                   `res` is an integer: the result code, 0 on success.
2.3.res.2                   `res` is above 0 on every failure.
2.3.res_action              `res_action` is an integer from 0 to 3 that classifies the outcome.
2.3.errortxt.1              `errortxt` is a string: the error in the user's language.
2.3.errortxt.2              `errortxt` is empty on success.
2.3.aq_errortxt.1           `aq_errortxt` is a string: what the acquirer or bank adds to the error.
2.3.aq_errortxt.2           `aq_errortxt` may be empty.
2.3.warnings.1              `warnings` is an array of warnings.
2.3.warnings.2              `warnings` may be empty.
2.3.fraction.1              From 7.0 a number of a fractional nature (2 or 3 decimals) keeps its fraction
                            when it is whole: `2.0`, not `2`.
2.3.fraction.2              Clients have to tolerate `2.0` where a whole number is meant.

2.4.DMUIToken.1             `DMUIToken` is a cookie that the response to a login sets.
2.4.DMUIToken.2             `DMUIToken` is the session's token; the client sends it back in the header `Cookie`.
2.4.x-api-key.1             `x-api-key` is a request header that carries the API key.
2.4.x-api-key.2             An API key may have any format.
""",
    ),
    read_part(
        3,
        "States and transitions",
        """
3.1a.1             The shift of a register is open or closed.
3.1b.1             A register is online or offline.
3.1c.1             A register offline for more than 35 hours may only close its shift (task 11).
3.1d.1.1           After an emergency key replacement on an open shift, the register may close the shift.
3.1d.1.2           After that replacement, receipts are refused.
3.1d.1.3           After that replacement, going offline is refused.
3.1e.1.1           A register is "not in use" until it has been initialized.
3.1e.1.2           The error for a register not in use is 2011; it recommends opening a shift.
3.1f.1             A terminal's batch stays open until a general report closes it.

3.2.0.1            `res_action` is 0 when the receipt or report was fiscalized.
3.2.0.2            With `res_action` 0, `res` is always 0; the caller is done.
3.2.1.1            `res_action` is 1 when the task failed, for example when signing failed.
3.2.1.2            With `res_action` 1, `res` is above 0.
3.2.1.3            After `res_action` 1 the caller may send the request again under the same `tag`.
3.2.2.1            `res_action` is 2 for a collision: receipt sent, outcome unknown, going offline not possible.
3.2.2.2            With `res_action` 2, `res` is above 0.
3.2.2.3            The next task of any kind repairs the collision automatically.
3.2.2.4            After a collision, repeating the last task under its `tag` keeps it one transaction.
3.2.3.1            `res_action` is 3 when the input is wrong.
3.2.3.2            `res_action` is 3 when the state of the shift forbids the operation.
3.2.3.3            `res_action` is 3 for a fault of the application that needs support.
3.2.3.4            With `res_action` 3, `res` is above 0.
3.2.3.5            A repeat after `res_action` 3 fails again until the input or the fault is corrected.

3.3.1.1            A successful receipt stored for that device under the `tag` is answered in full.
3.3.1.2            A successful Z-report stored for that device under the `tag` is answered in full.
3.3.1.3            The stored response comes with `task_status` 2.
3.3.1.4            Nothing is fiscalized when a stored result is found.
3.3.1.5            A result stored under the same `tag` for another device is not found.
3.3.2.1            `type` 1 under a known `tag` returns the response of the earlier receipt.
3.3.2.2            `type` 1 under a known `tag` fiscalizes nothing new.
3.3.2.3            The text of error 1051 describes this repeat.
3.3.3.1            `type` 0 that finds nothing gives `res` 1058.
3.3.3.2            `type` 0 that finds nothing gives `task` -1.
3.3.3.3            `type` 0 that finds nothing gives `task_status` 3.
3.3.3.4            `type` 0 that finds nothing gives `res_action` 1.
3.3.3.5            A shortened request that finds nothing is answered in the same way.
3.3.4              `type` 1 under a `tag` not yet known fiscalizes.
3.3.only-success   A `tag` finds successful operations only: receipts that were created and Z-reports.
3.3.other-task.1   The kind of task in the request is not compared with that of the stored one.
3.3.other-task.2   A used `tag` on a later request with another task number returns the earlier receipt.
3.3.tag-tasks.1    The register tasks 0, 1, 2, 3, 4, 11, 14, 15 and 16 carry a `tag`.
3.3.tag-tasks.2    No other register task carries a `tag`.
3.3.tag-tasks.3    Tasks without a `tag` run on fresh data every time.

3.4.search0        `transaction_search` 0 starts a new operation on the terminal, known transaction or not.
3.4.search1.yes.1  `transaction_search` 1 returns the stored result of a known transaction.
3.4.search1.yes.2  `transaction_search` 1 does not contact the terminal when the transaction is known.
3.4.search1.no     `transaction_search` 1 for an unknown transaction is answered 5013.
3.4.search2.yes.1  `transaction_search` 2 returns the stored result of a known transaction.
3.4.search2.yes.2  `transaction_search` 2 does not contact the terminal when the transaction is known.
3.4.search2.no     `transaction_search` 2 for an unknown transaction goes to the terminal.
3.4.stored.1       Results of successful terminal operations are stored.
3.4.stored.2       Results of failed terminal operations are stored too.
3.4.stored.3       An operation that ended in a connection error is stored.
3.4.stored.4       An operation that ended in an error of the terminal is stored.
""",
    ),
    read_part(
        4,
        "Endpoints",
        """
4.json             Requests and responses have bodies of JSON.

4.1.login          `POST /login` takes JSON with `login` and `pass` and sets the cookie `DMUIToken`.
4.1.execute        `POST /dm/execute` takes tasks of registers and of terminals.
4.1.execute-prn    `POST /dm/execute-prn` takes tasks of printers.
4.1.execute-pkg    `POST /dm/execute-pkg` takes a receipt together with its payment at a terminal.
4.1.dashboard      `GET /dm/main/api/v1/dashboard` returns the data of the dashboard.
4.1.one-task       The three task endpoints take one task of a device at a time.

4.2.numbers.1      A register supports the tasks 0 to 4 and 10 to 16.
4.2.numbers.2      A number of `fiscal.task` that is not supported is 307.
4.2.cash.1         A return in cash needs enough cash in the drawer.
4.2.cash.2         Cash out needs that much cash in the drawer.
4.2.card           A cash withdrawal to a card (14) is paid by card.

4.3.1.1            A request with `device` and `tag` alone looks up a fiscalized receipt.
4.3.1.2            A request of type 0 does the same.
4.3.1.3            A look-up fiscalizes nothing.
4.3.2              A shortened request is enough to read a receipt that is not to be printed.

4.4.numbers.1      A terminal has the tasks 1 to 8, 10, 11 and 14 to 17.
4.4.numbers.2      An unknown number of `pay.task` is 317.
4.4.numbers.3      A task that this terminal does not support is 5029.
4.4.label.1        The answer to each of the tasks 1 to 8, 11 and 14 to 17 carries a `transaction_id`.
4.4.label.2        Other operations, such as task 10 and the list of merchants, carry none.
4.4.17             Task 17 returns a stored operation by its identifier, or the last one.

4.5.2              Without the keys a request goes to the terminal.
4.5.3              Of several operations with one `transaction_id` the latest is returned.

4.6.1.1            Batch mode takes a `tag`.
4.6.1.2            A `tag` is recommended in batch mode.
4.6.1.3            Batch mode ignores `transaction_id` and `transaction_search`.
4.6.2              The `tag` is looked up before the terminal is contacted.
4.6.3.1            For a receipt that exists neither register nor terminal does anything.
4.6.3.2            The stored result of such a receipt is returned.
4.6.4              `skipprint` keeps the receipt from being printed.

4.7.clients.1      A client waits at least 20 seconds for a register.
4.7.clients.2      A client waits 6 seconds for a printer.
4.7.clients.3      A client waits for a terminal 10 seconds longer than the wait of its settings.
4.7.register.1     A receipt takes up to about a second, opening or closing a shift up to about five.
4.7.register.2     Going offline by itself may make a register's answer later.
4.7.printer        A print job that cannot be delivered within 5 seconds is answered with an error.
4.7.terminal       A terminal has to reply within the wait of its settings.
""",
    ),
    read_part(
        5,
        "Authentication",
        """
5.1.1.1    Authentication is optional and off by default.
5.1.1.2    The settings switch authentication on.
5.1.1.3    Authentication can be switched on through the API too.

5.2.1      There is one login with one password.
5.2.2      Several users with different rights are not supported.

5.3a.1     With authentication on, the web interface requires a login.
5.3b.1.1   With authentication on, every URL that contains `/api/v1/` is blocked.
5.3b.1.2   With authentication on, every URL that contains `/api/v2/` is blocked.
5.3b.1.3   With authentication on, every URL that contains `/api/v3/` is blocked.
5.3b.1.4   A blocked method is answered with a redirect to the login page.
5.3c.1.1   Authentication does not affect `/dm/execute`.
5.3c.1.2   Authentication does not affect the other task endpoints.

5.4.1.1    The web interface stays open until 10 minutes have passed without activity.
5.4.1.2    After those 10 minutes the user has to log in again.

5.5a.1     `POST /login` takes JSON with `login` and `pass`.
5.5a.2     A login with correct data sets the cookie `DMUIToken`.
5.5a.3     That cookie in the header `Cookie` opens blocked methods.
5.5a.4.1   The cookie lives for 15 minutes without requests.
5.5a.4.2   Each request renews the cookie.
5.5a.5     After the cookie has expired, a new login gives a new cookie.
5.5b.1.1   Requests to `/api/v1/` may carry the header `x-api-key`.
5.5b.1.2   Requests to `/api/v2/` may carry the header `x-api-key`.
5.5b.1.3   Requests to `/api/v3/` may carry the header `x-api-key`.
5.5b.2     With a correct key a request has its usual result and needs no login.
5.5b.3.1   A request with a wrong key is redirected to the login page.
5.5b.3.2   A request with a wrong key and a valid session cookie is not redirected.

5.6.1.1    The web interface opens by login and password only.
5.6.1.2    An API key does not open the web interface.

5.7.1      Authentication blocks programs that use other methods than receipts, payments and printing.
5.7.2      Authentication may make a terminal fail that is used through a cloud cabinet.
""",
    ),
    read_part(
        7,
        "Errors",
        """
7.0.1      An error is reported in the body: `res`, `errortxt`, `res_action`, and `task_status` 3.
7.0.2      The texts of errors come in the caller's language.
7.codes.1  Each published code has its published meaning.
7.codes.2  A code that this service never returns is listed with the reason.
""",
    ),
    read_part(
        8,
        "Limits",
        """
8.port                 The web server's default port is 3939.
8.tag-length           A register task's `tag` has no more than 200 characters.
8.one-task.1           A register has one task at a time over the three task endpoints.
8.one-task.2           A printer has one task at a time over the three task endpoints.
8.one-task.3           A terminal has one task at a time over the three task endpoints.
8.mini-queue.1         The wait for a busy printer is 15 seconds, and then 1105.
8.mini-queue.2         The wait for a busy terminal is 15 seconds, and then 1105.
8.printer-delivery     A print job has 5 seconds to be delivered.
8.terminal-wait.1      A terminal has 300 seconds to reply by default.
8.terminal-wait.2      The wait for a reply can be changed for each terminal.
8.web-inactivity       The web interface stays open for 10 minutes without activity.
8.cookie-lifetime.1    A session cookie of the API lives for 15 minutes without requests.
8.cookie-lifetime.2    Each request renews the session cookie.
8.receipt-retention    The local database keeps receipts for 40 days by default.
8.operation-retention  The local database keeps terminal operations for 90 days by default.
8.offline.1            The tax service blocks a register after 168 hours offline in a month.
8.offline.2            A register offline for more than 35 hours may only close its shift.
8.key-expiry           A signing key valid for less than 3 days keeps its register from going offline.
8.date-mismatch        A register's date may be off by less than 30 minutes.
8.rounding             The rounding of a receipt is from -0.99 to 0.99.
8.minimum-price        After its discount an item costs 0.01 or more.
""",
    ),
    read_part(
        9,
        "Versioning",
        """
9.1        A change of the interface comes with a new version of the application.
9.2        The settings and information methods have `/api/v1/`, `/api/v2/` or `/api/v3/` in their paths.
9.3.1      Answers carry `ver`.
9.3.2      Some answers carry `resp_ver`.
9.4        Fractional numbers in answers keep a trailing zero fraction.
9.5        A version that is no longer supported gets 1125 when a receipt is made.
""",
    ),
)

SECTIONS: Final[dict[str, str]] = {
    "1.1": "Application",
    "1.2": "Web server",
    "1.3": "Reach",
    "1.4": "Transport",
    "1.5": "Devices",
    "1.6": "Web interfaces",
    "1.7": "Addressing",
    "1.8": "Protection",
    "1.9": "Concurrency",
    "1.10": "Repeats",
    "1.11": "Retention",
    "2.1": "Device",
    "2.2": "Request",
    "2.3": "Response",
    "2.4": "Session and key",
    "3.1": "Device states",
    "3.2": "Outcomes",
    "3.3": "Look-up by tag",
    "3.4": "Look-up at terminals",
    "4.1": "Paths",
    "4.2": "Register tasks",
    "4.3": "Look-up alone",
    "4.4": "Terminal tasks",
    "4.5": "Terminal transactions",
    "4.6": "Batch mode",
    "4.7": "Time-outs",
    "5.1": "Switch",
    "5.2": "Login",
    "5.3": "What is blocked",
    "5.4": "Inactivity",
    "5.5": "Session and key",
    "5.6": "Web interface",
    "5.7": "Other methods",
    "7.1": "General codes",
    "7.2": "Register codes",
    "7.3": "Terminal codes",
    "7.4": "Printer codes",
}
"""The titles of the sections. A part of one table, and a rule beside its sections, has none."""

WITHOUT_TEST: Final[dict[str, str]] = {
    "1.1.2.3": "there is no version for Android",
    "1.3.2": "there is no version for Android",
    "1.5.1.4": "no such task is published, so no driver exists",
    "1.9b.2": "[performance.md](../performance.md) has the figures",
    "4.6.1.2": "it is advice; [integrating.md](../integrating.md) gives it too",
    "4.7.register.1": "[performance.md](../performance.md) has the figures",
    "5.7.2": "no cloud cabinet reaches a terminal through this service",
    "9.5": "only a cloud cabinet returns it; a training register does on demand",
}
"""Why a sentence has no test, for those that cannot have one."""

SENTENCES: Final[tuple[Sentence, ...]] = tuple(sentence for part in PARTS for sentence in part.sentences)

_IDS: Final = frozenset(sentence.id for sentence in SENTENCES)


def promises(*ids: str) -> Callable[[T], T]:
    """
    Mark a test method (or a whole TestCase) as proof of sentences of the specification.

    A mark on a class is inherited, as its tests are; a second mark adds to the first.

    :raises ValueError: an id names no sentence.
    """
    unknown = [name for name in ids if name not in _IDS]
    if unknown:
        raise ValueError(f"no such sentence in tests/specification.py: {', '.join(unknown)}")

    def mark(test: T) -> T:
        before: tuple[str, ...] = getattr(test, MARK, ())
        setattr(test, MARK, tuple(dict.fromkeys((*before, *ids))))
        return test

    return mark
