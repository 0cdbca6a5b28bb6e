"""What people decide and did, kept in a database: pools, namespaces, tokens, limits, policies, schedules, activity; and
reports.

Jobs are in Redis only.
"""

from .activity import Activity, ActivityAction
from .alert import AlertChannel, AlertDelivery, AlertEvent, AlertTransport
from .dead_letters import ErrorTriage, RespawnPlan, RespawnState
from .deletion import DeletionKind, DeletionPhase, PendingDeletion
from .deploy import Deploy
from .incident import (
    Incident,
    IncidentChange,
    IncidentChangeKind,
    IncidentKind,
    IncidentLook,
    IncidentSeverity,
)
from .namespace import Namespace, Token, TokenLimit
from .objective import ObjectiveWindow
from .policy import QueuePolicy
from .pool import DEFAULT_POOL, Pool
from .push import PushEndpoint
from .report import LakeMeasurement, QueueDay, ReportDay, ReportState, ReportTrigger
from .schedule import CatchUp, FireOutcome, Overlap, Schedule, ScheduleFire, ScheduleKind, ScheduleSource

__all__ = [
    "DEFAULT_POOL",
    "Activity",
    "ActivityAction",
    "AlertChannel",
    "AlertDelivery",
    "AlertEvent",
    "AlertTransport",
    "CatchUp",
    "DeletionKind",
    "DeletionPhase",
    "Deploy",
    "ErrorTriage",
    "FireOutcome",
    "Incident",
    "IncidentChange",
    "IncidentChangeKind",
    "IncidentKind",
    "IncidentLook",
    "IncidentSeverity",
    "LakeMeasurement",
    "Namespace",
    "ObjectiveWindow",
    "Overlap",
    "PendingDeletion",
    "Pool",
    "PushEndpoint",
    "QueueDay",
    "QueuePolicy",
    "ReportDay",
    "ReportState",
    "ReportTrigger",
    "RespawnPlan",
    "RespawnState",
    "Schedule",
    "ScheduleFire",
    "ScheduleKind",
    "ScheduleSource",
    "Token",
    "TokenLimit",
]
