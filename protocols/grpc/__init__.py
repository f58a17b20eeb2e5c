"""gRPC: unary calls over HTTP/2.

Errors show whether a call may have been processed.
"""
