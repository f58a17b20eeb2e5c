"""Wire protocols: codecs, Twisted protocols and simulators; nothing here knows HTTP or result codes."""
