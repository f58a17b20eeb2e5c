"""HTTP framing: where a request begins and ends, what a line is, how long anything may be and may take."""

from __future__ import annotations

import json

from tests.attacks.desk import Desk, MemoryDesk
from tests.attacks.variants import HIGH, LOW, MEDIUM, Family, Stage
from tests.web_case import chunked, fiscal, sale
from web.connection import IDLE_CONNECTION, REQUEST_PATIENCE

FRAMING = Family("framing", "HTTP framing")

STATUS = json.dumps(fiscal(18)).encode()
SALE = json.dumps(sale("smuggled"), ensure_ascii=True).encode()
HIDDEN = (
    b"POST /dm/execute HTTP/1.1\r\nHost: %HOST%\r\nContent-Length: " + str(len(SALE)).encode() + b"\r\n\r\n" + SALE
)
"""A sale that must not be made: it lies where one reading of the framing sees a request and another does not."""


def post(*headers: bytes, path: bytes = b"/dm/execute") -> bytes:
    """The head of a task."""
    return b"\r\n".join((b"POST " + path + b" HTTP/1.1", b"Host: %HOST%", *headers, b"", b""))


def get(*headers: bytes, path: bytes = b"/health/live", version: bytes = b"HTTP/1.1") -> bytes:
    """A request for the state of health."""
    return b"\r\n".join((b"GET " + path + b" " + version, b"Host: %HOST%", *headers, b"", b""))


def refused(desk: Desk, *pieces: bytes) -> None:
    """The service answers 4xx, or nothing, and closes the connection."""
    talk = desk.send(*pieces)
    assert talk.closed, f"the connection stays open: {talk.raw[:200]!r}"
    assert all(400 <= status < 500 for status in talk.statuses), talk.raw[:300]
    assert len(talk.statuses) <= 1, talk.statuses


# -- two readings of where a request ends ---------------------------------------------------------------------------

N = str(len(HIDDEN) - HIDDEN.count(b"%HOST%") * 6 + HIDDEN.count(b"%HOST%") * len("localhost:3939")).encode()
"""The length of `HIDDEN` in memory."""


@FRAMING.each(
    {
        "cl-zero-then-n": ("lengths 0 and N", b"Content-Length: 0", b"Content-Length: " + N),
        "cl-n-then-zero": ("lengths N and 0", b"Content-Length: " + N, b"Content-Length: 0"),
        "cl-list": ("the length `0, N`", b"Content-Length: 0, " + N),
        "cl-plus": ("the length `+0`", b"Content-Length: +0"),
        "cl-minus": ("the length `-1`", b"Content-Length: -1"),
        "cl-minus-zero": ("the length `-0`", b"Content-Length: -0"),
        "cl-hex": ("the length `0x0`", b"Content-Length: 0x0"),
        "cl-underscore": ("the length `1_0`, which Python reads as 10", b"Content-Length: 1_0"),
        "cl-blank-inside": ("the length `1 0`", b"Content-Length: 1 0"),
        "cl-fraction": ("the length `0.0`", b"Content-Length: 0.0"),
        "cl-exponent": ("the length `1e1`", b"Content-Length: 1e1"),
        "cl-letters": ("the length `ten`", b"Content-Length: ten"),
        "cl-empty": ("an empty length", b"Content-Length:"),
        "cl-arabic": ("a length in Arabic digits", "Content-Length: ٠".encode()),
        "cl-fullwidth": ("a length in full-width digits", "Content-Length: ０".encode()),
        "cl-quoted": ("a length in quotes", b'Content-Length: "0"'),
        "cl-semicolon": ("the length `0;x`", b"Content-Length: 0;x"),
        "cl-many-digits": ("a length of 5,000 digits", b"Content-Length: " + b"9" * 5000),
        "cl-many-zeros": ("a length of 5,000 zeros", b"Content-Length: " + b"0" * 5000),
        "te-and-cl": ("chunks and a length", b"Transfer-Encoding: chunked", b"Content-Length: 5"),
        "cl-and-te": ("a length and chunks", b"Content-Length: 5", b"Transfer-Encoding: chunked"),
        "te-and-cl-zero": ("chunks and the length 0", b"Transfer-Encoding: chunked", b"Content-Length: 0"),
        "te-unknown": ("an unknown transfer encoding", b"Transfer-Encoding: xchunked"),
        "te-gzip": ("gzip as the transfer encoding", b"Transfer-Encoding: gzip"),
        "te-gzip-chunked": ("two transfer encodings in a list", b"Transfer-Encoding: gzip, chunked"),
        "te-chunked-gzip": ("chunks that are not the last encoding", b"Transfer-Encoding: chunked, gzip"),
        "te-twice-in-list": ("chunks twice in a list", b"Transfer-Encoding: chunked, chunked"),
        "te-quoted": ("the encoding in quotes", b'Transfer-Encoding: "chunked"'),
        "te-parameter": ("the encoding with a parameter", b"Transfer-Encoding: chunked;q=1"),
        "te-comma": ("the encoding with a comma after it", b"Transfer-Encoding: chunked,"),
        "te-vertical-tab": ("the encoding after a vertical tab", b"Transfer-Encoding: \x0bchunked"),
        "te-nul": ("the encoding before a zero byte", b"Transfer-Encoding: chunked\x00"),
        "te-blank-before-colon": ("a blank between name and colon of the encoding", b"Transfer-Encoding : chunked"),
        "cl-blank-before-colon": ("a blank between name and colon of the length", b"Content-Length : 0"),
        "te-tab-before-colon": ("a tab between name and colon of the encoding", b"Transfer-Encoding\t: chunked"),
        "te-folded": ("the encoding on a folded line", b"Transfer-Encoding:", b" chunked"),
        "te-hidden-by-fold": ("the encoding folded onto another header", b"X-A: 1", b" Transfer-Encoding: chunked"),
        "cl-folded": ("a length that goes on on a folded line", b"Content-Length: 1", b"\t0"),
    },
    "It is refused and the connection ends: the hidden sale is not made under either reading.",
    HIGH,
)
def two_ends(desk: Desk, *headers: bytes) -> None:
    """The hidden sale follows a head with a doubtful length."""
    talk = desk.send(post(*headers) + b"0\r\n\r\n" + HIDDEN)
    assert 200 not in talk.statuses[1:], f"the hidden request was answered: {talk.statuses}"
    assert talk.closed, f"the connection stays open: {talk.raw[:200]!r}"
    assert len(talk.statuses) <= 1, talk.statuses


