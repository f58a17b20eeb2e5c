"""A command to the simulated fiscal server: its signer, its time, the registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from protocols.fiscal.error_codes import Code
from protocols.fiscal.signatures import Seal
from protocols.simulators.fiscal_register import Operator, RegisterRecord, Stored


class NoAnswer(Exception):
    """There is no answer: HTTP 204, or an error with its code."""

    def __init__(self, code: Code = Code.NO_CONTENT, text: str = "Дані відсутні") -> None:
        super().__init__(code, text)
        self.code, self.text = code, text


@dataclass(frozen=True)
class Asking:
    """One command: the key of its signer, its time, the registers."""

    registers: Mapping[int, RegisterRecord]
    key: str
    now: datetime
    """Kyiv time, with its zone."""
    seal: Seal

    def record(self, number: int) -> tuple[RegisterRecord, Operator]:
        """The register and the operator with the key.

        :raises NoAnswer: when there is no such register, or the key has no right to it.
        """
        record = self.registers.get(number)
        if record is None:
            raise NoAnswer(
                Code.TRANSACTIONS_REGISTRAR_ABSENT, f"ПРРО з фіскальним номером {number} не зареєстрований"
            )
        operator = record.registration.operator(self.key)
        if operator is None:
            raise NoAnswer(
                Code.OPERATOR_ACCESS_TO_TRANSACTIONS_REGISTRAR_NOT_GRANTED, f"Ключ {self.key} не має доступу до ПРРО"
            )
        return record, operator

    def stored(
        self, register: int, fiscal: str | int | None, local: int | None, anybody: bool = False
    ) -> Stored | None:
        """The document with a local or a fiscal number; `None` when there is none.

        :param anybody: whether no signature and no right is needed.
        :raises NoAnswer: as `record` does.
        """
        record = self.registers.get(register) if anybody else self.record(register)[0]
        if record is None:
            return None
        if local is not None:
            return record.documents.get(local)
        known = (*record.revoked, *record.documents.values())
        return next((stored for stored in known if stored.number == str(fiscal)), None)
