"""``python -m tests.attacks``"""

from tests.attacks.command import main

main()
