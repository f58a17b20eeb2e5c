"""Messages of nexo as Adyen's terminals send and read them.

The first request, its encryption and the derived keys were produced by running @adyen/api-library 32.1.0; the other
messages are composed from the fields of Adyen's Terminal API documentation.
"""

from __future__ import annotations

from typing import NamedTuple

from protocols.terminals.nexo.messages import (
    Abort,
    Category,
    Header,
    NexoAnswer,
    Payment,
    PaymentAnswer,
    Reference,
    Request,
    Response,
    Result,
    Status,
    StatusAnswer,
    Transaction,
)

POI_ID = "V400m-346403161"
SALE = Transaction("T1", "2026-01-01T10:00:00+00:00")
ABOUT = Reference("Payment", "0000000001", "POS1")


def _header(category: Category, service_id: str) -> Header:
    return Header(category, service_id, "POS1", POI_ID)


def _failed(condition: str, additional: str = "") -> PaymentAnswer:
    return PaymentAnswer(Response(Result.FAILURE, condition, additional))


class Message(NamedTuple):
    """A whole message as JSON, and its meaning."""

    id: str
    header: Header
    message: Request | NexoAnswer
    json: str


REQUESTS = (
    Message(
        "nexo-adyen-001",
        _header(Category.PAYMENT, "0000000001"),
        Payment(SALE, 1099, "UAH"),
        '{"SaleToPOIRequest":{"MessageHeader":{"MessageCategory":"Payment","MessageClass":"Service"'
        ',"MessageType":"Request","POIID":"V400m-346403161","ProtocolVersion":"3.0","SaleID":"POS1"'
        ',"ServiceID":"0000000001"},"PaymentRequest":{"PaymentTransaction":{"AmountsReq":{"Currency'
        '":"UAH","RequestedAmount":10.99}},"SaleData":{"SaleTransactionID":{"TimeStamp":"2026-01-01'
        'T10:00:00+00:00","TransactionID":"T1"}}}}}',
    ),
    Message(
        "nexo-adyen-003",
        _header(Category.STATUS, "0000000002"),
        Status(ABOUT),
        '{"SaleToPOIRequest":{"MessageHeader":{"ProtocolVersion":"3.0","MessageClass":"Service","Me'
        'ssageCategory":"TransactionStatus","MessageType":"Request","SaleID":"POS1","ServiceID":"00'
        '00000002","POIID":"V400m-346403161"},"TransactionStatusRequest":{"ReceiptReprintFlag":true'
        ',"DocumentQualifier":["CashierReceipt","CustomerReceipt"],"MessageReference":{"MessageCate'
        'gory":"Payment","SaleID":"POS1","ServiceID":"0000000001"}}}}',
    ),
    Message(
        "nexo-adyen-006",
        _header(Category.ABORT, "0000000003"),
        Abort(ABOUT),
        '{"SaleToPOIRequest":{"MessageHeader":{"ProtocolVersion":"3.0","MessageClass":"Service","Me'
        'ssageCategory":"Abort","MessageType":"Request","SaleID":"POS1","ServiceID":"0000000003","P'
        'OIID":"V400m-346403161"},"AbortRequest":{"AbortReason":"MerchantAbort","MessageReference":'
        '{"MessageCategory":"Payment","SaleID":"POS1","ServiceID":"0000000001"}}}}',
    ),
)
"""What the till sends."""

