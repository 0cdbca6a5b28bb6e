"""A small load that looks like a shop's, so that there is something to see: over real HTTP, with a real token.

Orders that are closed unless they are paid in time, emails of which some fail and a few never arrive, images that take
longer than they take to upload. About ten requests a second; every queue is bounded, however long it runs. Called by
the command `demo`; calls the service as any client does.
"""

from .actors import run_load

__all__ = ["run_load"]
