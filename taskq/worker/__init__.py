"""The worker: takes jobs, runs them, says how they ended. Called by the command line; calls brokers and the user's
tasks.
"""

from .worker import End, Worker, WorkerOptions

__all__ = ["End", "Worker", "WorkerOptions"]
