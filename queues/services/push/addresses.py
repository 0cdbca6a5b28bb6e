"""Which addresses requests may go to, and what can be said of a URL before anything is looked up."""

from __future__ import annotations

from ipaddress import ip_address

from django.conf import settings

from queues.http_client import AddressRules, UrlError, parse_target

from ..errors import InvalidArgumentError


def address_rules() -> AddressRules:
    """Public addresses, and the networks of TASKQ_PUSH_ALLOWED_NETWORKS."""
    return AddressRules.of(settings.TASKQ_PUSH_ALLOWED_NETWORKS)


def check_url(url: str) -> None:
    """Raise InvalidArgumentError for a URL that no request can be sent to.

    What its name means is found out, and checked, at each new connection.
    """
    try:
        target = parse_target(url)
    except UrlError as error:
        raise InvalidArgumentError(f"invalid url: {error}") from None
    is_local = target.host == "localhost" or target.host.endswith(".localhost")
    address = "127.0.0.1" if is_local else target.host
    try:
        ip_address(address)
    except ValueError:
        return
    if not address_rules().permits(address):
        raise InvalidArgumentError(f"invalid url: {target.host} is not a public address")
