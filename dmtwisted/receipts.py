"""The list of receipts of one register or of all (docs/reference/http-interface.md#list-of-receipts)."""

from __future__ import annotations

import msgspec

from dmtwisted.answers import Number, amount, success
from dmtwisted.clock import kyiv
from dmtwisted.devices.devices import Devices
from dmtwisted.devices.driver import REGISTER
from dmtwisted.documents import documents
from dmtwisted.requests import ListRequest, TaskRequest, malformed, read_moment
from dmtwisted.results import from_to, one_of
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery

PAGE_SIZE = 50
"""Receipts on a page when the request does not set a number."""
LARGEST_PAGE = 1000


class Paging(msgspec.Struct):
    """Which page this is."""

    page_number: int
    page_size: int
    total: int
    page_count: int


class ListedReceipt(msgspec.Struct):
    """One line of the list; ``type`` is the task number, ``datetime`` is ``DD.MM.YYYY hh.mm.ss``."""

    device: str
    datetime: str
    fisnum: str
    docno: str
    tag: str
    type: int
    sum: Number
    tax_sum: Number


class ReceiptList(msgspec.Struct):
    """``info`` of the answer."""

    paging: Paging
    docs: list[ListedReceipt]


async def list_receipts(request: TaskRequest, devices: Devices, store: IStore, at: int) -> bytes:
    """The answer to a request with ``fiscal.get_receipts``.

    :raises Refused: 1091 for an unknown register, 2000 for an invalid period or page.
    """
    assert request.fiscal is not None and request.fiscal.receipts is not None
    asked = request.fiscal.receipts
    names = _registers(asked, devices)
    size = asked.pg_cnt or PAGE_SIZE
    if not 1 <= size <= LARGEST_PAGE:
        raise malformed("fiscal.pg_cnt", from_to(1, LARGEST_PAGE))
    page = asked.pg_no or 1
    if page < 1:
        raise malformed("fiscal.pg_no", from_to(1))
    if asked.dt_order.lower() not in ("", "asc", "desc"):
        raise malformed("fiscal.dt_order", one_of("asc", "desc"))
    found = await store.find_documents(
        DocumentQuery(
            devices=list(names),
            kinds=list(documents.LISTED),
            at_from=read_moment("fiscal.dt_from", asked.dt_from, 0),
            at_to=read_moment("fiscal.dt_to", asked.dt_to, 1),
            newest_first=asked.dt_order.lower() != "asc",
            limit=size,
            offset=(page - 1) * size,
        )
    )
    info = ReceiptList(
        Paging(page, size, found.total, -(-found.total // size)),
        [_line(names[row.device_n], row.at, row.fiscal_number, row.value) for row in found.documents],
    )
    return success(request, at, info)


def _registers(asked: ListRequest, devices: Devices) -> dict[int, str]:
    """The registers whose receipts are listed, by their number in the store."""
    if asked.dev_name:
        chosen = [devices.by_name(asked.dev_name)]
    elif asked.dev_id:
        chosen = [devices.by_id(asked.dev_id)]
    else:
        chosen = list(devices)
    names = {device.row.n: device.name for device in chosen if device.kind == REGISTER}
    if not names:
        raise devices.unknown(asked.dev_name or asked.dev_id, REGISTER)
    return names


def _line(device: str, at: int, fiscal_number: str, value: bytes) -> ListedReceipt:
    document = documents.decode(value)
    taxes = document.receipt.taxes if document.receipt is not None else ()
    return ListedReceipt(
        device=device,
        datetime=f"{kyiv(at):%d.%m.%Y %H.%M.%S}",
        fisnum=fiscal_number,
        docno=str(document.number),
        tag=document.caller.tag,
        type=document.caller.task,
        sum=amount(document.report.calc_p if document.report is not None else document.sum),
        tax_sum=amount(sum(tax.tax_sum + tax.ex_sum for tax in taxes)),
    )
