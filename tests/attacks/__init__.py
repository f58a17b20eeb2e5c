"""What strangers may try, one declaration for each attempt: ``python -m tests.attacks`` (docs/security.md).

A variant says what an attacker sends and what must be true afterwards. `variants` declares, `desk` is the service
under attack, the other modules are one class of attacks each. The fast variants are part of the suite
(`test_attacks`).
"""
