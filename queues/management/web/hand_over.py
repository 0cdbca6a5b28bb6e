"""The last request of a connection in a worker, when it is for the pages process: see `pages_client`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .exchange import Exchange

if TYPE_CHECKING:
    from .connection import Connection


class HandOver(Exchange):
    """Takes the place of a request that the pages process serves. It is the last on its connection here."""

    __slots__ = ()

    def __init__(self, connection: Connection, scope: dict[str, Any]) -> None:
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
