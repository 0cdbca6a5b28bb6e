"""Pages, a module per family with its own `urlpatterns`. What they show, and to whom, is up to `queues.services`."""
