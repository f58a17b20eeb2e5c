"""Secrets in the database are sealed with a key that only the service's own user can read."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path
from unittest import SkipTest

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.secrets import KEY_FILE, Secrets, SecretsError, write_private
from tests.rights import OWNER_ONLY


class WithFolder(SynchronousTestCase):
    """Tests with a folder of their own."""

    def setUp(self) -> None:
        """An empty folder."""
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / KEY_FILE


class SecretsTests(WithFolder):
    """Sealing and unsealing."""

    def test_there_and_back(self) -> None:
        """A sealed text is unsealed unchanged, also by a later process; a seal contains no part of its text."""
        sealed = Secrets(self.folder).seal("сезам", "token")
        self.assertEqual(Secrets(self.folder).read(sealed, "token"), "сезам")
        self.assertTrue(sealed.isascii())
        self.assertNotIn("сезам", sealed)

    def test_fresh_each_time(self) -> None:
        """The same text is sealed differently each time."""
        secrets = Secrets(self.folder)
        self.assertNotEqual(secrets.seal("x", "a"), secrets.seal("x", "a"))

    def test_empty(self) -> None:
        """An empty text can be sealed."""
        secrets = Secrets(self.folder)
        self.assertEqual(secrets.read(secrets.seal("", "a"), "a"), "")

    def test_moved(self) -> None:
        """A seal that was moved to another place is refused."""
        secrets = Secrets(self.folder)
        self.assertRaises(SecretsError, secrets.read, secrets.seal("x", "till 1"), "till 2")

    def test_changed(self) -> None:
        """A seal with any changed character, or cut short, is refused."""
        secrets = Secrets(self.folder)
        sealed = secrets.seal("sesame", "a")
        for place in range(len(sealed)):
            other = "B" if sealed[place] != "B" else "C"
            if sealed[place] == "=":
                continue
            self.assertRaises(SecretsError, secrets.read, sealed[:place] + other + sealed[place + 1 :], "a")
            self.assertRaises(SecretsError, secrets.read, sealed[:place], "a")

    def test_no_file_before_the_first_secret(self) -> None:
        """A service without secrets has no key file."""
        Secrets(self.folder)
        self.assertFalse(self.file.exists())

    def test_mode(self) -> None:
        """Only the owner may access the key file."""
        if os.name != "posix":
            raise SkipTest("modes are a matter of POSIX")
        Secrets(self.folder).seal("x", "a")
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), OWNER_ONLY)

    def test_restored_with_another_mode(self) -> None:
        """If others could read a key file, their access is removed, and the key is used."""
        if os.name != "posix":
            raise SkipTest("modes are a matter of POSIX")
        sealed = Secrets(self.folder).seal("x", "a")
        self.file.chmod(0o644)
        self.assertEqual(Secrets(self.folder).read(sealed, "a"), "x")
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), OWNER_ONLY)

    def test_missing(self) -> None:
        """Without its key file a secret is not unsealed, the message names the file, and no new key is made."""
        sealed = Secrets(self.folder).seal("x", "a")
        self.file.unlink()
        error = self.assertRaises(SecretsError, Secrets(self.folder).read, sealed, "a")
        self.assertIn(str(self.file), str(error))
        self.assertFalse(self.file.exists())

    def test_another_key(self) -> None:
        """A key file of another machine is distinguished from a damaged secret."""
        sealed = Secrets(self.folder).seal("x", "a")
        self.file.unlink()
        other = Secrets(self.folder)
        other.seal("y", "a")
        self.assertIn("another key", str(self.assertRaises(SecretsError, other.read, sealed, "a")))

    def test_damaged_file(self) -> None:
        """A file without a valid key is not overwritten with a new one."""
        for content in (b"", b"nonsense", b"\xff\xfe", b"00" * 31):
            self.file.write_bytes(content)
            self.assertRaises(SecretsError, Secrets(self.folder).seal, "x", "a")
            self.assertEqual(self.file.read_bytes(), content)

    def test_no_folder(self) -> None:
        """A folder that cannot be written is named in the error."""
        error = self.assertRaises(SecretsError, Secrets(self.folder / "gone").seal, "x", "a")
        self.assertIn("gone", str(error))

    def test_in_memory(self) -> None:
        """Without a folder the key lives as long as the process."""
        secrets = Secrets(None)
        sealed = secrets.seal("x", "a")
        self.assertEqual(secrets.read(sealed, "a"), "x")
        self.assertRaises(SecretsError, Secrets(None).read, sealed, "a")


class WritePrivateTests(WithFolder):
    """Files are written completely or not at all."""

    def test_replaced(self) -> None:
        """A file replaces an older one, and no other file is left in the folder."""
        write_private(self.file, b"old")
        write_private(self.file, b"new")
        self.assertEqual([path.name for path in self.folder.iterdir()], [KEY_FILE])
        self.assertEqual(self.file.read_bytes(), b"new")

    def test_failed(self) -> None:
        """If a write fails, the old file stays, and no other file is left in the folder."""
        write_private(self.file, b"old")

        def full(handle: int) -> None:
            raise OSError(28, "No space left on device")

        self.patch(os, "fsync", full)
        self.assertRaises(OSError, write_private, self.file, b"new")
        self.assertEqual([path.name for path in self.folder.iterdir()], [KEY_FILE])
        self.assertEqual(self.file.read_bytes(), b"old")
