"""Which addresses may be connected to: public ones, and those that the operator allows.

IPv4 addresses inside IPv6 ones (mapped, 6to4, NAT64, Teredo) are judged by the address that is meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NAT64: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE: Final = IPv6Network("::/96")
_SITE_LOCAL: Final = IPv6Network("fec0::/10")


@dataclass(frozen=True, slots=True)
class AddressRules:
    """`allowed`: networks that may be connected to although they are not public."""

    allowed: tuple[Network, ...] = ()

    @classmethod
    def of(cls, networks: Iterable[Network]) -> AddressRules:
        """The rules with these networks allowed."""
        return cls(tuple(networks))

    def permits(self, address: str) -> bool:
        """Whether a connection to `address` (a literal) may be made. What cannot be read may not."""
        try:
            found = ip_address(address)
        except ValueError:
            return False
        meant = _meant(found)
        if any(one in network for one in {found, meant} for network in self.allowed if network.version == one.version):
            return True
        return _is_public(found) and _is_public(meant)


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, if it stands for one."""
    if isinstance(address, IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if inner is not None:
        return inner
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in (*_NAT64, _COMPATIBLE)):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return True  # judged by the address that is meant
        if address in _SITE_LOCAL or address in _COMPATIBLE:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)
