"""The memory of a long-running process."""

import platform
import subprocess
import sys

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from dmtwisted.system.environment import environment

BLOCKS = """
from ctypes import CDLL, c_size_t, c_void_p
from dmtwisted.system.memory import LARGE, return_large_blocks

return_large_blocks()
library = CDLL(None)
library.malloc.restype, library.malloc.argtypes, library.free.argtypes = c_void_p, [c_size_t], [c_void_p]
for _ in range(2):
    block = library.malloc(16 * LARGE)
    # A bit of the word before a block says that the system gave it alone (malloc.c).
    print(c_size_t.from_address(block - 8).value & 2)
    library.free(block)
"""
"""Takes a large block twice, in a process in which no other is free."""


class LargeBlocksTests(SynchronousTestCase):
    """Large blocks of the C library."""

    def test_returned(self) -> None:
        """A large block goes back to the system when it is free, also the second of its size."""
        if platform.libc_ver()[0] != "glibc" or sys.maxsize < 1 << 32:
            raise SkipTest("needs the GNU C library of a 64-bit system")
        done = subprocess.run([sys.executable, "-c", BLOCKS], env=environment(), capture_output=True, check=True)
        self.assertEqual(done.stdout.split(), [b"2", b"2"])
