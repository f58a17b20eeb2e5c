"""Renders pages: language, template, and headers that keep foreign code out.

A page loads everything from this service. It has no inline scripts or styles, and templates escape every value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec
from twisted.web.iweb import IRequest

import dmtwisted
from dmtwisted.access.roles import Permit
from dmtwisted.clock import kyiv
from dmtwisted.money import hryvnias
from dmtwisted.needs import Need
from dmtwisted.wording import wording
from web.answers import LANGUAGES, page_language
from web.pages.setting_words import choice_of, help_of, name_of, title_of
from web.pages.static import versioned
from web.pages.words import for_scripts, speaker
from web.rights import may, permit_of

if TYPE_CHECKING:
    from jinja2 import Environment

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


@dataclass(frozen=True)
class Registers:
    """Registers that every page warns of.

    :param real: those that send real documents in training mode, by id.
    """

    real: Mapping[str, str] = field(default_factory=dict)


class Pages:
    """Renders pages from templates.

    :param default_language: for browsers without a known language.
    :param training: whether every page says that nothing leaves the machine.
    :param login_on: whether a login is required, so that pages offer to log out.
    :param needs: what needs a person.
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
        needs: Callable[[], Sequence[Need]] = tuple,
        registers: Callable[[], Registers] = Registers,
        word: str = "",
        asks_for_code: Callable[[IRequest], bool] = lambda request: False,
        sells: Callable[[IRequest], bool] = lambda request: False,
    ) -> None:
        self._asks_for_code, self._sells = asks_for_code, sells
        self._default, self._training, self._login_on, self._needs = default_language, training, login_on, needs
        self._registers = registers
        self._main = f'"/dm/{word or "main"}/'

    def language(self, request: IRequest) -> str:
        """The language of the answer to ``request``."""
        return page_language(request, self._default)

    def page(self, request: IRequest, template: str, status: int = 200, **values: Any) -> bytes:
        """The page from ``template`` with ``values``."""
        language, permit = self.language(request), permit_of(request)
        body = (
            environment(language)
            .get_template(template)
            .render(
                {
                    "t": speaker(language),
                    "language": language,
                    "other_language": LANGUAGES[1 - LANGUAGES.index(language)],
                    "words": for_scripts(language),
                    "training": self._training,
                    "login_on": self._login_on(),
                    "needs": needs_for(permit, self._needs()),
                    "route_of_need": route_of_need,
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
        )
        request.setResponseCode(status)
        request.setHeader(b"content-type", b"text/html; charset=utf-8")
        request.setHeader(b"content-language", language.encode())
        for name, value in HEADERS:
            request.setHeader(name, value)
        return body.replace('"/dm/main/', self._main).replace('"/dm/static/', f'"{versioned()}').encode()


def needs_for(permit: Permit, needs: Sequence[Need]) -> list[Need]:
    """Those of ``needs`` that concern the holder of ``permit``: who has some devices hears of them alone."""
    return [need for need in needs if not permit.bound or (need.dev_id and permit.covers(need.dev_id))]


def route_of_need(need: Need) -> str:
    """The route of the page where it is done."""
    path = need.link.partition("#")[0]
    return "GET " + (path.replace(need.dev_id, "{dev_id}") if need.dev_id else path)


@cache
def environment(language: str) -> Environment:
    """The templates with the filters of ``language``: a date or a sum is written as its readers write it."""
    # Imported on demand: it would cost a service without open pages 4 MB.
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=PackageLoader("web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    made.filters.update({name: partial(write, language=language) for name, write in WRITTEN.items()})
    picture = Markup('<svg class="icon" aria-hidden="true"><use href="/dm/static/icons.svg#{}"/></svg>')
    made.globals.update(title_of=title_of, help_of=help_of, name_of=name_of, choice_of=choice_of, icon=picture.format)
    # Members keep their order, because people compare them.
    made.policies["json.dumps_kwargs"] = {"sort_keys": False, "ensure_ascii": False}
    return made


FIRST = ("base.html", "needs.html", "needs_all.html", "needs_row.html", "parts.html", "charts.html", "overview.html")
"""What every page is made of, and the first one."""


def load_templates(language: str) -> None:
    """Compile the first templates, which takes a quarter of a second: in a thread, so that no sale waits for it."""
    for name in FIRST:
        environment(language).get_template(name)


MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""English months; a date in figures alone would be read in two ways."""


def day(at: int | str, language: str) -> str:
    """A day as people write it: ``21.09.2026``, ``21 Sep 2026``.

    :param at: milliseconds since 1970 for the day in Kyiv, or a text that begins with ``2026-09-21``.
    """
    then = kyiv(at) if isinstance(at, int) else date.fromisoformat(at[:10])
    return f"{then:%d.%m.%Y}" if language == "uk" else f"{then.day} {MONTHS[then.month - 1]} {then.year}"


def moment(at: int, language: str) -> str:
    """A moment in milliseconds since 1970 as Kyiv time: ``21.09.2026 09:00:00``."""
    return f"{day(at, language)} {kyiv(at):%H:%M:%S}"


def exact(at: int, language: str) -> str:
    """The same with milliseconds: ``21.09.2026 09:00:00.000``."""
    return f"{moment(at, language)}.{at % 1000:03d}"


def hour(at: int) -> str:
    """Its hour and minute: ``09:00``."""
    return f"{kyiv(at):%H:%M}"


def iso(at: int) -> str:
    """The same for ``<time datetime>``."""
    return kyiv(at).isoformat()


def money(value: object, language: str) -> str:
    """Hryvnias: ``1 234,50``, ``1,234.50``; ``value`` is a number or the JSON text of one."""
    text = bytes(value).decode() if isinstance(value, msgspec.Raw) else str(value)
    written = f"{Decimal(text):,.2f}"
    # A line must not end within a sum.
    return written if language == "en" else written.replace(",", "\N{NO-BREAK SPACE}").replace(".", ",")


def kopecks(amount: int, language: str) -> str:
    """The same for an amount in kopecks."""
    return money(hryvnias(amount), language)


WRITTEN: Mapping[str, Callable[..., str]] = {
    "day": day,
    "moment": moment,
    "exact": exact,
    "money": money,
    "kopecks": kopecks,
}
"""The filters of templates that write a value in the language of the page."""

FILTERS: Mapping[str, Callable[..., str]] = {
    "hour": hour,
    "iso": iso,
    "said": lambda words, language: wording(words).for_language(language),
}
"""The others."""
