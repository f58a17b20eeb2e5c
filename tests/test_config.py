"""The configuration file is read as written, and errors name their place."""

from __future__ import annotations

import os
import re
from dataclasses import fields
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.config import (
    SECTIONS,
    About,
    Config,
    ConfigError,
    DatabaseConfig,
    LogConfig,
    Overrides,
    ServerConfig,
    ServiceConfig,
    TlsConfig,
    as_toml,
    load,
)
from tools.config_page import UKRAINIAN, reference

PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"


class _WithFile(SynchronousTestCase):
    """Writes configuration files into a folder of the test."""

    def file(self, text: str | bytes) -> Path:
        """A configuration file that holds ``text``."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        path = folder / "dm.toml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def complaint(self, text: str | bytes) -> str:
        """What is said of a file that holds ``text``, without the file's name, which is checked."""
        path = self.file(text)
        said = str(self.assertRaises(ConfigError, load, path))
        self.assertTrue(said.startswith(f"{path}: "), said)
        self.assertNotIn("\n", said)
        return said.removeprefix(f"{path}: ")


class LoadTests(_WithFile):
    """From the file to the dataclasses."""

    def test_no_file(self) -> None:
        """Without a file everything has its default, and the state is in ``var`` of the current folder."""
        config = load(None)
        self.assertEqual(config, Config(service=ServiceConfig(state=os.path.abspath("var"))))
        self.assertEqual(config.state, Path.cwd() / "var")

    def test_defaults(self) -> None:
        """The defaults are those that the specification and the design promise."""
        self.assertEqual(
            Config(),
            Config(
                ServerConfig(host="", port=3939, path_alias=""),
                TlsConfig(certificate="", key="", passphrase=""),
                DatabaseConfig(url=""),
                LogConfig(level="info", format="text", file=""),
                ServiceConfig(language="uk", training=False, state="var", turn_wait_s=15.0),
            ),
        )

    def test_empty_file(self) -> None:
        """With an empty file the state is beside it."""
        path = self.file("")
        self.assertEqual(load(path).state, path.parent / "var")

    def test_every_key(self) -> None:
        """Every key of the file arrives, and paths in it are relative to its folder."""
        path = self.file(
            '[server]\nhost = "127.0.0.1"\nport = 0\npath_alias = "desk"\n'
            '[tls]\ncertificate = "a.pem"\nkey = "/keys/a.key"\npassphrase = "x"\n'
            '[database]\nurl = "mssql://db/tills"\n'
            '[log]\nlevel = "error"\nformat = "json"\nfile = "../log.txt"\n'
            '[service]\nlanguage = "en"\ntraining = true\nstate = "state"\nturn_wait_s = 2\n'
            'training_protocol = "b"\n'
        )
        folder = path.parent
        self.assertEqual(
            load(path),
            Config(
                ServerConfig("127.0.0.1", 0, "desk"),
                TlsConfig(str(folder / "a.pem"), os.path.abspath("/keys/a.key"), "x"),
                DatabaseConfig("mssql://db/tills"),
                LogConfig("error", "json", str(folder.parent / "log.txt")),
                ServiceConfig("en", True, str(folder / "state"), 2.0, "b"),
            ),
        )

    def test_whole_seconds(self) -> None:
        """A whole number is taken where a number with a fraction may stand, and becomes one."""
        wait = load(self.file("[service]\nturn_wait_s = 3")).service.turn_wait_s
        self.assertEqual((wait, type(wait)), (3.0, float))

    def test_empty_path(self) -> None:
        """An empty path is one that is not given."""
        path = self.file('[log]\nfile = ""\n[service]\nstate = ""')
        self.assertEqual((load(path).log.file, load(path).state), ("", path.parent / "var"))

    def test_byte_order_mark(self) -> None:
        """A file saved by an editor that adds a byte order mark is read like any other."""
        self.assertEqual(load(self.file(b"\xef\xbb\xbf[server]\r\nport = 81\r\n")).server.port, 81)

    def test_certificate(self) -> None:
        """Only the certificate decides between HTTPS and HTTP."""
        self.assertFalse(load(None).tls.given)
        self.assertTrue(load(self.file('[tls]\ncertificate = "a"\nkey = "b"')).tls.given)

    def test_secrets_have_no_repr(self) -> None:
        """A configuration that ends up in a message shows neither passphrase nor database password."""
        text = repr(Config(tls=TlsConfig("a", "b", "open"), database=DatabaseConfig("mssql://u:sesame@h/d")))
        self.assertNotIn("open", text)
        self.assertNotIn("sesame", text)


