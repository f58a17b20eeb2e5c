"""The names of this service and of its machine."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted import host_names
from dmtwisted.hardened import BadList
from dmtwisted.host_names import HostList, HostNames, is_own_address, machine_names, read_hosts


class ListTests(SynchronousTestCase):
    """A list of names."""

    def test_read(self) -> None:
        """Names in any case and spelling, wildcards, addresses and networks."""
        found = read_hosts("Kasa.Shop., *.shop.example [fd00::5], 10.0.0.0/8,\n каса.укр")
        self.assertEqual(found.names, frozenset({"kasa.shop", "*.shop.example", "xn--80aa2a3a.xn--j1amh"}))
        self.assertEqual([str(network) for network in found.networks], ["fd00::5/128", "10.0.0.0/8"])
        self.assertEqual(read_hosts(" , "), HostList())

    def test_mistakes(self) -> None:
        """What is no name is named; `*` alone would allow everything."""
        for text in ("http://desk", "desk:3939", "*", "*.*.x", "a..b", "x" * 64, "a@b", "10.0.0.0/33"):
            self.assertRaises(BadList, read_hosts, f"good, {text}")

    def test_levels(self) -> None:
        """A wildcard is one level, as in a certificate."""
        found = read_hosts("*.shop.example")
        for name, expected in (("a.shop.example", True), ("shop.example", False), ("a.b.shop.example", False)):
            self.assertEqual(found.has(name), expected, name)
        self.assertFalse(found.has(ip_address("10.0.0.1")))


class NamesTests(SynchronousTestCase):
    """What `Host` may say."""

    def setUp(self) -> None:
        """A service with a name from each place."""
        self.now, self.machine, self.certificate, self.added = 0.0, {"desk"}, ["*.cert.example", "10.3.3.3", "?"], ""
        self.names = HostNames(
            read_hosts("listed.example"),
            lambda: self.added,
            lambda: self.certificate,
            lambda: self.now,
            lambda: frozenset(self.machine),
            lambda address: str(address) == "10.2.2.2",
        )

    def allowed(self, host: str, here: str = "10.1.1.1") -> bool:
        """Whether ``host`` is a name of ours."""
        return self.names.allows(host.encode(), here)

    def test_places(self) -> None:
        """Names of the configuration, the settings, the certificate and the machine, and its addresses."""
        for host in ("listed.example", "desk:1", "a.cert.example", "10.3.3.3", "10.1.1.1", "10.2.2.2"):
            self.assertTrue(self.allowed(host), host)
        for host in ("desk.example", "10.1.1.2", "a.listed.example", "added.example"):
            self.assertFalse(self.allowed(host), host)
        self.added = "added.example, ?"
        self.assertTrue(self.allowed("added.example"))

    def test_zone(self) -> None:
        """A zone in an address does not matter."""
        for host, here in (("[fe80::1]", "fe80::1%eth0"), ("[fe80::1%25eth0]:3939", "fe80::1%3")):
            self.assertTrue(self.allowed(host, here), host)
        self.assertFalse(self.allowed("[fe80::2]", "fe80::1%eth0"))

    def test_renamed(self) -> None:
        """A new name of the machine counts soon; a name that is looked for all the time is not read all the time."""
        self.assertFalse(self.allowed("till"))
        self.machine.add("till")
        self.assertFalse(self.allowed("till"))
        self.now = host_names.FRESH_S
        self.assertTrue(self.allowed("till"))

    def test_certificate(self) -> None:
        """With a new certificate its names count, and those of the old one no longer."""
        self.assertTrue(self.allowed("a.cert.example"))
        self.certificate = ["new.example"]
        self.names.forget()
        self.assertEqual(self.names.usual, set())
        self.assertEqual((self.allowed("a.cert.example"), self.allowed("new.example")), (False, True))

    def test_told(self) -> None:
        """People see every name, those of the machine first."""
        self.assertEqual(self.names.names(), ["desk", "localhost", "*.cert.example", "10.3.3.3/32", "listed.example"])


class MachineTests(SynchronousTestCase):
    """The names and addresses of the machine."""

    def machine(
        self, hosts: str, host_name: str = "desk.shop.example", domains: tuple[str, ...] = ()
    ) -> frozenset[str]:
        """The names of a machine with this hosts file."""
        file = Path(self.mktemp())
        file.write_text(hosts, "utf-8")
        self.patch(host_names, "_HOSTS_FILE", file)
        self.patch(host_names, "_domains", lambda: domains)
        self.patch(socket, "gethostname", lambda: host_name)
        return machine_names()

    def test_names(self) -> None:
        """The host name, short too, as `.local`, in the domains of the network, and as the hosts file has it."""
        hosts = (
            "127.0.0.1 localhost\n127.0.1.1\tDesk.Lan desk # ours\n203.0.113.7 other.example\n\n0.0.0.0 ads.example\n"
        )
        names = self.machine(hosts, "desk.shop.example", ("home", "."))
        self.assertEqual(names, {"desk.shop.example", "desk", "desk.local", "desk.home", "localhost", "desk.lan"})

    def test_block_list(self) -> None:
        """Names that a block list leads to this machine are not its own."""
        blocked = "".join(f"127.0.0.1 ad{number}.example\n" for number in range(100))
        self.assertEqual(self.machine(blocked, "desk"), {"desk", "desk.local"})

    def test_odd(self) -> None:
        """A machine without a proper name and without the file has no names."""
        self.assertEqual(self.machine("", "a b"), frozenset())
        self.patch(host_names, "_HOSTS_FILE", Path("/nowhere/hosts"))
        self.assertEqual(machine_names(), frozenset())

    def test_addresses(self) -> None:
        """An address is own if a socket can be bound to it."""
        for address, own in (("127.0.0.1", True), ("192.0.2.1", False), ("0.0.0.0", False), ("224.0.0.1", False)):
            self.assertEqual(is_own_address(ip_address(address)), own, address)
