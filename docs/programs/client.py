import sys

from twisted.internet.task import react

from dmtwisted.client import Client, Refused, Unknown, cash, row


async def main(reactor):
    till = Client("http://localhost:3939", source="my till")
    await till.open_shift("test", "Olena")
    try:
        sold = await till.sell(
            "test",
            [row("Чай, кг", "333.60", "0.125", code="7", taxgrp=1)],
            [cash(50)],
            tag="order-1001",
            cashier="Olena",
        )
    except Refused as refused:
        sys.exit(refused.answer.text)
    except Unknown as unknown:
        sys.exit(f"not clear yet, ask again with the tag {unknown.key}: {unknown.why}")
    print(sold.fiscal_number)


react(lambda reactor: main(reactor))
