"""A model of an operation's life and of the batch saga, small enough to go through every interleaving.

``table`` has the transitions that the journal allows. ``register`` and ``saga`` are the models, which make no other
ones; ``search`` visits every state of a model, and ``watched`` sees the transitions that the code makes.
"""
