"""Listens to everything that goes wrong in a browser's page while a test looks at something else."""

from __future__ import annotations

from playwright.sync_api import ConsoleMessage, Page, Request, Response

_VIOLATIONS = """
window.cspViolations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
});
window.alert = (text) => console.error(`alert: ${text}`);
"""


class Watch:
    """What a page complained of: errors on its console, uncaught exceptions, violations of its Content-Security-Policy,
    requests to other hosts, answers of 500 and above. A test that brings some about says which (`expected`)."""

    def __init__(self, page: Page, origin: str) -> None:
        self._origin = origin
        self.expected: list[str] = []
        self._heard: list[str] = []
        page.add_init_script(_VIOLATIONS)
        page.on("console", self._hear_console)
        page.on("pageerror", lambda error: self._heard.append(f"exception: {error}"))
        page.on("request", self._hear_request)
        page.on("response", self._hear_response)

    @property
    def complaints(self) -> list[str]:
        """All but those expected."""
        return [one for one in self._heard if not any(word in one for word in self.expected)]

    def forget(self) -> None:
        """Begin anew: the page goes on to another test."""
        self.expected.clear()
        self._heard.clear()

    def _hear_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._heard.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _hear_request(self, request: Request) -> None:
        if not request.url.startswith((self._origin, "data:", "blob:")):
            self._heard.append(f"other host: {request.url}")

    def _hear_response(self, response: Response) -> None:
        if response.status >= 500:
            self._heard.append(f"answer {response.status}: {response.url}")
