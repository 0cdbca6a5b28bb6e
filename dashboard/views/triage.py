"""Assigning and muting groups of dead letters with alike errors."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.formatting import number
from queues.services.dead_letters.triage import assign_group, mute_group, unmute_group
from queues.services.errors import InvalidArgumentError

from .decorators import action, done

MUTES: Final = {"1h": timedelta(hours=1), "1d": timedelta(days=1), "1w": timedelta(weeks=1), "4w": timedelta(weeks=4)}
DOUBLED: Final = "doubled"


@action
def dead_triage(request: HttpRequest) -> HttpResponse:
    """`do`: assign (`to`, `note`), mute (`until`: one of MUTES, or doubled) or unmute, in `pool` and `namespace` the
    group `like`.
    """
    place = {name: request.POST.get(name, "") for name in ("pool", "namespace")}
    pattern, do = request.POST.get("like", ""), request.POST.get("do", "")
    back = f"{reverse('dashboard:dead')}?{urlencode({**place, 'like': pattern})}"
    named = place | {"pattern": pattern}
    if do == "assign":
        to = request.POST.get("to", "")
        assign_group(user=request.user, username=to, note=request.POST.get("note", ""), **named)
        message = _("Assigned to %(user)s.") % {"user": to} if to else _("Assigned to nobody.")
    elif do == "mute":
        until = request.POST.get("until", "")
        if until not in (*MUTES, DOUBLED):
            raise InvalidArgumentError("invalid time")
        is_doubled = until == DOUBLED
        count = mute_group(user=request.user, lasting=MUTES.get(until), until_doubled=is_doubled, **named)
        text = ngettext(
            "Muted: incidents leave out %(number)s dead letter.",
            "Muted: incidents leave out %(number)s dead letters.",
            count,
        )
        message = text % {"number": number(count)}
    elif do == "unmute":
        unmute_group(user=request.user, **named)
        message = _("No longer muted.")
    else:
        raise InvalidArgumentError("invalid do")
    return done(request, message=message, back=back)


urlpatterns = [path("dead/triage", dead_triage, name="dead_triage")]
