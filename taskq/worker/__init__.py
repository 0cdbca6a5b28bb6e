"""The worker: takes jobs, runs them, says how they ended. Called by the command line; calls brokers and the user's
tasks.
"""

from .options import StopReason, WorkerOptions
from .worker import Worker

__all__ = ["StopReason", "Worker", "WorkerOptions"]
