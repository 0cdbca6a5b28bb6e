"""How objectives and burn rates are written."""

from __future__ import annotations

from typing import Any, Final

from django import template

from dashboard.formatting import NOTHING
from queues.services.objectives.burn_rates import BurnRates
from queues.services.reporting.presenting.figures import share

register = template.Library()

register.filter(share)

MANY: Final = 10


@register.filter
def burn(rates: BurnRates, window: str) -> str:
    """`14.4×`: of a window; a dash if nothing was delivered in it."""
    if not rates.deliveries[window].total:
        return NOTHING
    rate = rates.rates[window]
    return f"{rate:.0f}×" if rate >= MANY else f"{rate:.1f}".removesuffix(".0") + "×"


@register.filter
def tone(rates: BurnRates) -> Any:
    """bad while somebody is to be paged, warn while there is a ticket; "" otherwise."""
    alert = rates.alert
    return {"page": "bad", "ticket": "warn"}[alert.severity] if alert else ""
