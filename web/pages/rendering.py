"""Renders pages: language, template, and headers that keep foreign code out.

A page loads everything from this service. It has no inline scripts or styles, and templates escape every value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import msgspec
from twisted.web.iweb import IRequest

import dmtwisted
from dmtwisted.clock import kyiv
from dmtwisted.money import hryvnias
from dmtwisted.wording import wording
from web.answers import language_of
from web.pages.setting_words import help_of, name_of, title_of
from web.pages.words import for_scripts, speaker
from web.rights import may, permit_of

if TYPE_CHECKING:
    from jinja2 import Environment

LANGUAGE_COOKIE = b"dm_lang"
"""The cookie with the language that a person chose."""

LANGUAGES = ("uk", "en")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load, and from where; pictures of receipts come as data URIs."""

HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
"""Headers of every page."""


def page_language(request: IRequest, default: str) -> str:
    """The language of a page: ``lang`` in the address, else the person's choice, else the browser's."""
    asked: bytes = request.args.get(b"lang", [b""])[-1]
    chosen: bytes = request.getCookie(LANGUAGE_COOKIE) or b""
    for wish in (asked, chosen):
        named = wish.decode("latin-1")
        if named in LANGUAGES:
            return named
    return language_of(request, default)


@dataclass(frozen=True)
class Registers:
    """Registers that every page warns of.

    :param real: those that send real documents in training mode, by id.
    :param unverified: those whose tax service answers unverified.
    """

    real: Mapping[str, str] = field(default_factory=dict)
    unverified: Sequence[str] = ()


class Pages:
    """Renders pages from templates.

    :param default_language: for browsers without a known language.
    :param training: whether every page says that nothing leaves the machine.
    :param login_on: whether a login is required, so that pages offer to log out.
    :param exposed: whether every page warns that the network has access without a login.
    :param registers: the registers that every page warns of.
    :param word: what stands in place of `main` in links.
    :param asks_for_code: whether the reader needs the one-time code to change anything.
    :param sells: whether the reader may sell on a register that there is.
    """

    def __init__(
        self,
        default_language: str,
        training: bool,
        login_on: Callable[[], bool],
        exposed: Callable[[], bool],
        registers: Callable[[], Registers] = Registers,
        word: str = "",
        asks_for_code: Callable[[IRequest], bool] = lambda request: False,
        sells: Callable[[IRequest], bool] = lambda request: False,
    ) -> None:
        self._asks_for_code, self._sells = asks_for_code, sells
        self._default, self._training, self._login_on, self._exposed = default_language, training, login_on, exposed
        self._registers = registers
        self._main = f'"/dm/{word or "main"}/'

    def language(self, request: IRequest) -> str:
        """The language of the answer to ``request``."""
        return page_language(request, self._default)

    def page(self, request: IRequest, template: str, status: int = 200, **values: Any) -> bytes:
        """The page from ``template`` with ``values``."""
        language, permit = self.language(request), permit_of(request)
        body = self._environment.get_template(template).render(
            {
                "t": speaker(language),
                "language": language,
                "other_language": LANGUAGES[1 - LANGUAGES.index(language)],
                "words": for_scripts(language),
                "training": self._training,
                "login_on": self._login_on(),
                "exposed": self._exposed(),
                "odd": self._registers(),
                "asks_for_code": self._asks_for_code(request),
                "can_sell": self._sells(request),
                "version": dmtwisted.__version__,
                "path": request.path.decode("latin-1"),
                "person": permit.name,
                "may": partial(may, permit),
                **values,
            }
        )
        request.setResponseCode(status)
        request.setHeader(b"content-type", b"text/html; charset=utf-8")
        request.setHeader(b"content-language", language.encode())
        for name, value in HEADERS:
            request.setHeader(name, value)
        return body.replace('"/dm/main/', self._main).encode()

    @cached_property
    def _environment(self) -> Environment:
        # Imported on demand: it would cost a service without open pages 4 MB.
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters.update(FILTERS)
        environment.globals.update(title_of=title_of, help_of=help_of, name_of=name_of)
        # Members keep their order, because people compare them.
        environment.policies["json.dumps_kwargs"] = {"sort_keys": False, "ensure_ascii": False}
        return environment


def moment(at: int) -> str:
    """A moment in milliseconds since 1970 as Kyiv time: ``21.09.2026 09:00:00``."""
    return f"{kyiv(at):%d.%m.%Y %H:%M:%S}"


def exact(at: int) -> str:
    """The same with milliseconds: ``21.09.2026 09:00:00.000``."""
    return f"{moment(at)}.{at % 1000:03d}"


def hour(at: int) -> str:
    """Its hour and minute: ``09:00``."""
    return f"{kyiv(at):%H:%M}"


def iso(at: int) -> str:
    """The same for ``<time datetime>``."""
    return kyiv(at).isoformat()


def money(value: object) -> str:
    """Hryvnias with two decimal places; ``value`` is a number or the JSON text of one."""
    text = bytes(value).decode() if isinstance(value, msgspec.Raw) else str(value)
    return f"{Decimal(text):,.2f}".replace(",", " ")


FILTERS: Mapping[str, Callable[..., str]] = {
    "moment": moment,
    "exact": exact,
    "hour": hour,
    "iso": iso,
    "money": money,
    "kopecks": hryvnias,
    "said": lambda words, language: wording(words).for_language(language),
}
"""The filters of templates."""
