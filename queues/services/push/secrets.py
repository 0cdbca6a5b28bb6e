"""Secrets that sign requests: made, sealed for the database, opened to sign, rotated.

A secret has the form of the Standard Webhooks specification: `whsec_` and the base64 of the key, 24 to 64 bytes. It
must be readable to sign with, so no digest of it will do. It is stored sealed: encrypted and authenticated with keys
derived from Django's SECRET_KEY, so that a copy of the database alone signs nothing. The cipher is HMAC-SHA256 in
counter mode under a random nonce, then HMAC-SHA256 over both (encrypt-then-MAC), of the standard library. After a
change of SECRET_KEY, keys in SECRET_KEY_FALLBACKS still open what they sealed; without them secrets have to be rotated.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from functools import lru_cache
from typing import Final

from django.conf import settings

from ..errors import InvalidArgumentError

PREFIX: Final = "whsec_"
KEY_BYTES: Final = 32
KEY_MIN_BYTES: Final = 24
KEY_MAX_BYTES: Final = 64
SECRETS_MAX: Final = 3
"""Secrets that sign at the same time: more rotations within their time drop the oldest."""

_NONCE_BYTES: Final = 16
_TAG_BYTES: Final = 32
_VERSION: Final = "1"


class UnreadableSecretError(Exception):
    """No key at hand opens it: SECRET_KEY has changed, or the row was tampered with."""


def new_secret() -> str:
    """256 random bits."""
    return PREFIX + base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def key_of(secret: str) -> bytes:
    """The bytes that sign. Raises InvalidArgumentError for a text that is no secret; the message does not repeat it."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not KEY_MIN_BYTES <= len(key) <= KEY_MAX_BYTES:
        raise InvalidArgumentError(
            f"invalid secret: expected {PREFIX} and the base64 of {KEY_MIN_BYTES} to {KEY_MAX_BYTES} bytes"
        )
    return key


def seal(key: bytes) -> str:
    """`key` for the database."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    encrypting, authenticating = _derived(settings.SECRET_KEY)
    hidden = _crypt(encrypting, nonce, key)
    tag = hmac.digest(authenticating, nonce + hidden, hashlib.sha256)
    return f"{_VERSION}:{base64.b64encode(nonce + hidden + tag).decode()}"


def unseal(sealed: str) -> bytes:
    """The key. Raises UnreadableSecretError."""
    version, _, text = sealed.partition(":")
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise UnreadableSecretError from None
    nonce, hidden, tag = raw[:_NONCE_BYTES], raw[_NONCE_BYTES:-_TAG_BYTES], raw[-_TAG_BYTES:]
    if version == _VERSION and hidden:
        for master in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
            encrypting, authenticating = _derived(master)
            if hmac.compare_digest(hmac.digest(authenticating, nonce + hidden, hashlib.sha256), tag):
                return _crypt(encrypting, nonce, hidden)
    raise UnreadableSecretError


@lru_cache(maxsize=8)
def _derived(master: str | bytes) -> tuple[bytes, bytes]:
    key = master.encode() if isinstance(master, str) else master
    encrypting, authenticating = (
        hmac.digest(key, b"taskq push secret: " + use, hashlib.sha256) for use in (b"encrypt", b"authenticate")
    )
    return encrypting, authenticating


def _crypt(key: bytes, nonce: bytes, text: bytes) -> bytes:
    """XOR with as many blocks of key stream as it takes; its own inverse."""
    stream = b"".join(
        hmac.digest(key, nonce + block.to_bytes(4, "big"), hashlib.sha256) for block in range(-(-len(text) // 32))
    )
    return bytes(a ^ b for a, b in zip(text, stream, strict=False))
