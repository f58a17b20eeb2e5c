"""The same durable sale, written plainly by other means: what the service is measured against.

An integrator's own developer would write this in a day or two: FastAPI with uvicorn, or aiohttp with uvloop, one
SQLite file with ``synchronous=FULL``, a lock for each register, the intent committed before the document leaves and
the outcome before the caller hears of it. Same path, same request, same rules for what the sale holds, same members
in the answer; nothing of our own code, so that nothing of what we tuned makes the peers faster, or slower.

What these do not do costs the service time and is left out in their favour: discounts, rounding, offline, other
tasks, seals, a far end with a ledger, lists, figures for watching, outcomes that are asked for after a crash.
The leanest peer leaves out the rules and all arithmetic too: nobody could sell with it.
"""
