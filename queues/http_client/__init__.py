"""A small HTTP/1.1 client for requests to URLs that strangers may have chosen. Standard library and httptools only.

`urls` reads a URL and says what is wrong with it; `headers` checks headers; `addresses` looks up names, and says
which addresses may be connected to; `connection` is one connection; `client` posts, over connections that it keeps,
to exactly the address that was checked. Redirects are not followed. Answers are read up to a bound, in bytes and in
time. Every layer may call it.
"""

from .addresses import AddressRules, Resolver
from .client import HttpClient, client_tls
from .connection import HttpClientError, HttpFailure, Response
from .urls import Target, UrlError, parse_target

__all__ = [
    "AddressRules",
    "HttpClient",
    "HttpClientError",
    "HttpFailure",
    "Resolver",
    "Response",
    "Target",
    "UrlError",
    "client_tls",
    "parse_target",
]
