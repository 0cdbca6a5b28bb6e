"""What destroys is asked about first: by dialogs.js where scripts run, else by a page. The server insists."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from .access import wants_json

_ANSWERS: Final = frozenset({"csrfmiddlewaretoken", "confirmed", "word"})


def confirm_first(request: HttpRequest, *, question: str, word: str = "") -> HttpResponse | None:
    """None when the form says `confirmed=yes` (and repeats `word`, if there is one); else the answer to give instead.

    That is a page which asks, and sends the same form again; for a script 400.
    """
    repeated = not word or request.POST.get("word", "").strip() == word
    if request.POST.get("confirmed") == "yes" and repeated:
        return None
    if wants_json(request):
        return JsonResponse({"error": _("This has to be confirmed."), "code": "not_confirmed"}, status=400)
    fields = [(name, value) for name, values in request.POST.lists() if name not in _ANSWERS for value in values]
    mistyped = request.POST.get("confirmed") == "yes"
    context = {"question": question, "word": word, "fields": fields, "mistyped": mistyped}
    return render(request, "dashboard/confirm.html", context, status=400 if mistyped else 200)
