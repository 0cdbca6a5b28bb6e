"""The last exchange of a connection in a process: a request that is refused, or one that another process serves."""

from __future__ import annotations

from typing import Any, Final

from queues.api.http.response import HEADER, choose_request_id

from .exchange import Channel, Exchange
from .request_head import Reason

_REFUSED_SCOPE: Final = {"method": "GET", "http_version": "1.1", "path": "", "headers": ()}


class HandOver(Exchange):
    """Stands for a request that the pages process serves (`connection_sender`). The last on its connection here."""

    __slots__ = ()

    def __init__(self, connection: Channel, scope: dict[str, Any]) -> None:
        super().__init__(connection, scope, keep_alive=False)
        self.end()  # nothing of its body is read here

    async def run(self, application: Any) -> None:
        """Give away the connection, once all before it is sent; or have `application` refuse the request."""
        if self.is_gone:
            return
        client = await self._connection.dup_when_sent()
        if client is None:
            return
        with client:
            if await application.hand_over(self._scope, client, self._connection.held):
                self.hang_up()
                self._connection.let_go()
                return
        await super().run(application)


class Refusal(Exchange):
    """Takes the place of a malformed request. It is the last on its connection."""

    __slots__ = ("_reason",)

    def __init__(self, connection: Channel, reason: Reason) -> None:
        super().__init__(connection, _REFUSED_SCOPE, keep_alive=False)
        self.end()
        self._reason = reason

    async def run(self, _application: Any) -> None:
        """Tell the client what is wrong."""
        status, words = self._reason
        body = b'{"error":"%b"}' % words
        headers = (
            (b"content-type", b"application/json; charset=utf-8"),
            (HEADER, choose_request_id(None)),
            (b"content-length", b"%d" % len(body)),
            *(((b"retry-after", b"0"),) if status == 503 else ()),
        )
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})
