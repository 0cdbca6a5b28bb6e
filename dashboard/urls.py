"""Routes of the dashboard."""

from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from . import views

app_name = "dashboard"


class SignIn(LoginView):
    template_name = "dashboard/login.html"
    next_page = "dashboard:overview"
    redirect_authenticated_user = True


urlpatterns = [
    path("", views.overview, name="overview"),
    path("overview/queues", views.overview_queues, name="overview_queues"),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(next_page="dashboard:login"), name="logout"),
]
