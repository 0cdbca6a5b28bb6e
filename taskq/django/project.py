"""The Django project as a module: importing it sets Django up and imports the tasks of its apps.

For `taskq worker taskq.django.project` with DJANGO_SETTINGS_MODULE, and for processes of tasks with `process=True`.
"""

import django

django.setup()

from .django_app import app  # noqa: E402

__all__ = ["app"]
