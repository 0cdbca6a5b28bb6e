"""Bodies that want to do harm, and what no page may have of them."""

from __future__ import annotations

HOSTILE = {
    "markup": b"<script>alert(1)</script><img src=x onerror=alert(1)>",
    "huge": b"<b>" * 350_000,
    "binary": bytes(range(256)) * 4,
    "deep": b"[" * 10_000 + b"]" * 10_000,
    "invalid": b"\xc3\x28\xff<script>",
    "bidi": "\u202e<script>\u2066exe.fdp\u0000".encode(),
}

THEME = '<script src="/static/taskq/theme.js">'
"""The one script that runs before a page is painted, and so is no module."""


def assert_harmless(text: str) -> None:
    """No markup of a stranger's, nothing that turns text round or hides, no script that is not a file of ours."""
    assert "<script>" not in text
    assert "<img" not in text.replace('<img src="/static/', "")
    assert "onerror=alert(1)>" not in text
    assert not set("\u202e\u2066\u200b\x00") & set(text)
    assert text.count(THEME) <= 1, "a fragment has none"
    assert text.replace(THEME, "").count("<script") == text.count('<script type="module" src="/static/')
    assert " style=" not in text
