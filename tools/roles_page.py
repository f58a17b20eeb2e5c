"""The table of roles in ``docs/security.md``, made from `web.rights`: ``python -m tools.roles_page``.

Routes with the same rights share a row. A path stands without its methods when all of them are in the row.
"""

from __future__ import annotations

from pathlib import Path

from dmtwisted.access.roles import BOUND, Role
from web.rights import RIGHTS, TASKS

PAGE = Path(__file__).parent.parent / "docs" / "security.md"
BEGIN, END = "<!-- made by python -m tools.roles_page -->\n", "<!-- end -->\n"

ROLES = [role for role in Role if role is not Role.ADMINISTRATOR]
V3 = "/dm/api/v3/"


def table() -> str:
    """The table: for each right that a role has its routes, and what each role may do there."""
    lines = [f"|routes|{'|'.join(ROLES)}|", "|---" * (len(ROLES) + 1) + "|"]
    rows: dict[tuple[bool, frozenset[Role]], list[str]] = {}
    for route, roles in RIGHTS.items():
        rows.setdefault((route in TASKS, roles - {Role.ADMINISTRATOR}), []).append(route)
    for (tasks, roles), routes in rows.items():
        if not roles:
            continue  # the page says whose the others are
        cells = [_cell(role, tasks) if role in roles else "" for role in ROLES]
        lines.append(f"|{'<br>'.join(_paths(routes))}|{'|'.join(cells)}|")
    return "\n".join(lines) + "\n"


def _cell(role: Role, tasks: bool) -> str:
    return "own" if role in BOUND else "reports" if tasks else "yes"


def _paths(routes: list[str]) -> list[str]:
    named: dict[str, list[str]] = {}
    for route in routes:
        method, path = route.split(" ")
        named.setdefault(path, []).append(method)
    return [f"`{_methods(path, methods)}{path.replace(V3, '')}`" for path, methods in named.items()]


def _methods(path: str, methods: list[str]) -> str:
    every = [route.split(" ")[0] for route in RIGHTS if route.endswith(f" {path}")]
    return "" if methods == every else "/".join(methods) + ":"


def with_table(text: str) -> str:
    """The page with the table of today."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
