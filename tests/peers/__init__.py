"""The same durable sale, written simply with other frameworks: the service's benchmark is compared with it.

An integrator's own developer would write this in a day or two: FastAPI with uvicorn, or aiohttp with uvloop, one
SQLite file with ``synchronous=FULL``, a lock for each register, the intent committed before the document is sent and
the outcome before the caller gets the answer. The path, the request, the rules of a sale and the members of the
answer are the same; none of our code is used, so that our optimisations make the peers neither faster nor slower.

Some work of the service is left out in their favour: discounts, rounding, offline, other tasks, seals, a tax service
with a ledger, lists, metrics, queries for outcomes after a crash.
"""
