"""Deploys: a program notes one, and charts show it."""

from __future__ import annotations

from typing import Final

from queues.services.deploys import note_deploy

from ..context import ApiContext
from ..http.body import read_object
from ..http.request import ApiRequest
from ..http.response import ApiResponse, json_response
from .json_members import check_known, read_text

BODY_LIMIT: Final = 4_096

_KNOWN: Final = frozenset({"version"})


async def note(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A version has gone live just now."""
    content = await read_object(request, BODY_LIMIT)
    check_known(content, _KNOWN)
    version = read_text(content, "version")
    await context.reauthorise_if_late(request)
    access = request.granted
    deploy, is_new = await context.call(note_deploy, pool=access.pool, namespace=access.namespace, version=version)
    message = "noted" if is_new else "noted before"
    told = {"version": deploy.version, "at_ms": deploy.at_ms}
    return json_response(201 if is_new else 200, {"msg": message, "deploy": told})
