"""The login of MG registers: HTTP digest authentication, MD5 with qop ``auth`` (docs/reference/registers.md#mg)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import md5

REALM = "HTROM"
SCHEME = "Digest "

_MEMBER = re.compile(r'(\w+)\s*=\s*(?:"([^"]*)"|([^\s,]+))')


@dataclass(frozen=True)
class Challenge:
    """What a register asks for with status 401."""

    nonce: str
    realm: str = REALM

    @classmethod
    def decode(cls, header: str) -> Challenge | None:
        """The challenge in ``WWW-Authenticate``; `None` when it is another one."""
        given = members(header)
        return cls(given["nonce"], given.get("realm", REALM)) if "nonce" in given else None

    def encode(self) -> str:
        """The header."""
        return f'{SCHEME}realm="{self.realm}", nonce="{self.nonce}", qop="auth"'


def members(header: str) -> dict[str, str]:
    """The members of a header; none when it is not digest authentication."""
    if not header.startswith(SCHEME):
        return {}
    return {found[1]: found[2] if found[3] is None else found[3] for found in _MEMBER.finditer(header)}


@dataclass(frozen=True)
class Login:
    """A user of the register: a cashier by number, or the service user."""

    user: str
    password: str

    def authorization(self, challenge: Challenge, method: str, uri: str, count: int, cnonce: str) -> str:
        """The header ``Authorization`` of the request number ``count`` with this challenge."""
        response = self.response(challenge, method, uri, f"{count:08x}", cnonce)
        return (
            f'{SCHEME}username="{self.user}", realm="{challenge.realm}", nonce="{challenge.nonce}", uri="{uri}", '
            f'qop=auth, nc={count:08x}, cnonce="{cnonce}", response="{response}"'
        )

    def response(self, challenge: Challenge, method: str, uri: str, count: str, cnonce: str) -> str:
        """What proves that the password is known."""
        secret = _hash(f"{self.user}:{challenge.realm}:{self.password}")
        return _hash(f"{secret}:{challenge.nonce}:{count}:{cnonce}:auth:{_hash(f'{method}:{uri}')}")


def _hash(text: str) -> str:
    # The register knows nothing else; it is no protection against someone who listens.
    return md5(text.encode(), usedforsecurity=False).hexdigest()
