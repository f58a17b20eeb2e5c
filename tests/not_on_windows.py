"""Tests that the Windows Python under Wine does not run, each with its reason: a module, a class or a test a line."""

from __future__ import annotations

EVERY_TEST = "imports every test module, also those that need Linux"
FIFO = "makes a named pipe of POSIX"
FORKS = "copies a process by fork, which Windows does not have"
GOOGLE = "asks Google's libraries, which the Windows Python does not have; Linux asks them about the same code"
LIMITS = "limits the files of another process, which Linux alone can"
LINKS = "makes a symbolic link; Wine's call succeeds and makes none"
PORTS = "asks pyserial for the ports, which needs CM_MapCrToWin32Err; Wine's cfgmgr32 has none"
PTY = "opens the pseudo-terminals of Linux"
RIGHTS = "sets the rights of POSIX"
SIGNALS = "sends a signal that asks for the end; Windows ends a process at once"
TIME_ZONE = "sets the time zone of the process, which Windows cannot"
WRITER = "finds the writer among the processes by /proc"

EXCLUDED: dict[str, str] = {
    "attacks.test_attacks.FilesTests.test_backup_fifo": FIFO,
    "attacks.test_attacks.FilesTests.test_backup_link": LINKS,
    "attacks.test_attacks.FilesTests.test_ca_fifo": FIFO,
    "attacks.test_attacks.FilesTests.test_ca_link": LINKS,
    "attacks.test_attacks.FilesTests.test_ca_link_folder": LINKS,
    "attacks.test_attacks.FilesTests.test_ca_link_loop": LINKS,
    "attacks.test_attacks.FilesTests.test_ca_link_zero": LINKS,
    "attacks.test_attacks.FilesTests.test_signer_ca_fifo": FIFO,
    "attacks.test_attacks.FilesTests.test_signer_ca_link": LINKS,
    "attacks.test_attacks.FilesTests.test_state_files": RIGHTS,
    "attacks.test_attacks.FilesTests.test_state_folder": RIGHTS,
    "attacks.test_attacks.FilesTests.test_trusted_certificates_fifo": FIFO,
    "attacks.test_attacks.FilesTests.test_trusted_certificates_link": LINKS,
    "test_backup.MakeTests.test_what_is_no_state": LINKS,
    "test_cabinet_messages.OracleTests": GOOGLE,
    "test_clock.StampTests.test_machine_elsewhere": TIME_ZONE,
    "test_contract.ShortRunTests": "needs jsonschema-rs, whose library does not load under Wine 8",
    "test_crashlab": FORKS,
    "test_device_file": PTY,
    "test_files.NamedTests.test_read": LINKS,
    "test_files.NamedTests.test_refused": LINKS,
    "test_fuzz.WatchTests.test_peak": "asks getrusage, which Windows does not have",
    "test_grpc_peers": GOOGLE,
    "test_house.MixedTests.test_nothing_hidden": EVERY_TEST,
    "test_packaging.ScriptTests": "the scripts and the unit of the Debian package",
    "test_presence.CodeTests.test_link": LINKS,
    "test_prro.SettingsTests.test_named_files": FIFO,
    "test_recipes.RecipeTests.test_all": PORTS,
    "test_serial.SerialTests": PTY,
    "test_serial_windows.PortNameTests": PORTS,
    "test_service_process.FullDiskTests": LIMITS,
    "test_service_process.KillTests.test_writer": WRITER,
    "test_service_process.StartTests.test_code": SIGNALS,
    "test_service_process.StopTests": SIGNALS,
    "test_simulate.ProcessTests.test_worst_day": SIGNALS,
    "test_simulate.StartTests.test_serial_port": PORTS,
    "test_sqlite_store.DamageTests.test_emptied_by_a_link": LINKS,
    "test_sqlite_store.DamageTests.test_full_at_start": LIMITS,
    "test_sqlite_store.DamageTests.test_no_rights": RIGHTS,
    "test_sqlite_store.FullDiskTests": LIMITS,
    "test_sqlite_store.QueueTests.test_signals": SIGNALS,
    "test_state_folder": RIGHTS,
    "test_terminal_matrix.MatrixTests.test_whole": EVERY_TEST,
    "test_traceability.PageTests.test_committed_page": EVERY_TEST,
    "test_traceability.PageTests.test_written_then_checked": EVERY_TEST,
    "test_windows_suite": "drives Wine from Linux",
    "test_writer.TakeLockTests.test_by_a_link": LINKS,
    "windows": "drive Wine from Linux",
}
"""Names without ``tests.`` in front."""


def reason(test: str) -> str:
    """Why the test with this id, or what it is in, is excluded; empty if it is not."""
    parts = test.removeprefix("tests.").split(".")
    names = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next((EXCLUDED[name] for name in names if name in EXCLUDED), "")
