"""The worker: takes jobs, runs them, says how they ended. Called by the command line; calls brokers and the user's
tasks.
"""

from .options import End, WorkerOptions
from .worker import Worker

__all__ = ["End", "Worker", "WorkerOptions"]