class DatabaseTests(_WithFile):
    """Which database is meant."""

    def test_default(self) -> None:
        """Without a URL it is the SQLite file in the state folder, wherever the command line puts that."""
        overrides = Overrides(state=Path("elsewhere"))
        self.assertEqual(load(None, overrides).sqlite_file, Path.cwd() / "elsewhere" / "dmtwisted.db")

    def test_sqlite_file(self) -> None:
        """A SQLite URL names a file, relative to the configuration file."""
        path = self.file('[database]\nurl = "sqlite:///data/tills.db"')
        self.assertEqual(load(path).sqlite_file, path.parent / "data" / "tills.db")
        self.assertEqual(load(path).database.url, f"sqlite:///{path.parent / 'data' / 'tills.db'}")

    def test_absolute_sqlite_file(self) -> None:
        """Four slashes begin an absolute path."""
        path = self.file('[database]\nurl = "sqlite:////srv/tills.db"')
        self.assertEqual(load(path).sqlite_file, Path("/srv/tills.db").absolute())

    def test_server(self) -> None:
        """A database server has no file, and its URL stays as it is."""
        for url in ("postgresql://u:p@h/d", "mssql://u:p@h/d"):
            config = load(self.file(f'[database]\nurl = "{url}"'))
            self.assertEqual((config.sqlite_file, config.database.url), (None, url))

    def test_unknown(self) -> None:
        """Another kind of database is refused without repeating the password in its URL."""
        self.assertEqual(
            self.complaint('[database]\nurl = "mysql://u:sesame@h/d"'),
            "[database] url: a URL that begins with sqlite:///, postgresql:// or mssql:// is expected",
        )

    def test_no_file_named(self) -> None:
        """A SQLite URL without a file is refused."""
        self.assertIn("a file is expected", self.complaint('[database]\nurl = "sqlite:///"'))


class OverridesTests(_WithFile):
    """The command line goes before the file."""

    def test_all(self) -> None:
        """State, port and training of the command line win; its paths lie in the current folder."""
        path = self.file('[server]\nport = 81\n[service]\nstate = "there"')
        config = load(path, Overrides(state=Path("here"), port=0, training=True))
        self.assertEqual((config.state, config.server.port, config.service.training), (Path.cwd() / "here", 0, True))

    def test_none(self) -> None:
        """What the command line leaves open is the file's to say, training included."""
        config = load(self.file("[server]\nport = 81\n[service]\ntraining = true"), Overrides())
        self.assertEqual((config.server.port, config.service.training), (81, True))

    def test_port_out_of_range(self) -> None:
        """A port that does not exist is refused by the name of its option."""
        for port in (-1, 65536):
            error = self.assertRaises(ConfigError, load, None, Overrides(port=port))
            self.assertEqual(str(error), f"--port: a number from 0 to 65535 is expected, not {port}")