@FRAMING.each(
    {
        "chunk-0x": ("a chunk size `0x5`", b"0x5\r\nhello\r\n0\r\n\r\n"),
        "chunk-plus": ("a chunk size `+5`", b"+5\r\nhello\r\n0\r\n\r\n"),
        "chunk-minus": ("a chunk size `-5`", b"-5\r\nhello\r\n0\r\n\r\n"),
        "chunk-underscore": ("a chunk size `1_0`", b"1_0\r\n" + b"x" * 16 + b"\r\n0\r\n\r\n"),
        "chunk-blank-before": ("a blank before the chunk size", b" 5\r\nhello\r\n0\r\n\r\n"),
        "chunk-empty-size": ("no chunk size", b"\r\nhello\r\n0\r\n\r\n"),
        "chunk-not-hex": ("a chunk size `zz`", b"zz\r\nhello\r\n0\r\n\r\n"),
        "chunk-too-long": ("more data than the chunk says", b"3\r\nhello\r\n0\r\n\r\n"),
        "chunk-no-end": ("no line end after the chunk's data", b"5\r\nhello0\r\n\r\n"),
        "chunk-lf-end": ("a bare line feed after the chunk's data", b"5\r\nhello\n0\r\n\r\n"),
        "chunk-lf-size": ("a bare line feed after the chunk size", b"5\nhello\r\n0\r\n\r\n"),
        "chunk-huge": ("a chunk size of 64 bits", b"ffffffffffffffff\r\nhello"),
        "chunk-17-digits": ("a chunk size of 17 hex digits", b"10000000000000005\r\nhello\r\n0\r\n\r\n"),
        "chunk-size-endless": ("a chunk size of 100,000 digits", b"0" * 100_000),
        "chunk-extension-endless": ("a chunk extension of 100,000 bytes", b"5;" + b"x" * 100_000),
        "chunk-trailer-endless": ("100,000 bytes of trailers", b"0\r\n" + b"X-A: " + b"y" * 100_000),
    },
    "Broken chunks end the connection; no task runs, and nothing after them is read as a request.",
    HIGH,
)
def broken_chunks(desk: Desk, body: bytes) -> None:
    """The hidden sale follows broken chunks."""
    talk = desk.send(post(b"Transfer-Encoding: chunked") + body + HIDDEN)
    assert 200 not in talk.statuses, talk.raw[:300]
    if not talk.closed:
        # The bytes belong to a chunk that is not over: then nothing is answered, and patience ends it.
        assert not talk.statuses and body.startswith((b"ffff", b"1000")), talk.raw[:300]


