"""The ground: bytes on a wire, codecs, protocols and simulators; nothing here knows HTTP or result codes."""
