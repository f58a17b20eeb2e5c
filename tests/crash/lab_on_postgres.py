"""The crash lab on a PostgreSQL server of its own: ``python -m tests.crash.lab_on_postgres --rounds 1``.

The options are those of ``dmtwisted crashlab``. The service is killed, not the server: for that see
`tests.crash.postgres_rounds`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from twisted.python import usage

from dmtwisted.lab.crash.command import CrashlabOptions, run
from tests.postgres_server import MISSING, Server


def main(arguments: Sequence[str]) -> int:
    """Run the lab; its exit status, or 2 when there is no server."""
    options = CrashlabOptions()
    if MISSING:
        print(MISSING)
        return 2
    server = Server()
    try:
        options.parseOptions([*arguments, "--database", server.url("postgres")])
        return run(options)
    except usage.UsageError as error:
        print(error)
        return 2
    finally:
        server.remove()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
