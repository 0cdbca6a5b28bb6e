"""SavedView: a filter, an order and columns of a list, which a user keeps under a name."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.db import models

VIEWS_MAX: Final = 50
"""Of one user, for one list."""

NAME_MAX: Final = 60
QUERY_MAX: Final = 4_000


class SavedView(models.Model):
    """`page`: which list, as `queues`. `query`: the query string of its address."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    page = models.CharField(max_length=32)
    name = models.CharField(max_length=NAME_MAX)
    query = models.CharField(max_length=QUERY_MAX)

    class Meta:
        ordering = ["name"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["user", "page", "name"], name="one_view_of_a_name")]

    def __str__(self) -> str:
        return self.name
