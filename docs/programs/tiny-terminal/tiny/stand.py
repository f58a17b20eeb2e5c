"""How the conformance suite stands the driver in front of its simulator."""

from tiny.driver import DRIVER
from tiny.simulator import TinySimulator

from dmtwisted.conformance.stands import NO_HOST, terminal

STAND = terminal(DRIVER, TinySimulator, wrong=NO_HOST)
