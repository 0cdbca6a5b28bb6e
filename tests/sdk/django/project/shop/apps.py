"""The project's only app."""

from __future__ import annotations

from django.apps import AppConfig


class ShopConfig(AppConfig):
    name = "tests.sdk.django.project.shop"
