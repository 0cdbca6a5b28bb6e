"""Secrets: their form, and that the database alone does not have them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from queues.services.errors import InvalidArgumentError
from queues.services.push.secrets import UnreadableSecretError, key_of, new_secret, seal, unseal
from tests.support.rows import in_one_test


@in_one_test("length", [24, 31, 32, 33, 64])
def test_a_key_is_sealed_differently_each_time_and_unsealed(length: int) -> None:
    key = bytes(range(length))

    first, second = seal(key), seal(key)

    assert first != second
    assert unseal(first) == unseal(second) == key
    assert key not in base64.urlsafe_b64decode(first)


def test_what_was_tampered_with_or_sealed_by_another_key_is_refused(settings: Any) -> None:
    sealed = seal(key_of(new_secret()))
    raw = bytearray(base64.urlsafe_b64decode(sealed))
    for place in (0, 20, len(raw) - 1):
        changed = bytearray(raw)
        changed[place] ^= 1
        with pytest.raises(UnreadableSecretError):
            unseal(base64.urlsafe_b64encode(changed).decode())
    for text in ("", "x", sealed[:-4], base64.urlsafe_b64encode(bytes(96)).decode(), "中"):
        with pytest.raises(UnreadableSecretError):
            unseal(text)
    settings.SECRET_KEY = "another"
    with pytest.raises(UnreadableSecretError):
        unseal(sealed)


@in_one_test("secret", ["", "x", "whsec_", "whsec_!!!!", "whsec_" + base64.b64encode(bytes(23)).decode(), "A" * 44])
def test_a_text_that_is_no_secret_is_refused_without_repeating_it(secret: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        key_of(secret)

    assert str(caught.value) == "invalid secret: expected whsec_ and the base64 of 24 to 64 bytes"
