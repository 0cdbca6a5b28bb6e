"""What tests of the dashboard share."""

from __future__ import annotations

import pytest

from .people import People, gather


@pytest.fixture
def people(db: None) -> People:
    """Alice owns the namespace `shop`, Bob may read it, Charlie owns `bank`."""
    return gather()
