"""Routes of the dashboard. Each family of pages brings its own."""

from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path
from django.views.i18n import set_language

from .views import (
    activity,
    alerts,
    consumers,
    dead_letters,
    deletions,
    downloads,
    finding,
    first_day,
    incidents,
    job,
    namespaces,
    overview,
    policies,
    push,
    queue_list,
    queues,
    reports,
    respawns,
    schedules,
    styleguide,
    tokens,
    triage,
    workflows,
)
from .views.decorators import only

app_name = "dashboard"


class SignIn(LoginView):
    template_name = "dashboard/login.html"
    next_page = "dashboard:overview"
    redirect_authenticated_user = True


urlpatterns = [
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", only("POST")(LogoutView.as_view(next_page="dashboard:login")), name="logout"),
    path("language/", set_language, name="set_language"),
    *overview.urlpatterns,
    *first_day.urlpatterns,
    *incidents.urlpatterns,
    *alerts.urlpatterns,
    *queue_list.urlpatterns,
    *queues.urlpatterns,
    *job.urlpatterns,
    *finding.urlpatterns,
    *deletions.urlpatterns,
    *dead_letters.urlpatterns,
    *downloads.urlpatterns,
    *respawns.urlpatterns,
    *triage.urlpatterns,
    *consumers.urlpatterns,
    *schedules.urlpatterns,
    *workflows.urlpatterns,
    *push.urlpatterns,
    *reports.urlpatterns,
    *activity.urlpatterns,
    *namespaces.urlpatterns,
    *policies.urlpatterns,
    *tokens.urlpatterns,
    *styleguide.urlpatterns,
]