class ComplaintsTests(_WithFile):
    """What is said of a file that cannot be used: one line with file, section and key."""

    def test_no_such_file(self) -> None:
        """A file that is not there is named."""
        error = self.assertRaises(ConfigError, load, Path("nowhere/dm.toml"))
        self.assertEqual(str(error), f"{Path('nowhere/dm.toml')}: there is no such file")

    def test_unreadable(self) -> None:
        """A file that cannot be read is named with the reason."""
        folder = self.file("").parent
        error = self.assertRaises(ConfigError, load, folder)
        self.assertTrue(str(error).startswith(f"{folder}: cannot be read ("), str(error))

    def test_broken(self) -> None:
        """Broken TOML is shown by its line."""
        self.assertRegex(self.complaint("[server]\nport 3939\n"), r"^is not valid TOML: .*line 2")
        self.assertRegex(self.complaint("[server]\n[server]\n"), r"^is not valid TOML: .*line 2")

    def test_too_much(self) -> None:
        """Absurd nesting and numbers of absurd length are broken TOML as well."""
        for text in ("a = " + "[" * 9999, "a = " + "1" * 9999):
            self.assertIn("is not valid TOML", self.complaint(text))

    def test_not_utf8(self) -> None:
        """A file in another encoding is refused with that reason."""
        self.assertEqual(self.complaint(b'[server]\nhost = "\xff"'), "is not UTF-8 text")

    def test_unknown_key(self) -> None:
        """An unknown key is shown with the nearest that is known, if any is near."""
        self.assertEqual(self.complaint("[server]\nprot = 1"), "unknown key [server] prot; did you mean port?")
        self.assertEqual(self.complaint("[server]\nPORT = 1"), "unknown key [server] PORT; did you mean port?")
        self.assertEqual(self.complaint("[server]\nzzz = 1"), "unknown key [server] zzz")

    def test_unknown_section(self) -> None:
        """An unknown section is shown with the nearest that is known, if any is near."""
        self.assertEqual(self.complaint("[sever]\n"), "unknown section [sever]; did you mean [server]?")
        self.assertEqual(self.complaint("[zzz]\n"), "unknown section [zzz]")

    def test_names_in_quotes(self) -> None:
        """A name that is not a bare word is shown as in the file, on one line."""
        self.assertEqual(self.complaint('[server]\n"a\\nb" = 1'), 'unknown key [server] "a\\nb"')
        self.assertEqual(self.complaint('["a b"]\n'), 'unknown section ["a b"]')

    def test_outside_of_sections(self) -> None:
        """A key above all sections is shown with the section that it belongs to."""
        self.assertEqual(self.complaint("port = 1"), "the key port is not in a section; did you mean [server] port?")
        self.assertEqual(self.complaint("zzz = 1"), "the key zzz is not in a section")

    def test_no_section(self) -> None:
        """A section's name with a value of its own is refused."""
        self.assertEqual(self.complaint("server = 5"), "[server]: a section is expected, not 5")
        self.assertEqual(self.complaint("[[server]]\n"), "[server]: a section is expected, not an array")

    def test_wrong_kinds(self) -> None:
        """A value of a wrong kind is shown with the kind that is expected."""
        for text, said in (
            ('[server]\nport = "abc"', '[server] port: a whole number is expected, not "abc"'),
            ("[server]\nport = true", "[server] port: a whole number is expected, not true"),
            ("[server]\nport = 1.0", "[server] port: a whole number is expected, not 1.0"),
            ("[server]\nport = []", "[server] port: a whole number is expected, not an array"),
            ("[server.port]\n", "[server] port: a whole number is expected, not a section"),
            ("[server]\nport = 2026-11-21", "[server] port: a whole number is expected, not a date or time"),
            ("[server]\nhost = 5", "[server] host: a text is expected, not 5"),
            ("[service]\ntraining = 1", "[service] training: true or false is expected, not 1"),
            ('[service]\nturn_wait_s = "5"', '[service] turn_wait_s: a number is expected, not "5"'),
            ("[service]\nturn_wait_s = true", "[service] turn_wait_s: a number is expected, not true"),
        ):
            self.assertEqual(self.complaint(text), said)

    def test_long_values(self) -> None:
        """A long value is cut, a secret one is not shown."""
        self.assertLess(len(self.complaint(f'[server]\nport = "{"x" * 5000}"')), 120)
        self.assertEqual(self.complaint("[tls]\npassphrase = 123456"), "[tls] passphrase: a text is expected")

    def test_bounds(self) -> None:
        """A number out of its bounds is shown with them."""
        for port in ("-1", "65536", "1" * 400):
            self.assertIn(
                "[server] port: a number from 0 to 65535 is expected, not ",
                self.complaint(f"[server]\nport = {port}"),
            )
        for wait in ("-0.1", "3600.5", "nan", "inf", "1" * 400):
            self.assertIn(
                "[service] turn_wait_s: a number from 0 to 3600 is expected, not ",
                self.complaint(f"[service]\nturn_wait_s = {wait}"),
            )

    def test_choices(self) -> None:
        """An unknown choice is shown with all that there are, and with the nearest."""
        self.assertEqual(
            self.complaint('[log]\nlevel = "warning"'),
            '[log] level: debug, info, warn or error is expected, not "warning"; did you mean warn?',
        )
        self.assertEqual(
            self.complaint('[service]\nlanguage = "pl"'),
            '[service] language: uk or en is expected, not "pl"',
        )

    def test_path_alias(self) -> None:
        """A path alias is one segment of a path."""
        for alias in ("a/b", "..", ".", "a b", "ї", "a?", "desk\n"):
            self.assertIn(
                "[server] path_alias: one path segment",
                self.complaint(f"[server]\npath_alias = {_quoted(alias)}"),
            )

    def test_nul(self) -> None:
        """A text with the character NUL is refused, since no path and no host may hold it."""
        self.assertIn("[server] host: ", self.complaint('[server]\nhost = "\\u0000"'))

    def test_half_a_certificate(self) -> None:
        """A certificate without its key, and a key without its certificate, are refused."""
        self.assertEqual(
            self.complaint('[tls]\ncertificate = "a"'),
            "[tls] key: is missing; certificate and key need each other",
        )
        self.assertEqual(
            self.complaint('[tls]\nkey = "a"'),
            "[tls] certificate: is missing; certificate and key need each other",
        )


