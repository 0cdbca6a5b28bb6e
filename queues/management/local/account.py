"""The demo account: a namespace with a token, and somebody who may sign in. Made once; a restart finds the same."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from django.contrib.auth import get_user_model

from queues.services.errors import InvalidTokenError, TokenExistsError
from queues.services.tokens.access import authorise
from queues.services.tokens.managing import create_token

POOL: Final = "default"
NAMESPACE: Final = "demo"
USERNAME: Final = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The token, and the password that `username` has unless somebody changed it (then None)."""

    namespace: str
    token: str
    username: str
    password: str | None

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """The account kept in `path`; None if there is none."""
        if not path.exists():
            return None
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return cls(**fields)

    def write(self, path: Path) -> None:
        """Keep it in `path`, for its owner's eyes only."""
        fields = {
            "namespace": self.namespace,
            "token": self.token,
            "username": self.username,
            "password": self.password,
        }
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(fields, file)
        draft.replace(path)


def ensure_account(path: Path) -> Account:
    """Make whatever is missing of the account, in the database and in `path`.

    What somebody changed meanwhile stays changed: a revoked token is replaced by another one, and neither the
    password nor the rights of an existing user are touched.
    """
    kept = Account.read(path)
    account = Account(
        namespace=NAMESPACE,
        token=_ensure_token(kept.token if kept is not None else None),
        username=USERNAME,
        password=_ensure_user(kept.password if kept is not None else None),
    )
    if account != kept:
        account.write(path)
    return account


def _ensure_token(kept: str | None) -> str:
    if kept is None:
        return _new_token(None)
    try:
        authorise(pool=POOL, secret=kept, namespace=NAMESPACE)
    except InvalidTokenError:
        try:
            return _new_token(kept)  # another database than last time
        except TokenExistsError:
            return _new_token(None)  # somebody revoked it
    return kept


def _new_token(secret: str | None) -> str:
    description = "demo account of manage.py up"
    return create_token(pool=POOL, namespace=NAMESPACE, description=description, secret=secret).display


def _ensure_user(kept: str | None) -> str | None:
    users = get_user_model().objects
    user = users.filter(username=USERNAME).first()
    if user is None:
        password = kept or secrets.token_urlsafe(12)
        users.create_superuser(username=USERNAME, email="", password=password)
        return password
    return kept if kept is not None and user.check_password(kept) else None
