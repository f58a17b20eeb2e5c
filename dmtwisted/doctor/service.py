"""All the checks of a running service, and the repairs that it can make by itself."""

from __future__ import annotations

from collections.abc import Iterable

from dmtwisted.access.api_keys import ApiKey
from dmtwisted.backups import Backups
from dmtwisted.changes import Action, Area, NotDone
from dmtwisted.clock import wall
from dmtwisted.config import Config
from dmtwisted.core import Core
from dmtwisted.doctor import clock, database, devices, files, tls
from dmtwisted.doctor.findings import Check, Finding, Fix, good, in_order, of_need, warn
from dmtwisted.host_names import HostNames
from dmtwisted.results import Text
from dmtwisted.store.facts import facts_of
from dmtwisted.store.values import StoreFailed
from dmtwisted.system.files import describe_error


def of_machine(config: Config, now: float) -> list[Finding]:
    """Findings about files, clock and certificate; blocks for a moment.

    :param now: the machine's time in seconds since 1970.
    """
    return [*files.look(config, now), *clock.look(now), *tls.look(config, now)]


def weak_keys(keys: Iterable[ApiKey]) -> list[Finding]:
    """Findings about keys that could be guessed."""
    advice = Text(
        "Замініть його на сторінці /dm/main/settings і дайте програмі новий.",
        "Replace it on the page /dm/main/settings and give the program the new one.",
    )
    return [
        warn(
            Check.SECRETS,
            Text(f"Ключ API «{key.name}» можна вгадати", f"The API key {key.name} could be guessed"),
            advice,
            key.name,
        )
        for key in keys
        if key.weak
    ]


def of_names(hosts: HostNames) -> list[Finding]:
    """Findings about the names by which the service is called."""
    names = ", ".join(hosts.names())
    uk = f"До сервісу можна звертатися за адресами комп’ютера та іменами {names}"
    found = [good(Check.ACCESS, uk, f"The service may be called by the machine's addresses and as {names}")]
    for name, count in hosts.refused.items():
        advice = Text(
            "Якщо це ім’я сервісу, впишіть його на сторінці /dm/main/settings у «Дозволені імена» або в розділ"
            f' [server] файла конфігурації: allowed_hosts = "{name}"',
            "If it is a name of the service, add it to Allowed names on the page /dm/main/settings, or to the section"
            f' [server] of the configuration file: allowed_hosts = "{name}"',
        )
        text = Text(
            f"Відхилено запити до невідомого імені {name}: {count}",
            f"Requests to the unknown name {name} were refused: {count}",
        )
        found.append(warn(Check.ACCESS, text, advice, name))
    return found


class Doctor:
    """Examines the service from the inside, and remembers the last findings."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.found: list[Finding] = []
        self.at: int | None = None
        """The time of the last examination, in milliseconds since 1970."""

    async def examine(self) -> list[Finding]:
        """Check everything, and every device."""
        core = self._core
        config = core.config
        found = await core.clock.aside(of_machine, config, wall(core.reactor))
        if config.sqlite_file is not None:
            found += await core.clock.aside(database.look, config.sqlite_file)
        else:
            try:
                found += database.judge(await facts_of(config, core.store, core.clock))
            except StoreFailed as error:
                found.append(database.unreachable(str(error)))
        found += of_names(core.hosts)
        found += weak_keys(core.access.keys)
        found += await devices.look(core.devices, core.clock)
        # The list of the pages, once: of unfinished operations it knows which device they belong to.
        found = [one for one in found if one.code != "unfinished"]
        known = {(one.code, one.about) for one in found}
        found += [of_need(need) for need in await core.needs.look() if (need.code, need.device) not in known]
        self.found, self.at = in_order(found), core.clock.now()
        return self.found

    async def mend(self, fix: Fix) -> str:
        """Make a repair; the reason when that fails, else empty."""
        core, why = self._core, ""
        if fix is Fix.BACKUP:
            return await Backups(core, lambda *_, **__: None).make()
        renews = fix is Fix.CERTIFICATE
        area, action = (Area.CERTIFICATE, Action.ISSUED) if renews else (Area.FILES, Action.MENDED)
        async with core.changes.about(area, action, subject=fix):
            why = await (self._renew() if renews else core.clock.aside(_mend, core.config, fix))
            if why:
                raise NotDone(why)
        return why

    async def _renew(self) -> str:
        """Renew the local authority's certificate for this machine, for the same names."""
        # Only with a certificate: a service without one does not carry this in memory.
        from dmtwisted.access.certificates import BadCertificate
        from dmtwisted.access.tls_orders import Order, ordered

        core, config = self._core, self._core.config.tls
        if core.certificate is None or not core.config.tls_is_installed:
            return "there is no certificate of the local authority to renew"
        order = Order(
            "authority",
            str(core.config.state),
            wall(core.reactor),
            config.certificate,
            config.key,
            config.passphrase,
            names=tuple(core.certificate.status().get("names", ())),
        )
        result = await ordered(order, core.reactor)
        if result.error:
            return result.error
        try:
            core.certificate.reload()
        except BadCertificate as error:
            return str(error)
        return ""


def _mend(config: Config, fix: Fix) -> str:
    """Permissions and folders; blocks for a moment."""
    try:
        if fix is Fix.PERMISSIONS:
            for file, mode in files.open_files(config):
                file.chmod(mode)
        elif fix is Fix.FOLDER:
            folder = files.log_folder(config)
            if folder is not None:
                folder.mkdir(mode=0o750, parents=True, exist_ok=True)
    except OSError as error:
        return describe_error(error)
    return ""
