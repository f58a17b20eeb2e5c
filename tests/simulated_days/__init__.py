"""Shop days in one process, from one seed: the whole service below HTTP, its devices, its tills, and every fault.

``world`` is what there is: the one clock, the store, the devices, and the service in its lives. ``tills`` are the
programs at the counters, ``faults`` what goes wrong, ``judge`` what has to be true after each step. ``day`` puts them
together. Nothing is random but by the seed, so a seed replays exactly: ``python -m tests.simulated_days --seed N``.
"""
