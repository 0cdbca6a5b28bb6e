"""What was amiss with a report, as its day has it."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.db import transaction

from queues.models import ReportDay

from .shapes import WarningKind

TEXT_MAX = 1_000


def warning(kind: WarningKind, text: str) -> dict[str, str]:
    """As ReportDay.warnings has them."""
    return {"kind": kind.value, "text": text[:TEXT_MAX].replace("\0", "")}


def add_warning(day: date, kind: WarningKind, text: str, **fields: Any) -> None:
    """Put one more on a report that is there; `fields` of the day are set with it. Raises database errors."""
    with transaction.atomic():
        row = ReportDay.objects.select_for_update().filter(pk=day).first()
        if row is None:  # forgotten meanwhile
            return
        row.warnings = [*row.warnings, warning(kind, text)]
        for name, value in fields.items():
            setattr(row, name, value)
        row.save(update_fields=["warnings", *fields])
