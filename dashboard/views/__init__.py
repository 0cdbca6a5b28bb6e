"""A module for each family of pages, with its own `urlpatterns`, which `dashboard.urls` collects.

`decorators` has the decorators of every view (`@page`, `@action`), `parameters` reads what many views have in their
address or form. Views call one service each, and render its answer.
"""
