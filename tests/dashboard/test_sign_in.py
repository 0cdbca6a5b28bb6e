"""Signing in to the dashboard, and out again."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

pytestmark = pytest.mark.django_db(transaction=True)


def test_signing_in_leads_to_the_overview_and_out_again() -> None:
    User.objects.create_user("alice", password="open sesame")
    client = Client()

    refused = client.post("/login/", {"username": "alice", "password": "wrong"})
    assert "Wrong username or password" in refused.content.decode()
    entered = client.post("/login/", {"username": "alice", "password": "open sesame"})
    assert entered["Location"] == "/"
    assert client.get("/").status_code == 200
    assert client.post("/logout/").status_code == 302
    assert client.get("/").status_code == 302


def test_sign_in_does_not_lead_to_other_sites() -> None:
    User.objects.create_user("alice", password="open sesame")

    entered = Client().post("/login/?next=https://evil.example/", {"username": "alice", "password": "open sesame"})

    assert "evil.example" not in entered["Location"]
