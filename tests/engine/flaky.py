"""A client whose n-th call to Redis fails: before its effect, after it, or half-way through a pipeline."""

from __future__ import annotations

from typing import Any

import redis

MOMENTS = ("before", "after", "half-way")


class FlakyClient:
    """Stands between an Engine and its client. `failing_call` counts from 1; 0 = never."""

    def __init__(self, client: Any, *, failing_call: int, moment: str) -> None:
        self.client = client
        self.failing_call = failing_call
        self.moment = moment
        self.calls = 0

    def execute_command(self, *command: Any) -> Any:
        return self.attempt([command], lambda commands: self.client.execute_command(*commands[0]))

    def script_load(self, source: str) -> Any:
        return self.client.script_load(source)

    def pipeline(self, *, transaction: bool) -> FlakyPipeline:
        assert not transaction
        return FlakyPipeline(self)

    def close(self) -> None:
        self.client.close()

    def attempt(self, commands: list[Any], send: Any) -> Any:
        """Send commands, unless this is the call that fails."""
        self.calls += 1
        if self.calls != self.failing_call:
            return send(commands)
        sent = {"before": [], "after": commands, "half-way": commands[: len(commands) // 2]}[self.moment]
        if sent:
            send(sent)
        raise redis.ConnectionError("Connection closed by server.")


class FlakyPipeline:
    """The pipeline of a FlakyClient: one call, however many commands."""

    def __init__(self, flaky: FlakyClient) -> None:
        self._flaky = flaky
        self._commands: list[Any] = []

    def execute_command(self, *command: Any) -> None:
        self._commands.append(command)

    def execute(self, *, raise_on_error: bool) -> list[Any]:
        assert not raise_on_error
        return self._flaky.attempt(self._commands, self._send)  # type: ignore[no-any-return]

    def _send(self, commands: list[Any]) -> list[Any]:
        pipeline = self._flaky.client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return pipeline.execute(raise_on_error=False)  # type: ignore[no-any-return]
