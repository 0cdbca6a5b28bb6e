"""For servers that speak WSGI. taskq itself is served by uvicorn through `taskq_site.asgi`: long polling needs it."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "taskq_site.settings")

application = get_wsgi_application()