ANSWERS = (
    Message(
        "nexo-adyen-004",
        _header(Category.STATUS, "0000000002"),
        StatusAnswer(Response(Result.FAILURE, "InProgress")),
        '{"SaleToPOIResponse":{"MessageHeader":{"ProtocolVersion":"3.0","MessageClass":"Service","M'
        'essageCategory":"TransactionStatus","MessageType":"Response","SaleID":"POS1","ServiceID":"'
        '0000000002","POIID":"V400m-346403161"},"TransactionStatusResponse":{"Response":{"Result":"'
        'Failure","ErrorCondition":"InProgress"}}}}',
    ),
    Message(
        "nexo-adyen-005",
        _header(Category.STATUS, "0000000002"),
        StatusAnswer(Response(Result.FAILURE, "NotFound")),
        '{"SaleToPOIResponse":{"MessageHeader":{"ProtocolVersion":"3.0","MessageClass":"Service","M'
        'essageCategory":"TransactionStatus","MessageType":"Response","SaleID":"POS1","ServiceID":"'
        '0000000002","POIID":"V400m-346403161"},"TransactionStatusResponse":{"Response":{"Result":"'
        'Failure","ErrorCondition":"NotFound"}}}}',
    ),
    Message(
        "nexo-adyen-007",
        _header(Category.PAYMENT, "0000000001"),
        PaymentAnswer(
            Response(
                Result.SUCCESS,
                additional="tid=12345678&transactionType=GOODS_SERVICES&pspReference=TEST",
            ),
            sale=SALE,
            transaction=Transaction("BV0q001700000000000.TEST", "2026-01-01T10:00:05+00:00"),
            approved_amount=1099,
            currency="UAH",
            approval_code="123456",
            masked_pan="541333 **** 9999",
            brand="mc",
            entry_modes=("Contactless",),
        ),
        '{"SaleToPOIResponse":{"MessageHeader":{"ProtocolVersion":"3.0","MessageClass":"Service","M'
        'essageCategory":"Payment","MessageType":"Response","SaleID":"POS1","ServiceID":"0000000001'
        '","POIID":"V400m-346403161"},"PaymentResponse":{"Response":{"Result":"Success","Additional'
        'Response":"tid=12345678&transactionType=GOODS_SERVICES&pspReference=TEST"},"SaleData":{"Sa'
        'leTransactionID":{"TransactionID":"T1","TimeStamp":"2026-01-01T10:00:00+00:00"}},"POIData"'
        ':{"POITransactionID":{"TransactionID":"BV0q001700000000000.TEST","TimeStamp":"2026-01-01T1'
        '0:00:05+00:00"}},"PaymentResult":{"PaymentType":"Normal","OnlineFlag":true,"AmountsResp":{'
        '"AuthorizedAmount":10.99,"Currency":"UAH"},"PaymentAcquirerData":{"ApprovalCode":"123456"}'
        ',"PaymentInstrumentData":{"PaymentInstrumentType":"Card","CardData":{"MaskedPan":"541333 *'
        '*** 9999","PaymentBrand":"mc","EntryMode":["Contactless"]}}}}}}',
    ),
    Message(
        "nexo-adyen-008",
        _header(Category.PAYMENT, "0000000001"),
        _failed("Refusal", "message=NOT_ENOUGH_BALANCE&refusalReason=210%20Not%20enough%20balance"),
        '{"SaleToPOIResponse":{"MessageHeader":{"ProtocolVersion":"3.0","MessageClass":"Service","M'
        'essageCategory":"Payment","MessageType":"Response","SaleID":"POS1","ServiceID":"0000000001'
        '","POIID":"V400m-346403161"},"PaymentResponse":{"Response":{"Result":"Failure","ErrorCondi'
        'tion":"Refusal","AdditionalResponse":"message=NOT_ENOUGH_BALANCE&refusalReason=210%20Not%2'
        '0enough%20balance"}}}}',
    ),
    Message(
        "nexo-adyen-009",
        _header(Category.PAYMENT, "0000000001"),
        _failed("Busy"),
        '{"SaleToPOIResponse":{"MessageHeader":{"ProtocolVersion":"3.0","MessageClass":"Service","M'
        'essageCategory":"Payment","MessageType":"Response","SaleID":"POS1","ServiceID":"0000000001'
        '","POIID":"V400m-346403161"},"PaymentResponse":{"Response":{"Result":"Failure","ErrorCondi'
        'tion":"Busy"}}}}',
    ),
    Message(
        "nexo-adyen-011",
        _header(Category.PAYMENT, "0000000001"),
        _failed("Aborted"),
        '{"SaleToPOIResponse":{"MessageHeader":{"ProtocolVersion":"3.0","MessageClass":"Service","M'
        'essageCategory":"Payment","MessageType":"Response","SaleID":"POS1","ServiceID":"0000000001'
        '","POIID":"V400m-346403161"},"PaymentResponse":{"Response":{"Result":"Failure","ErrorCondi'
        'tion":"Aborted"}}}}',
    ),
    Message(
        "nexo-adyen-012",
        _header(Category.PAYMENT, "0000000001"),
        _failed("WrongPIN"),
        '{"SaleToPOIResponse":{"MessageHeader":{"ProtocolVersion":"3.0","MessageClass":"Service","M'
        'essageCategory":"Payment","MessageType":"Response","SaleID":"POS1","ServiceID":"0000000001'
        '","POIID":"V400m-346403161"},"PaymentResponse":{"Response":{"Result":"Failure","ErrorCondi'
        'tion":"WrongPIN"}}}}',
    ),
    Message(
        "nexo-adyen-014",
        _header(Category.PAYMENT, "0000000001"),
        _failed("UnreachableHost"),
        '{"SaleToPOIResponse":{"MessageHeader":{"ProtocolVersion":"3.0","MessageClass":"Service","M'
        'essageCategory":"Payment","MessageType":"Response","SaleID":"POS1","ServiceID":"0000000001'
        '","POIID":"V400m-346403161"},"PaymentResponse":{"Response":{"Result":"Failure","ErrorCondi'
        'tion":"UnreachableHost"}}}}',
    ),
    Message(
        "nexo-adyen-015",
        _header(Category.PAYMENT, "0000000001"),
        _failed("DeviceOut"),
        '{"SaleToPOIResponse":{"MessageHeader":{"ProtocolVersion":"3.0","MessageClass":"Service","M'
        'essageCategory":"Payment","MessageType":"Response","SaleID":"POS1","ServiceID":"0000000001'
        '","POIID":"V400m-346403161"},"PaymentResponse":{"Response":{"Result":"Failure","ErrorCondi'
        'tion":"DeviceOut"}}}}',
    ),
    Message(
        "nexo-adyen-016",
        _header(Category.PAYMENT, "0000000001"),
        _failed("NotAllowed"),
        '{"SaleToPOIResponse":{"MessageHeader":{"ProtocolVersion":"3.0","MessageClass":"Service","M'
        'essageCategory":"Payment","MessageType":"Response","SaleID":"POS1","ServiceID":"0000000001'
        '","POIID":"V400m-346403161"},"PaymentResponse":{"Response":{"Result":"Failure","ErrorCondi'
        'tion":"NotAllowed"}}}}',
    ),
)
"""What the terminal sends."""