class ReferenceTests(_WithFile):
    """The page of all keys."""

    def test_page(self) -> None:
        """``docs/configuration.md`` is what ``python -m tools.config_page`` prints."""
        self.assertEqual(PAGE.read_text("utf-8"), reference())

    def test_ukrainian_page(self) -> None:
        """``docs/uk/configuration.md`` is what ``… uk`` prints, and describes every key."""
        self.assertEqual((PAGE.parent / "uk" / PAGE.name).read_text("utf-8"), reference(UKRAINIAN))
        self.assertEqual(set(UKRAINIAN.sections), set(SECTIONS))
        self.assertEqual(set(UKRAINIAN.effects), {spec.name for cls in SECTIONS.values() for spec in fields(cls)})

    def test_every_key(self) -> None:
        """Every key of every section has a default, an effect and an example, and is on the page."""
        page = reference()
        for section, cls in SECTIONS.items():
            self.assertIn(f"## `[{section}]`", page)
            for spec in fields(cls):
                about = spec.metadata["about"]
                self.assertIsInstance(about, About)
                self.assertTrue(about.effect.endswith("."), spec.name)
                self.assertIs(type(about.example), type(spec.default))
                self.assertNotEqual(about.example, spec.default)
                self.assertIn(f"|`{spec.name}`|", page)
                self.assertIn(f"\n{spec.name} = {as_toml(about.example)}\n", page)

    def test_sections(self) -> None:
        """The sections of the file are those of the configuration."""
        self.assertEqual(list(SECTIONS), [spec.name for spec in fields(Config) if spec.compare])

    def test_example_file(self) -> None:
        """The file with every key at the end of the page is valid."""
        blocks = re.findall(r"```toml\n(.*?)```", reference(), re.DOTALL)
        config = load(self.file(blocks[-1]))
        self.assertEqual((config.server.port, config.service.turn_wait_s), (8080, 5.0))


def _quoted(text: str) -> str:
    return '"' + text.replace("\n", "\\n") + '"'