@FRAMING.each(
    {
        "trailer-length": ("a length in the trailers", b"Content-Length: 500"),
        "trailer-encoding": ("chunks in the trailers", b"Transfer-Encoding: chunked"),
        "trailer-key": ("an API key in the trailers", b"X-Api-Key: x"),
        "trailer-host": ("another Host in the trailers", b"Host: evil.example"),
    },
    "Trailers mean nothing: the task before them runs as it stands, and what follows has its own bounds.",
    MEDIUM,
)
def trailers(desk: Desk, trailer: bytes) -> None:
    """A task in chunks with a trailer, then a request."""
    body = chunked(STATUS, 50)[:-2] + trailer + b"\r\n\r\n"
    talk = desk.send(post(b"Transfer-Encoding: chunked") + body, get())
    assert talk.statuses in ([200, 200], [400]), talk.raw[:300]


@FRAMING.each(
    {
        "body-of-get": ("a GET whose body is a sale", b"GET /health/live"),
        "body-of-head": ("a HEAD whose body is a sale", b"HEAD /health/live"),
        "body-of-options": ("an OPTIONS whose body is a sale", b"OPTIONS /dm/execute"),
        "body-of-delete": ("a DELETE whose body is a sale", b"DELETE /dm/main/"),
        "body-of-unknown": ("an unknown method whose body is a sale", b"BREW /dm/main/"),
    },
    "The body belongs to its request, whatever the method: the sale in it is not made.",
    HIGH,
)
def body_is_no_request(desk: Desk, head: bytes) -> None:
    """A request hides in a body."""
    inner = HIDDEN.replace(b"%HOST%", desk.host.encode())
    talk = desk.send(
        head + b" HTTP/1.1\r\nHost: %HOST%\r\nContent-Length: " + str(len(inner)).encode() + b"\r\n\r\n" + inner
    )
    assert len(talk.statuses) <= 1, talk.raw[:300]


@FRAMING.one(
    "cl-equal-twice",
    "the same length twice",
    "It is refused, or counts once: the bytes after the body are no part of it.",
    MEDIUM,
)
def same_length_twice(desk: Desk) -> None:
    """Equal lengths."""
    length = b"Content-Length: " + str(len(STATUS)).encode()
    talk = desk.send(post(length, length) + STATUS, get())
    assert talk.statuses in ([200, 200], [400]), talk.raw[:300]


@FRAMING.one(
    "half-closed",
    "half of a sale, then the connection ends",
    "What is not whole is not done.",
    HIGH,
)
def half(desk: Desk) -> None:
    """A cut request."""
    talk = desk.send(post(b"Content-Length: " + str(len(SALE)).encode()) + SALE[:-10])
    assert not talk.statuses, talk.raw


@FRAMING.one(
    "after-a-refusal",
    "a sale behind a request that is refused",
    "The refusal ends the connection: the sale is not made.",
    HIGH,
)
def after_a_refusal(desk: Desk) -> None:
    """A second request in the same packet."""
    refused(desk, b"GET / HTTP/1.1\r\nbroken header\r\n\r\n" + HIDDEN)


@FRAMING.one(
    "after-close",
    "a sale behind a request with `Connection: close`",
    "The first answer is the last one: the sale is not made.",
    MEDIUM,
)
def after_close(desk: Desk) -> None:
    """The client said that it was done."""
    talk = desk.send(get(b"Connection: close") + HIDDEN)
    assert talk.statuses == [200] and talk.closed, talk.raw[:300]


# -- lines ----------------------------------------------------------------------------------------------------------


