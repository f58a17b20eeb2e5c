"""Fiscal registers on a wire: codecs, links with deferred timeouts, and the device's end of a line."""
