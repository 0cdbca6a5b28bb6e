"""How limits of queues and of limit keys are shown."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from dashboard.formatting import NOTHING
from queues.services.policies import EffectivePolicy
from queues.services.queues.limit_keys import QueueLimitView

register = template.Library()


@register.filter
def throttle_words(throttle: Any) -> str:
    """What holds up jobs that are ready."""
    words = {
        "paused": _("the queue is paused"),
        "queue_concurrency": _("concurrency of the queue"),
        "queue_rate": _("rate of the queue"),
        "key_concurrency": _("concurrency of the key"),
        "key_rate": _("rate of the key"),
    }
    return words[str(throttle)]


@register.filter
def limits_of_queue(view: QueueLimitView) -> str:
    """`10/s, burst 5, 3 of 4 in flight`."""
    policy = view.policy
    said = _rate(policy.rate, policy.burst)
    if policy.max_in_flight is not None:
        numbers = {"working": _number(view.working), "most": _number(policy.max_in_flight)}
        said.append(_("%(working)s of %(most)s in flight") % numbers)
    return _joined(said)


@register.filter
def limits_of_policy(policy: EffectivePolicy) -> str:
    """`10/s, burst 5, 4 in flight at most`; a dash for none."""
    said = _rate(policy.rate, policy.burst)
    if policy.max_in_flight is not None:
        said.append(_("%(most)s in flight at most") % {"most": _number(policy.max_in_flight)})
    return ", ".join(said) or NOTHING


@register.filter
def limits_of_keys(policy: EffectivePolicy) -> str:
    """`2/s, burst 2, 1 in flight at most, weight 3, 12 keys with weights of their own`."""
    said = _rate(policy.key_rate, policy.key_burst)
    if policy.key_in_flight is not None:
        said.append(_("%(most)s in flight at most") % {"most": _number(policy.key_in_flight)})
    if policy.key_weight is not None:
        said.append(_("weight %(weight)s") % {"weight": _number(policy.key_weight)})
    if policy.key_weights:
        weights = [line.strip() for line in policy.key_weights.splitlines() if line.strip()]
        shown = ", ".join(weights[:WEIGHTS_SHOWN]) + (" …" if len(weights) > WEIGHTS_SHOWN else "")
        said.append(_("weights %(weights)s") % {"weights": shown})
    return _joined(said)


WEIGHTS_SHOWN = 5


def _rate(rate: float | None, burst: int | None) -> list[str]:
    if rate is None:
        return []
    said = [_("%(rate)s/s") % {"rate": _number(rate)}]
    if burst is not None:
        said.append(_("burst %(burst)s") % {"burst": _number(burst)})
    return said


def _joined(said: list[str]) -> str:
    return ", ".join(said) or _("no limits")


def _number(number: float) -> str:
    return str(number_format(f"{number:g}" if number < 1_000_000 else round(number), force_grouping=True))
