"""The state folder: nothing in it is open to other users."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from unittest import skipIf

from twisted.logger import LogEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.config import Config, DatabaseConfig, ServiceConfig
from dmtwisted.state_folder import close_to_others


def open_paths(top: Path) -> list[str]:
    """What others than the owner may use, ``top`` included."""
    return [str(path) for path in (top, *top.rglob("*")) if stat.S_IMODE(path.lstat().st_mode) & 0o077]


@skipIf(os.name != "posix", "Windows has no such modes.")
class CloseTests(SynchronousTestCase):
    """`close_to_others`"""

    def setUp(self) -> None:
        """A folder of an earlier version, and its database elsewhere."""
        self.top = Path(self.mktemp()).absolute()
        self.state, self.elsewhere = self.top / "state", self.top / "elsewhere"
        for folder in (self.state / "tls", self.state / "before-restore-1" / "state", self.elsewhere):
            folder.mkdir(parents=True)
        for name in ("secret.key", "dmtwisted.db", "dmtwisted.db-wal", "tls/desk.key", "before-restore-1/state/x"):
            (self.state / name).touch()
        for name in ("shop.db", "shop.db-wal", "other"):
            (self.elsewhere / name).touch()
        for path in self.top.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        (self.state / "link").symlink_to(self.elsewhere / "other")
        self.config = Config(service=ServiceConfig(state=str(self.state)))
        self.told: list[LogEvent] = []
        globalLogPublisher.addObserver(self.told.append)  # type: ignore[arg-type]
        self.addCleanup(globalLogPublisher.removeObserver, self.told.append)  # type: ignore[arg-type]

    def words(self) -> list[str]:
        """What was logged."""
        return [str(event.get("log_format")) for event in self.told]

    def test_closed(self) -> None:
        """Files become 0600 and folders 0700 at the start, and the log says so; what a link leads to stays."""
        close_to_others(self.config)
        self.assertEqual([path for path in open_paths(self.state) if not path.endswith("link")], [])
        self.assertEqual(stat.S_IMODE((self.state / "dmtwisted.db").stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE((self.elsewhere / "other").stat().st_mode), 0o644)
        self.assertEqual([event["closed"] for event in self.told if "closed" in event], [9])
        close_to_others(self.config)
        self.assertEqual(len(self.told), 1)

    def test_database_elsewhere(self) -> None:
        """A database outside of the folder is closed too, and nothing beside it."""
        close_to_others(
            Config(service=self.config.service, database=DatabaseConfig(url=f"sqlite:///{self.elsewhere}/shop.db"))
        )
        left = {Path(path).name for path in open_paths(self.elsewhere)}
        self.assertEqual(left, {"elsewhere", "other"})

    def test_not_ours(self) -> None:
        """A file that cannot be closed is logged, and the start goes on with the others."""
        chmod = Path.chmod

        def refusing(path: Path, mode: int) -> None:
            if path.name == "secret.key":
                raise PermissionError(1, "Operation not permitted")
            chmod(path, mode)

        self.patch(Path, "chmod", refusing)
        close_to_others(self.config)
        self.assertEqual(
            [event["first"] for event in self.told if "first" in event],
            [f"{self.state}/secret.key (Operation not permitted)"],
        )
        self.assertEqual(stat.S_IMODE((self.state / "tls" / "desk.key").stat().st_mode), 0o600)
