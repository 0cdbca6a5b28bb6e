"""Encryption of what travels: Fernet (AES-128-CBC and HMAC-SHA256), with keys that rotate. Needs
`taskq[encryption]`.
"""

from __future__ import annotations

from collections.abc import Sequence

from .outcomes import NotConfiguredError, SerializationError


class FernetCipher:
    """Encrypts with the first key, decrypts with any.

    To rotate: add the new key as the last one everywhere, then put it first, and drop the old one later.
    """

    def __init__(self, keys: Sequence[str | bytes]) -> None:
        try:
            from cryptography.fernet import Fernet, MultiFernet
        except ImportError as error:
            raise NotConfiguredError(
                "encryption_keys need the package cryptography: pip install 'taskq[encryption]'"
            ) from error
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
        except ValueError as error:
            raise NotConfiguredError(f"an encryption key is not 32 bytes in URL-safe base64: {error}") from error

    def encrypt(self, raw: bytes) -> bytes:
        return self._fernet.encrypt(raw)

    def decrypt(self, token: bytes) -> bytes:
        """Raises SerializationError if no key fits."""
        from cryptography.fernet import InvalidToken

        try:
            return self._fernet.decrypt(token)
        except InvalidToken:
            raise SerializationError("the body cannot be decrypted with any of the encryption_keys") from None
