"""manage.py token create | list | revoke | limit."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from queues.management.verbs import VerbCommand
from queues.services.activity import ActivityAction
from queues.services.errors import LimitNotFoundError
from queues.services.tokens.limit_settings import Limit
from queues.services.tokens.managing import (
    create_token,
    delete_limit,
    get_limit,
    list_tokens,
    note_new_token,
    note_token_act,
    revoke_token,
    set_limit,
)


class Command(VerbCommand):
    help = "Makes, lists, revokes and limits tokens."

    def add_verbs(self) -> None:
        create = self.verb("create", self.create, "Make a token and print it: the only time that it is shown.")
        create.add_argument("namespace", help="made if it is new")
        create.add_argument("--description", required=True, help="what it is for and who has it")
        create.add_argument("--pool")
        create.add_argument("--secret-stdin", action="store_true", help="take the secret from standard input")
        create.add_argument("--json", action="store_true", dest="as_json")

        listing = self.verb("list", self.list, "List tokens, never their secrets.")
        listing.add_argument("namespace", nargs="?")
        listing.add_argument("--pool")
        listing.add_argument("--all", action="store_true", dest="include_revoked", help="revoked ones too")
        listing.add_argument("--json", action="store_true", dest="as_json")

        revoke = self.verb("revoke", self.revoke, "Refuse a token everywhere within 2 seconds, for ever.")
        self._add_token(revoke)

        limit = self.verb("limit", self.limit, "Show, set or remove a token's limit. 0: no limit for that kind.")
        self._add_token(limit)
        limit.add_argument("--read", type=int, metavar="N", help="consumes per interval")
        limit.add_argument("--write", type=int, metavar="N", help="publishes per interval")
        limit.add_argument("--interval", type=int, metavar="S", help="seconds")
        limit.add_argument("--remove", action="store_true")

    def _add_token(self, parser: ArgumentParser) -> None:
        parser.add_argument("namespace")
        parser.add_argument("token", help="its id (see list) or the token itself")
        parser.add_argument("--pool")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def create(
        self,
        *,
        namespace: str,
        description: str,
        pool: str | None,
        secret_stdin: bool,
        as_json: bool,
        **_options: Any,
    ) -> None:
        secret = sys.stdin.readline().strip() if secret_stdin else None
        new = create_token(namespace=namespace, pool=pool, description=description, secret=secret)
        note_new_token(user=None, pool=pool, namespace=namespace, token=new)
        if as_json:
            self.print_json({"token": new.display, "public_id": new.public_id, "namespace": namespace})
            return
        self.stderr.write(f"token {new.public_id} for {namespace}; keep it, it is not shown again:")
        self.stdout.write(new.display)

    def list(
        self, *, namespace: str | None, pool: str | None, include_revoked: bool, as_json: bool, **_options: Any
    ) -> None:
        tokens = list_tokens(namespace=namespace, pool=pool, include_revoked=include_revoked)
        if as_json:
            self.print_json([asdict(token) for token in tokens])
            return
        self.print_table(
            ["ID", "POOL", "NAMESPACE", "LAST USED", "STATE", "DESCRIPTION"],
            [
                (
                    token.public_id,
                    token.pool,
                    token.namespace,
                    token.last_used and f"{token.last_used:%Y-%m-%d %H:%M}",
                    "revoked" if token.revoked_at else "working",
                    token.description,
                )
                for token in tokens
            ],
        )

    def revoke(self, *, namespace: str, token: str, pool: str | None, as_json: bool, **_options: Any) -> None:
        if not revoke_token(pool=pool, namespace=namespace, public_id_or_secret=token):
            raise CommandError(f"namespace {namespace} has no such token that works")
        self._note(ActivityAction.TOKEN_REVOKED, pool, namespace, token)
        if as_json:
            self.print_json({"revoked": True})
        else:
            self.stdout.write("revoked")

    def limit(
        self,
        *,
        namespace: str,
        token: str,
        pool: str | None,
        read: int | None,
        write: int | None,
        interval: int | None,
        remove: bool,
        as_json: bool,
        **_options: Any,
    ) -> None:
        if remove:
            if delete_limit(pool=pool, namespace=namespace, public_id_or_secret=token):
                self._note(ActivityAction.LIMIT_DELETED, pool, namespace, token)
        elif read is not None or write is not None or interval is not None:
            if interval is None:
                raise CommandError("a limit needs --interval, and --read or --write")
            limit = Limit(read=read or 0, write=write or 0, interval_s=interval)
            set_limit(pool=pool, namespace=namespace, public_id_or_secret=token, limit=limit)
            self._note(ActivityAction.LIMIT_CHANGED, pool, namespace, token, str(limit))
        try:
            kept = get_limit(pool=pool, namespace=namespace, public_id_or_secret=token)
        except LimitNotFoundError:
            kept = None
        if as_json:
            self.print_json(None if kept is None else asdict(kept))
        elif kept is None:
            self.stdout.write("no limit")
        else:
            self.stdout.write(f"read {kept.read}, write {kept.write} per {kept.interval_s} s")

    def _note(self, action: ActivityAction, pool: str | None, namespace: str, token: str, detail: str = "") -> None:
        note_token_act(
            user=None, action=action, pool=pool, namespace=namespace, public_id_or_secret=token, detail=detail
        )