PASSPHRASE, KEY_IDENTIFIER, KEY_VERSION = "terminal-passphrase", "key1", 1
NONCE = bytes(range(16))
HMAC_KEY = bytes.fromhex("b3c2d730c2c19c37317227a0b95c971fbf2220008930c9e7c88582e70828bb9d")
CIPHER_KEY = bytes.fromhex("658eb4b7a68839efff42d26940e96eebf68239f73fd07685bb8c141d4a545056")
IV = bytes.fromhex("89ab553f60ea7c2ad2053ba4b8e7740e")

PLAINTEXT = (
    '{"SaleToPOIRequest":{"MessageHeader":{"MessageCategory":"Payment","MessageClass":"Service"'
    ',"MessageType":"Request","POIID":"V400m-346403161","ProtocolVersion":"3.0","SaleID":"POS1"'
    ',"ServiceID":"0000000001"},"PaymentRequest":{"PaymentTransaction":{"AmountsReq":{"Currency'
    '":"UAH","RequestedAmount":10.99}},"SaleData":{"SaleTransactionID":{"TimeStamp":"2026-01-01'
    'T10:00:00+00:00","TransactionID":"T1"}}}}}'
)
"""nexo-adyen-002, decrypted."""

SEALED = (
    '{"SaleToPOIRequest":{"MessageHeader":{"MessageCategory":"Payment","MessageClass":"Service"'
    ',"MessageType":"Request","POIID":"V400m-346403161","ProtocolVersion":"3.0","SaleID":"POS1"'
    ',"ServiceID":"0000000001"},"NexoBlob":"XB7L4LA5WKrcni0n4rM72FvohATXF3PNesguj8Nfv14iGOmUcnw'
    "b1s21oArHRSJJK5iR2GAgnaQIGA8bAHAEZKHG9ioV7Mhp54bfdMDXsGR7tYssdvbPSm/v3J8+NTdaHXsM8GeLn+GwG"
    "TksVpBfLjBSgU7vCIlewkGDQZU7ZrDKU39PVibjIohthEY4VeY+nrpmLsFEtx9P5+CZQXyQKJuEfVb9NaNvLNK150/"
    "5nfLfj5E7Ow/vAsDwCsXNTWnp1UM9aQm3nafPSTIDd/DNeSBcaGgokYGWf5wBgE5WD7BqVSKs+WSgJCBng3qLX3MSY"
    "iwD9pTBSEfxup01hK41GZnTDQrTGeD9YvTX9ZZMpB4pam7SWBDluwSrgtqgoHzvsMg23xIkyjc8oT8Q+I/dq+ISB2h"
    "Eh7/SMwzg0K6OygJ1bY3iUc/incgq/4bW00IHeypftNNCcNUBepwvIoCccXuwYiA2/bWY9oEjc/KdR82fkjlQmy6rD"
    'RfnEPlE1p/tYjnO/a+mUnXl+ssl7I0E0VU17oy+hROo9sBOnRx5j5M=","SecurityTrailer":{"AdyenCryptoVe'
    'rsion":1,"Hmac":"BolCrUpP3k5JgNTM534wrdT84xgSfGk3v36I1NCMBdI=","KeyIdentifier":"key1","Key'
    'Version":1,"Nonce":"AAECAwQFBgcICQoLDA0ODw=="}}}'
)
"""nexo-adyen-002, encrypted."""
