"""The signature of the Standard Webhooks specification, for pushed jobs and for alerts.

Signed is `ID.TIMESTAMP.BODY`; each secret gives one `v1,BASE64` of the header `webhook-signature`, divided by blanks.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence


def sign(keys: Sequence[bytes], *, message_id: str, timestamp_s: int, body: bytes) -> str:
    """The value of `webhook-signature`."""
    signed = b"%b.%d.%b" % (message_id.encode(), timestamp_s, body)
    digests = [hmac.digest(key, signed, hashlib.sha256) for key in keys]
    return " ".join(["v1," + base64.b64encode(digest).decode() for digest in digests])
