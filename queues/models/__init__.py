"""What a person decides and a database keeps: pools, namespaces, tokens, limits, policies. Jobs are in Redis only."""

from .namespace import Namespace
from .policy import QueuePolicy
from .pool import DEFAULT_POOL, Pool
from .token import Token, TokenLimit

__all__ = ["DEFAULT_POOL", "Namespace", "Pool", "QueuePolicy", "Token", "TokenLimit"]
