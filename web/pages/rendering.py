"""How a page is made: the language it speaks, the template, and the headers that keep other people's code out.

Everything that a page shows or loads comes from this service; nothing is written into the page as script or style,
and every value is escaped by the templates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from twisted.web.iweb import IRequest

import dmtwisted
from dmtwisted.clock import kyiv
from dmtwisted.money import hryvnias
from web.answers import language_of
from web.pages.setting_words import help_of, title_of
from web.pages.words import for_scripts, speaker

if TYPE_CHECKING:
    from jinja2 import Environment

LANGUAGE_COOKIE = b"dm_lang"
"""Where a browser keeps the language that a person chose."""

LANGUAGES = ("uk", "en")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load, and from where; pictures of receipts come in answers as data."""

HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
"""Headers of every page."""


def page_language(request: IRequest, default: str) -> str:
    """The language of a page: what ``lang`` in the address says, else the person's choice, else the browser's."""
    asked: bytes = request.args.get(b"lang", [b""])[-1]
    chosen: bytes = request.getCookie(LANGUAGE_COOKIE) or b""
    for wish in (asked, chosen):
        named = wish.decode("latin-1")
        if named in LANGUAGES:
            return named
    return language_of(request, default)


class Pages:
    """Makes pages out of templates.

    :param default_language: for browsers that want none of ours.
    :param training: whether every page says that nothing leaves the machine.
    :param login_on: whether people have to log in, so that pages offer to log out.
    :param exposed: whether every page warns that anybody on the network gets in.
    """

    def __init__(
        self, default_language: str, training: bool, login_on: Callable[[], bool], exposed: Callable[[], bool]
    ) -> None:
        self._default, self._training, self._login_on, self._exposed = default_language, training, login_on, exposed

    def language(self, request: IRequest) -> str:
        """The language in which ``request`` is answered."""
        return page_language(request, self._default)

    def page(self, request: IRequest, template: str, status: int = 200, **values: Any) -> bytes:
        """The page that ``template`` makes of ``values``."""
        language = self.language(request)
        # A machine's script asks for no page, and needs no library of templates in memory until somebody does.
        body = self._environment.get_template(template).render(
            {
                "t": speaker(language),
                "language": language,
                "other_language": LANGUAGES[1 - LANGUAGES.index(language)],
                "words": for_scripts(language),
                "training": self._training,
                "login_on": self._login_on(),
                "exposed": self._exposed(),
                "version": dmtwisted.__version__,
                "path": request.path.decode("latin-1"),
                **values,
            }
        )
        request.setResponseCode(status)
        request.setHeader(b"content-type", b"text/html; charset=utf-8")
        request.setHeader(b"content-language", language.encode())
        for name, value in HEADERS:
            request.setHeader(name, value)
        return body.encode()

    @cached_property
    def _environment(self) -> Environment:
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters.update(FILTERS)
        environment.globals.update(title_of=title_of, help_of=help_of)
        # Members stay in the order in which they are written, as people compare them.
        environment.policies["json.dumps_kwargs"] = {"sort_keys": False, "ensure_ascii": False}
        return environment


def moment(at: int) -> str:
    """A moment in milliseconds since 1970 as people in Kyiv read it: ``21.09.2026 09:00:00``."""
    return f"{kyiv(at):%d.%m.%Y %H:%M:%S}"


def exact(at: int) -> str:
    """The same with its milliseconds: ``21.09.2026 09:00:00.000``."""
    return f"{moment(at)}.{at % 1000:03d}"


def hour(at: int) -> str:
    """Its hour and minute alone: ``09:00``."""
    return f"{kyiv(at):%H:%M}"


def iso(at: int) -> str:
    """The same for machines, as ``<time datetime>`` wants it."""
    return kyiv(at).isoformat()


def money(value: object) -> str:
    """Hryvnias with two digits; ``value`` is a number, or the JSON text of one."""
    text = bytes(value).decode() if isinstance(value, msgspec.Raw) else str(value)
    return f"{Decimal(text):,.2f}".replace(",", " ")


FILTERS: Mapping[str, Callable[..., str]] = {
    "moment": moment,
    "exact": exact,
    "hour": hour,
    "iso": iso,
    "money": money,
    "kopecks": hryvnias,
}
"""What templates write values with."""
