"""What a job keeps of an exception."""

from __future__ import annotations

import traceback
from typing import Final

ERROR_MAX: Final = 1_000


def describe(error: BaseException) -> str:
    """Type and message, then where it was raised: the innermost frames that fit into what a job keeps of an error."""
    head = "".join(traceback.format_exception_only(error)).strip()[: ERROR_MAX // 2]
    frames = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    text = head
    for frame in reversed(frames):
        if len(text) + len(frame) + 4 > ERROR_MAX:
            break
        text += f"\n  {frame}"
    return text
