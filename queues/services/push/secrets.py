"""Secrets that sign requests: made, sealed for the database, opened to sign, rotated.

A secret has the form of the Standard Webhooks specification: `whsec_` and the base64 of the key, 24 to 64 bytes. It
must be readable to sign with, so no digest of it will do. It is stored sealed: encrypted by Fernet (AES-128-CBC and
HMAC-SHA256) with a key derived from Django's SECRET_KEY, so that a copy of the database alone signs nothing. After a
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

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from ..errors import InvalidArgumentError

PREFIX: Final = "whsec_"
KEY_BYTES: Final = 32
KEY_MIN_BYTES: Final = 24
KEY_MAX_BYTES: Final = 64
SECRETS_MAX: Final = 3
"""Secrets that sign at the same time: more rotations within their time drop the oldest."""


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
    return _cipher((settings.SECRET_KEY,)).encrypt(key).decode()


def unseal(sealed: str) -> bytes:
    """The key. Raises UnreadableSecretError."""
    try:
        return _cipher((settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)).decrypt(sealed.encode())
    except InvalidToken:
        raise UnreadableSecretError from None


@lru_cache(maxsize=8)
def _cipher(masters: tuple[str | bytes, ...]) -> MultiFernet:
    return MultiFernet([Fernet(_derived(master)) for master in masters])


def _derived(master: str | bytes) -> bytes:
    key = master.encode() if isinstance(master, str) else master
    return base64.urlsafe_b64encode(hmac.digest(key, b"taskq push secret", hashlib.sha256))