@FRAMING.each(
    {
        "header-no-colon": ("a header without a colon", get(b"nonsense")),
        "header-no-name": ("a header without a name", get(b": value")),
        "header-blank-in-name": ("a header name with a blank", get(b"X A: 1")),
        "header-brackets": ("a header name with brackets", get(b"X(A): 1")),
        "header-nul-name": ("a header name with a zero byte", get(b"X\x00A: 1")),
        "header-utf8-name": ("a header name in Cyrillic", get("Хост: 1".encode())),
        "first-line-folded": (
            "a folded line right after the request line",
            b"GET /health/live HTTP/1.1\r\n Host: x\r\n\r\n",
        ),
        "version-none": ("HTTP/0.9", b"GET /health/live\r\n\r\n"),
        "version-two": ("HTTP/2.0 in words", get(version=b"HTTP/2.0")),
        "version-nine": ("HTTP/9.9", get(version=b"HTTP/9.9")),
        "version-letters": ("HTTP/1.1x", get(version=b"HTTP/1.1x")),
        "version-lower": ("http/1.1", get(version=b"http/1.1")),
        "version-other": ("RTSP/1.0", get(version=b"RTSP/1.0")),
        "line-four-parts": ("a request line of four words", b"GET /health/live x HTTP/1.1\r\nHost: %HOST%\r\n\r\n"),
        "line-empty-parts": ("a request line of blanks", b"   \r\nHost: %HOST%\r\n\r\n"),
        "line-one-word": ("a request line of one word", b"GET\r\n\r\n"),
        "h2-preface": ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"),
        "client-hello": (
            "a TLS ClientHello at the plain port",
            bytes.fromhex("16030100c8010000c40303") + b"x" * 193 + b"\r\n\r\n",
        ),
        "smtp": ("the greeting of a mail client", b"EHLO evil\r\n\r\n"),
        "ssh": ("the banner of SSH", b"SSH-2.0-x\r\n\r\n"),
        "zero-bytes": ("zero bytes and two line ends", b"\0" * 500 + b"\r\n\r\n"),
        "line-endless": ("a request line of 200,000 bytes", b"GET /" + b"x" * 200_000),
        "header-20k": ("a header of 20 KB", get(b"X-A: " + b"x" * 20_000)),
        "cookie-20k": ("a cookie of 20 KB", get(b"Cookie: DMUIToken=" + b"x" * 20_000)),
        "header-endless": ("a header of 1 MB without an end", b"GET / HTTP/1.1\r\nX-A: " + b"x" * 1_000_000),
        "headers-many": ("2,000 headers", get(*(b"X-%d: 1" % n for n in range(2000)))),
        "headers-same": ("2,000 headers of one name", get(*[b"X-A: 1"] * 2000)),
        "headers-16k": ("headers of 100 KB in all", get(*(b"X-%d: " % n + b"x" * 1000 for n in range(100)))),
    },
    "It is no HTTP request that we read: 4xx or nothing, and the connection ends.",
    MEDIUM,
)
def no_request(desk: Desk, data: bytes) -> None:
    """Bytes that are none."""
    refused(desk, data)


@FRAMING.each(
    {
        "crlf-in-path": ("coded line ends in a path", b"/dm/main/%0d%0aSet-Cookie:%20x=1"),
        "lf-in-path": ("a coded line feed in a path", b"/dm/main/%0aX-Evil:%20x=1"),
        "crlf-in-next": ("coded line ends in `next` of the login page", b"/login?next=/dm/%0d%0aX-Evil:%201"),
        "crlf-utf8": ("line ends as wide letters in a path", b"/dm/main/%E5%98%8D%E5%98%8AX-Evil:%201"),
        "cr-raw": ("a bare carriage return in a path", b"/dm/main/\rX-Evil:1"),
        "crlf-in-word": ("coded line ends in the program's word", b"/dm/%0d%0aX-Evil:1/api/v1/settings"),
    },
    "No answer has a header that the caller wrote.",
    HIGH,
    Stage.LOGIN,
)
def split_answer(desk: Desk, path: bytes) -> None:
    """A header that the attacker chose."""
    talk = desk.send(b"GET " + path + b" HTTP/1.1\r\nHost: %HOST%\r\n\r\n")
    for answer in talk.answers:
        names = {name for name, _ in answer.headers}
        assert "x-evil" not in names and ("set-cookie", "x=1") not in answer.headers, answer.headers
    assert b"\nX-Evil" not in talk.raw, talk.raw


