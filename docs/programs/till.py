import json
import time
from urllib.request import Request, urlopen

SERVICE = "http://localhost:3939/dm/execute"


def fiscal(tag, task):
    """The answer to a task of the register, asked with the same tag until it is clear."""
    body = json.dumps({"ver": 6, "device": "test", "tag": tag, "type": 1, "fiscal": task}).encode()
    pause, until = 0.25, time.monotonic() + 90
    while True:
        try:
            with urlopen(Request(SERVICE, body, {"Content-Type": "application/json"}), timeout=20) as told:
                answer = json.load(told)
            if answer["res_action"] in (0, 3):
                return answer
            why = answer["errortxt"]
        except (OSError, ValueError) as error:  # no answer, a broken one, none of ours
            why = str(error)
        if time.monotonic() > until:
            raise SystemExit(f"not clear yet, keep the tag {tag}: {why}")
        time.sleep(pause)
        pause = min(2 * pause, 2)


opened = fiscal("day-1", {"task": 0, "cashier": "Olena"})
assert opened["res"] in (0, 1096), opened["errortxt"]
row = {"code": "7", "name": "Чай, кг", "cnt": "0.125", "price": "333.60", "taxgrp": 1}
receipt = {"sum": "41.70", "rows": [row], "pays": [{"type": 0, "sum": "50"}]}
sold = fiscal("order-1001", {"task": 1, "cashier": "Olena", "receipt": receipt})
assert sold["res"] == 0, sold["errortxt"]
print(sold["info"]["doccode"])
