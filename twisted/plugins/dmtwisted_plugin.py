"""The composition root: the plugin by which twistd builds and runs the whole stack."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from twisted.application.service import IServiceMaker
from twisted.plugin import IPlugin
from zope.interface import implementer

from dmtwisted.commands.launch import LaunchOptions

if TYPE_CHECKING:
    from twisted.application.service import IService


@implementer(IPlugin, IServiceMaker)
class WholeStack:
    """``twistd dmtwisted``."""

    tapname = "dmtwisted"
    description = "Fiscal registers, terminals and printers behind one REST API."
    options = LaunchOptions

    def makeService(self, options: LaunchOptions) -> IService:
        """Connect the parts, from the store up to the listening port.

        A port in use or a folder that cannot be written ends the start with one line and status 1. With ``--uid``
        everything but the port is done as that user, so that the files belong to that user and missing rights are
        noticed now; only root may open some ports.
        """
        from dmtwisted.system.reactor import without_http2, without_tls

        # A start makes hardly any garbage; the service collects it again when it serves.
        gc.disable()
        without_http2()
        with without_tls():
            from twisted.internet import reactor
        from dmtwisted.clock import steady_timers
        from dmtwisted.commands.console import FAILED, complain
        from dmtwisted.commands.launch import acting_as, finish_restore, give_state
        from dmtwisted.config import ConfigError
        from dmtwisted.state_folder import close_to_others, prepare_state
        from dmtwisted.store.opening import store_of
        from web.service import CannotListen, WholeService, bind, log_observer

        steady_timers(reactor)
        twistd = options.parent or {}
        if twistd.get("umask") is None:
            os.umask(0o077)
        uid, gid = twistd.get("uid"), twistd.get("gid")
        try:
            with acting_as(uid, gid):
                config = options.load()
            give_state(config.state, uid, gid)
            with acting_as(uid, gid):
                prepare_state(config.state)
                finish_restore(config)
                close_to_others(config)
                observer = log_observer(config.log, twistd, reactor)
            listening = bind(config.server)
        except (ConfigError, CannotListen) as error:
            complain(str(error), error.advice)
            sys.exit(FAILED)
        service = WholeService(config, store_of(config, reactor), listening, reactor, observer)
        service.pid_file = twistd.get("pidfile") or ""
        service.supervised = bool(options["until-input-ends"])
        return service


whole_stack = WholeStack()
