"""The OpenAPI document, by drf-spectacular, of what the table of routes says."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import orjson
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema

from queues import __version__

from .route_docs.documentation import Parameter, Reply
from .router import AuthKind, Route
from .routes import ROUTES
from .views import HANDLERS

SECURITY_SCHEMES: Final = {
    "token": {"type": "apiKey", "in": "header", "name": "X-Token"},
    "tokenInQuery": {"type": "apiKey", "in": "query", "name": "token"},
    "staff": {"type": "http", "scheme": "basic"},
}
_SECURITY: Final[dict[AuthKind, list[Any]]] = {
    AuthKind.TOKEN: [{"token": []}, {"tokenInQuery": []}],
    AuthKind.STAFF: [{"staff": []}],
    AuthKind.NONE: [],
}
_TYPES: Final = {
    "integer": OpenApiTypes.INT64,
    "number": OpenApiTypes.DOUBLE,
    "string": OpenApiTypes.STR,
    "boolean": OpenApiTypes.BOOL,
}


def describe_handlers(endpoints: list[Any]) -> list[Any]:
    """Tell drf-spectacular about the handlers. It calls this (PREPROCESSING_HOOKS) before it describes `endpoints`.

    A decorator of each handler would load drf-spectacular wherever views are loaded.
    """
    _describe_all()
    return endpoints


@cache
def _describe_all() -> None:
    for route in ROUTES:
        _describe(route)


def _describe(route: Route) -> None:
    documentation = route.documentation
    describe = extend_schema(
        operation_id=route.name.replace(".", "_"),
        summary=documentation.summary,
        description="",
        tags=[documentation.group],
        auth=_SECURITY[route.auth],
        parameters=[_parameter(one) for one in documentation.parameters] + _path_parameters(route),
        request={documentation.body_type: OpenApiTypes.BINARY} if documentation.body else None,
        responses={_key(reply): _response(reply) for reply in documentation.replies},
    )
    describe(HANDLERS[route.name])


@cache
def schema_json() -> bytes:
    """The document. It is the same for every client."""
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    schema["info"]["version"] = __version__
    schema.setdefault("components", {})["securitySchemes"] = SECURITY_SCHEMES
    for route in ROUTES:
        if route.method == "DELETE" and route.documentation.body:
            schema["paths"][route.path]["delete"]["requestBody"] = _body_of_delete(route)
    return orjson.dumps(schema)


def _body_of_delete(route: Route) -> dict[str, Any]:
    """drf-spectacular leaves the bodies of DELETE out; ours have some."""
    documentation = route.documentation
    return {"content": {documentation.body_type: {"schema": {"type": "string", "format": "binary"}}}}


def _parameter(parameter: Parameter) -> OpenApiParameter:
    return OpenApiParameter(
        parameter.name,
        type=_TYPES[parameter.kind],
        location=OpenApiParameter.QUERY,
        description=parameter.text,
        default=parameter.default,
    )


def _path_parameters(route: Route) -> list[OpenApiParameter]:
    names = [segment[1:-1] for segment in route.path.split("/") if segment.startswith("{")]
    return [OpenApiParameter(name, type=OpenApiTypes.STR, location=OpenApiParameter.PATH) for name in names]


def _key(reply: Reply) -> Any:
    if reply.example is None:
        return reply.status
    if isinstance(reply.example, str):
        return (reply.status, "text/plain" if "{" in reply.example else "application/octet-stream")
    return (reply.status, "application/json")


def _response(reply: Reply) -> OpenApiResponse:
    if reply.example is None:
        return OpenApiResponse(description=reply.text)
    kind = OpenApiTypes.BINARY if isinstance(reply.example, str) else OpenApiTypes.ANY
    examples = [OpenApiExample("example", value=reply.example)]
    return OpenApiResponse(response=kind, description=reply.text, examples=examples)
