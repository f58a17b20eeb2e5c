"""``/api/v3/fiscal/execute``: tasks as programs send them to a cloud cabinet.

The path has no word before it, so that such a program needs another base address alone. It is one of the paths that
a login protects (specification 5.3): the register's token is a credential of its own for it, like an API key.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from twisted.web.server import Request

from dmtwisted.cloud import CloudTasks
from dmtwisted.requests import MAX_BODY
from web.answers import not_allowed
from web.gate import refuse_foreign
from web.tasks import TaskResource

PATH = b"/api/v3/fiscal/execute"


class CloudRequest(msgspec.Struct):
    """A task of the register that has this token as `cloud_token`."""

    fiscal: Annotated[dict[str, Any], Meta(description="The task, as in POST /dm/execute.")] = {}
    token: Annotated[str, Meta(description="The token; most programs send it as the header Authorization.")] = ""
    tag: Annotated[str, Meta(description="Key of the task, at most 200 characters.")] = ""
    source: Annotated[str, Meta(description="Name of the calling program.")] = ""
    type: Annotated[int, Meta(description="1, unless the request has no `fiscal`; 0 is a look-up by tag.")] = 1


class CloudResource(TaskResource):
    """The endpoint; pages of other origins may not use it, as its neighbours'."""

    def __init__(self, cloud: CloudTasks, default_language: str) -> None:
        super().__init__(cloud.execute, default_language, _authorization)
        self._cloud = cloud

    def lets_in(self, request: Request) -> bool:
        """Whether the request names a register by its token."""
        content = request.content
        assert content is not None
        body = content.read(MAX_BODY + 1)
        content.seek(0)
        return self._cloud.register_of(*_authorization(request), body) is not None

    def render(self, request: Request) -> int | bytes:
        """Execute a task, or refuse another HTTP method or a page of another origin."""
        refused = refuse_foreign(request, self._default_language)
        if refused is not None:
            return refused
        if request.method != b"POST":
            return not_allowed(request, b"POST", self._default_language)
        return self._task(request)


def _authorization(request: Request) -> tuple[str]:
    return ((request.getHeader(b"authorization") or b"").decode("utf-8", "replace"),)