@FRAMING.each(
    {
        "header-nul": ("a zero byte in a header's value", b"X-A: a\x00b"),
        "header-cr": ("a bare carriage return in a header's value", b"X-A: a\rX-Api-Key: b"),
        "header-escape": ("an escape sequence in the name of the request", b"X-Request-Id: \x1b[2J\x1b]0;evil\x07"),
        "request-id-line": (
            "the name of the request with a line in it",
            b"X-Request-Id: a\tb 2026-11-23 error all is lost",
        ),
        "request-id-long": ("a name of the request of 10,000 letters", b"X-Request-Id: " + b"x" * 10_000),
        "language-long": ("10,000 languages", b"Accept-Language: " + b"xx;q=1," * 1500),
        "language-weight": ("a language of weight 1e999", b"Accept-Language: en;q=1e999, uk;q=nan"),
        "encoding-bomb": ("a body that says it is gzip", b"Content-Encoding: gzip"),
        "range-overlap": ("1,000 ranges that overlap", b"Range: bytes=" + b"0-," * 1000 + b"0-1"),
        "expect-nonsense": ("an expectation that nobody knows", b"Expect: coffee"),
        "upgrade-h2c": (
            "an upgrade to HTTP/2",
            b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQ",
        ),
        "upgrade-websocket": (
            "an upgrade to a web socket",
            b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAA\r\nSec-WebSocket-Version: 13",
        ),
        "method-override": ("a method in a header", b"X-HTTP-Method-Override: DELETE"),
        "connection-drops-host": (
            "`Connection: host`, which tells a proxy to drop it",
            b"Connection: host, x-api-key",
        ),
    },
    "The header means nothing: the task runs as without it, or is refused whole; nothing of it is echoed.",
    LOW,
)
def strange_header(desk: Desk, header: bytes) -> None:
    """A task without effect, with one more header."""
    talk = desk.send(post(header, b"Content-Length: " + str(len(STATUS)).encode()) + STATUS)
    assert talk.statuses in ([200], [400], []), talk.raw[:300]
    assert b"\x1b" not in talk.raw and b"evil" not in talk.raw and b" 101 " not in talk.raw[:20], talk.raw[:500]
    for answer in talk.answers:
        assert len(answer.header("x-request-id") or "") <= 200, answer.headers


@FRAMING.each(
    {
        "target-absolute": ("the address of another site as the target", b"GET http://evil.example/ HTTP/1.1"),
        "target-absolute-own": (
            "our own API as an absolute target",
            b"GET http://localhost/dm/api/v3/devices HTTP/1.1",
        ),
        "target-file": ("a file's address as the target", b"GET file:///etc/passwd HTTP/1.1"),
        "target-connect": ("CONNECT to a mail server", b"CONNECT mail.example:25 HTTP/1.1"),
        "target-relative": ("a target without a slash", b"GET dm/api/v3/devices HTTP/1.1"),
        "target-slashes": (
            "a target that names another host by two slashes",
            b"GET //evil.example/dm/api/v3/devices HTTP/1.1",
        ),
        "target-user": ("a target with a user", b"GET http://localhost:3939@evil.example/ HTTP/1.1"),
        "target-trace": ("TRACE, which echoes headers", b"TRACE /dm/main/ HTTP/1.1"),
        "target-track": ("TRACK, which echoes headers", b"TRACK /dm/main/ HTTP/1.1"),
        "target-fragment": ("a fragment in the target", b"GET /dm/api/v3/devices#/health/live HTTP/1.1"),
        "target-backslash": ("backslashes in the target", b"GET \\dm\\api\\v3\\devices HTTP/1.1"),
        "target-utf8": ("raw Cyrillic in the target", "GET /dm/апі/v3/devices HTTP/1.1".encode()),
        "target-long": ("a target of 15,000 bytes", b"GET /" + b"x" * 15_000 + b" HTTP/1.1"),
        "method-lower": ("a method in small letters", b"get /dm/api/v3/devices HTTP/1.1"),
        "method-long": ("a method of 10,000 letters", b"G" * 10_000 + b" /dm/api/v3/devices HTTP/1.1"),
        "method-symbols": ("a method of symbols", b"<script> /dm/api/v3/devices HTTP/1.1"),
    },
    "With a login nothing behind it is shown: no proxying, no echo, no other spelling of a path.",
    HIGH,
    Stage.LOGIN,
)
def strange_target(desk: Desk, line: bytes) -> None:
    """A request line that some servers read in their own way."""
    talk = desk.send(line + b"\r\nHost: %HOST%\r\nX-Echo: parrot\r\n\r\n")
    assert 200 not in talk.statuses, talk.raw[:300]
    assert b"parrot" not in talk.raw and b"root:" not in talk.raw and b"dev_id" not in talk.raw, talk.raw[:500]


