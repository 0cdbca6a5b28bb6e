"""EMAIL_URL → Django's mail settings."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote, urlsplit

from .env import EnvError

TIMEOUT_S: Final = 30
PORTS: Final = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
BACKENDS: Final = "django.core.mail.backends"


def mail_settings(url: str) -> dict[str, Any]:
    """`smtp://`, `smtp+tls://` (STARTTLS) or `smtps://USER:PASSWORD@HOST:PORT`; `file:///DIRECTORY`, one file for each
    mail; `console:`. "": mails are not sent, and nobody should try.

    Raises EnvError, which does not repeat the URL: it may hold a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise EnvError("EMAIL_URL cannot be read: expected smtp://USER:PASSWORD@HOST:PORT") from error
    if not url:
        return {"EMAIL_BACKEND": f"{BACKENDS}.dummy.EmailBackend"}
    if parts.scheme == "console":
        return {"EMAIL_BACKEND": f"{BACKENDS}.console.EmailBackend"}
    if parts.scheme == "file" and parts.path.startswith("/"):
        return {"EMAIL_BACKEND": f"{BACKENDS}.filebased.EmailBackend", "EMAIL_FILE_PATH": unquote(parts.path)}
    if parts.scheme not in PORTS or not parts.hostname:
        schemes = ", ".join(f"{scheme}://HOST" for scheme in PORTS)
        raise EnvError(f"EMAIL_URL: expected one of {schemes}, file:///DIRECTORY, console:")
    return {
        "EMAIL_BACKEND": f"{BACKENDS}.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port or PORTS[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp+tls",
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_TIMEOUT": TIMEOUT_S,
    }
