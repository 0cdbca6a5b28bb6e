"""Reads settings from the environment. A value that cannot be read stops the process and says which one and why."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import date, time
from decimal import Decimal
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

Checked = TypeVar("Checked")

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})

SECRET_MIN = 20
"""Characters. Nothing limits how often a secret may be guessed, so it has to be beyond guessing."""


class EnvError(ImproperlyConfigured):
    """An environment variable holds something that cannot be used. The message never repeats the value of a secret."""


def read_text(name: str, default: str = "") -> str:
    """The variable, stripped; `default` when it is unset or blank."""
    return os.environ.get(name, "").strip() or default


def read_secret(name: str) -> str:
    """A secret of at least SECRET_MIN characters, "" when unset. Raises EnvError, which does not repeat it."""
    secret = read_text(name)
    if secret and len(secret) < SECRET_MIN:
        raise EnvError(f"{name}: too short to be a secret, expected at least {SECRET_MIN} characters")
    return secret


def read_bool(name: str, *, default: bool) -> bool:
    """1, true, yes, on or 0, false, no, off. Raises EnvError for anything else."""
    text = read_text(name).lower()
    if not text:
        return default
    if text not in _TRUE | _FALSE:
        raise EnvError(f"{name}={text}: expected one of {', '.join(sorted(_TRUE | _FALSE))}")
    return text in _TRUE


def read_int(name: str, *, default: int, minimum: int, maximum: int, or_zero: bool = False) -> int:
    """A whole number within bounds; `or_zero`: or 0. Raises EnvError."""
    text = read_text(name)
    if not text:
        return default
    try:
        number = int(text)
    except ValueError:
        raise EnvError(f"{name}={text}: expected a whole number") from None
    if not (minimum <= number <= maximum or (or_zero and number == 0)):
        raise EnvError(f"{name}={text}: expected {'0, or ' if or_zero else ''}a number from {minimum} to {maximum}")
    return number


def read_size(name: str, *, minimum: int = 0) -> int:
    """Bytes, or a number with K, M, G or T (of 1024); 0: unset. Raises EnvError also for less than `minimum`, where
    somebody has forgotten the unit."""
    text = read_text(name)
    found = re.fullmatch(r"(\d{1,15})\s*([KMGT]?)(?:i?B)?", text or "0", re.IGNORECASE)
    if found is None:
        raise EnvError(f"{name}={text}: expected bytes, or a number with a unit such as 500M, 20G or 1T")
    size = int(found[1]) << 10 * " KMGT".index(found[2].upper() or " ")
    if 0 < size < minimum:
        raise EnvError(f"{name}={text}: that is less than {minimum:,} bytes; is the unit missing, as in 20G?")
    return size


def read_price(name: str) -> Decimal | None:
    """A decimal number that is not negative, such as 0.000012; None when unset. Raises EnvError."""
    text = read_text(name)
    if not text:
        return None
    if re.fullmatch(r"\d{1,12}(\.\d{1,12})?|\.\d{1,12}", text) is None:
        raise EnvError(f"{name}={text}: expected a price such as 0.000012, with at most 12 decimals")
    return Decimal(text)


def read_umask(name: str, *, default: int) -> int:
    """A umask in octal digits that leaves files to their owner. Raises EnvError."""
    text = read_text(name, f"{default:03o}")
    if re.fullmatch(r"0?0[0-7]{2}", text) is None:
        raise EnvError(f"{name}={text}: expected three octal digits, the first of them 0, such as 077 or 027")
    return int(text, 8)


def read_choice(name: str, *, default: str, choices: tuple[str, ...]) -> str:
    """One of `choices`, in any case. Raises EnvError."""
    text = read_text(name, default)
    for choice in choices:
        if text.lower() == choice.lower():
            return choice
    raise EnvError(f"{name}={text}: expected one of {', '.join(choices)}")


def read_list(name: str, *, default: tuple[str, ...] = ()) -> list[str]:
    """A comma-separated list; blanks around and between commas do not count."""
    items = [item.strip() for item in os.environ.get(name, "").split(",")]
    return [item for item in items if item] or list(default)


def read_holidays(name: str) -> list[date | str]:
    """A comma-separated list of dates, and of countries or their parts: `2026-12-24, DE-BY`. Raises EnvError."""
    found: list[date | str] = []
    for item in read_list(name):
        if re.fullmatch(r"[A-Z]{2}(-[A-Z0-9]{1,3})?", item):
            found.append(item)
            continue
        try:
            found.append(date.fromisoformat(item))
        except ValueError:
            raise EnvError(f"{name}: {item}: expected dates such as 2026-12-24, or countries such as DE-BY") from None
    return found


def read_networks(name: str) -> list[IPv4Network | IPv6Network]:
    """A comma-separated list of addresses and networks: `10.0.0.0/8, ::1`. Raises EnvError."""
    networks = []
    for item in read_list(name):
        try:
            networks.append(ip_network(item))
        except ValueError as error:
            raise EnvError(f"{name}: expected addresses or networks such as 10.0.0.0/8: {error}") from None
    return networks


def read_url(name: str, *, default: str, schemes: tuple[str, ...]) -> str:
    """A URL with one of `schemes`. Raises EnvError, which does not repeat the URL: it may hold a password."""
    url = read_text(name, default)
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() not in schemes or not rest:
        raise EnvError(f"{name}: expected a URL that begins with one of {', '.join(f'{s}://' for s in schemes)}")
    return url


def read_checked(name: str, check: Callable[[str], Checked], *, default: Checked) -> Checked:
    """What `check` makes of the variable, `default` as it is when that is unset. Raises EnvError if `check` raises a
    ValueError, with its text and without the value: that may be a secret."""
    text = read_text(name)
    if not text:
        return default
    try:
        return check(text)
    except ValueError as error:
        raise EnvError(f"{name}: {error}") from None


def read_time(name: str, *, default: str) -> time | None:
    """A time of day, `HH:MM`; None for `off`. Raises EnvError."""
    text = read_text(name, default)
    if text.lower() == "off":
        return None
    found = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", text)
    if found is None:
        raise EnvError(f"{name}={text}: expected a time of day such as 02:10, or off")
    return time(int(found[1]), int(found[2]))


def read_place(name: str, *, default: Path) -> str:
    """Where files are: a URL, or the absolute path of a directory. A relative one is beside `default`, wherever a
    process is started. Raises EnvError for a URL with a password: lists of processes, logs and pages would show it."""
    place = read_text(name, str(default))
    if "://" not in place:
        return str(default.parent / Path(place).expanduser())
    if re.match(r"[^/]*://[^/@:]*:(?!\d+(?:/|\Z)).*@", place):
        raise EnvError(
            f"{name}: leave the password out of the URL, and put it where the file system's package looks for it"
        )
    return place


def read_dir(name: str, *, default: Callable[[], Path]) -> Path:
    """An absolute path of a directory that exists or can be made. Raises EnvError if something else is in its place."""
    path = Path(read_text(name) or default()).expanduser().resolve()
    if path.exists() and not path.is_dir():
        raise EnvError(f"{name}={path}: that is not a directory")
    return path
