"""A module for each family of pages, with its own `urlpatterns`, which `dashboard.urls` collects.

`decorators` has the decorators of every view (`@page`, `@action`). Views call one service each, and render its answer.
"""
