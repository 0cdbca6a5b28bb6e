"""Reads what pages of reports say."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from django.test import Client

from queues.services.reporting.reading.days import yesterday

from .people import POOL, SHOP

DAY: Final = yesterday()
AT: Final = f"/reports/{DAY}/"
OF_SHOP: Final = f"{AT}{POOL}/{SHOP}/"
OF_ORDERS: Final = f"{OF_SHOP}orders/"


def text_of(browser: Client, url: str, **query: str) -> str:
    """What people read on a page: without tags, blanks as one."""
    answer = browser.get(url, query)
    assert answer.status_code == 200, answer.status_code
    words = re.sub(r"<script.*?</script>|<[^>]*>", " ", answer.text, flags=re.S)
    return re.sub(r"\s+", " ", words)


def charts_of(browser: Client, url: str, **query: str) -> dict[str, dict[str, Any]]:
    """Title of each picture → its numbers."""
    found = re.findall(r'<script type="application/json">(.*?)</script>', browser.get(url, query).text, re.S)
    charts = [json.loads(one) for one in found]
    return {chart["title"]: chart for chart in charts}


def values_of(chart: dict[str, Any], name: str) -> list[Any]:
    return next(one["values"] for one in chart["series"] if one["name"] == name)
