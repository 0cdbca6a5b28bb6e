"""What people decide and did, kept in a database: pools, namespaces, tokens, limits, policies, activity; and reports.

Jobs are in Redis only.
"""

from .activity import Activity, ActivityAction
from .namespace import Namespace
from .policy import QueuePolicy
from .pool import DEFAULT_POOL, Pool
from .push import PushEndpoint
from .report import QueueDay, ReportDay, ReportState, ReportTrigger
from .token import Token, TokenLimit

__all__ = [
    "DEFAULT_POOL",
    "Activity",
    "ActivityAction",
    "Namespace",
    "Pool",
    "PushEndpoint",
    "QueueDay",
    "QueuePolicy",
    "ReportDay",
    "ReportState",
    "ReportTrigger",
    "Token",
    "TokenLimit",
]