@FRAMING.one("target-star", "`OPTIONS *`", "An empty answer, which tells nothing.", LOW, Stage.LOGIN)
def star(desk: Desk) -> None:
    """The service as a whole as the target."""
    [answer] = desk.send(b"OPTIONS * HTTP/1.1\r\nHost: %HOST%\r\n\r\n").answers
    assert answer.body == b"" and answer.header("allow") is None, answer


@FRAMING.each(
    {
        "middle-no-colon": ("a header without a colon", b"nonsense"),
        "middle-nul": ("a header with a zero byte", b"X-A: a\x00b"),
        "middle-length": ("the length `+5`", b"Content-Length: +5"),
        "middle-name": ("a header name with a blank", b"X A: 1"),
        "middle-folded": ("a folded line", b" folded"),
    },
    "The whole request is refused: the sale that it carries is not made.",
    HIGH,
)
def broken_in_the_middle(desk: Desk, header: bytes) -> None:
    """A sale, with a broken header before the right ones."""
    refused(desk, post(b"X-B: 1", header, b"Content-Length: " + str(len(SALE)).encode(), b"X-C: 1") + SALE)


@FRAMING.each(
    {
        "pipeline-50": ("50 requests in one packet", 50, b""),
        "pipeline-lines": ("50 requests with empty lines between them", 50, b"\r\n"),
    },
    "Each of {0} gets its own answer, in order.",
    LOW,
)
def pipeline(desk: Desk, count: int, between: bytes) -> None:
    """Several requests at once."""
    talk = desk.send(between.join([get()] * count))
    assert talk.statuses == [200] * count, talk.statuses


@FRAMING.one(
    "expect-continue",
    "`Expect: 100-continue`, and never a body",
    "We say 100 and wait no longer than for any request; nothing is done.",
    LOW,
)
def waits_for_continue(desk: Desk) -> None:
    """A client that waits for leave."""
    talk = desk.send(post(b"Content-Length: 100", b"Expect: 100-continue"))
    assert talk.statuses in ([100], [417]), talk.raw


@FRAMING.one(
    "too-much-at-once",
    "a task of 5 MB",
    "It is refused with 2000, and no more than 4 MB of it are kept.",
    HIGH,
)
def too_long(desk: Desk) -> None:
    """A body beyond any use."""
    body = b'{"device":"' + b"x" * 5_000_000 + b'"}'
    answer = desk.ask("POST", "/dm/execute", body)
    assert (answer.status, answer.json["res"]) == (200, 2000), answer


# -- time -----------------------------------------------------------------------------------------------------------


@FRAMING.each(
    {
        "slow-head": ("a head, one byte a second", post(b"Content-Length: 9999"), 1.0),
        "slow-body": ("a body, one byte a second", post(b"Content-Length: 9999") + b"{" * 999, 1.0),
        "slow-chunks": (
            "a chunk of one byte each second",
            post(b"Transfer-Encoding: chunked") + b"1\r\n{\r\n" * 99,
            1.0,
        ),
        "slow-headers": ("a short header every 10 seconds", post(*[b"X-A: 1"] * 200), 10.0),
        "slow-newlines": ("an empty line every 10 seconds", b"\r\n" * 200, 10.0),
    },
    "The connection is ended after 60 seconds, whatever drips in.",
    HIGH,
    Stage.MEMORY,
)
def slow(desk: MemoryDesk, data: bytes, pause: float) -> None:
    """A request that never is whole."""
    connection, clock = desk.case.connect(), desk.shop.clock
    begun = clock.seconds()
    for byte in data:
        clock.advance(pause)
        connection.send(bytes([byte]))
        if not connection.is_open:
            break
    assert not connection.is_open, "it may drip without end"
    assert clock.seconds() - begun <= 2 * REQUEST_PATIENCE, clock.seconds() - begun


@FRAMING.each(
    {
        "silent": ("nothing at all", b""),
        "silent-half-line": ("half a request line, then nothing", b"GET /hea"),
        "silent-after-head": ("a head that promises a body, then nothing", post(b"Content-Length: 5")),
        "silent-after-answer": ("a request, then nothing", get()),
    },
    "The connection is closed after two minutes.",
    MEDIUM,
    Stage.MEMORY,
)
def silent(desk: MemoryDesk, data: bytes) -> None:
    """A connection that is held."""
    connection = desk.case.connect()
    connection.send(data.replace(b"%HOST%", desk.host.encode()))
    desk.shop.clock.advance(IDLE_CONNECTION + 1)
    assert not connection.is_open
