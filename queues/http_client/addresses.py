"""Which addresses may be connected to: public ones, and those that the operator allows.

IPv4 addresses inside IPv6 ones (mapped, 6to4, NAT64, Teredo) are judged by the address that is meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NAT64: Final = IPv6Network("64:ff9b::/96")
_MORE_REFUSED: Final = tuple(
    ip_network(text) for text in ("192.0.0.0/24", "192.88.99.0/24", "::/96", "64:ff9b:1::/48", "fec0::/10")
)
"""Not public either, though `ipaddress` of some versions of Python says so, or says nothing."""


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
    return IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else address


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and (address.ipv4_mapped is not None or address in _NAT64):
        return True  # judged by the address that is meant
    if any(address in network for network in _MORE_REFUSED if network.version == address.version):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)
