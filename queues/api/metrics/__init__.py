"""`/metrics`: what this server counts itself, and what its pools say of themselves.

`counters` is what requests add to; `worker_files` bounds how many queues have numbers of their own, and sums up what
several processes count; `process` has the counters of this process. `exposition` lists every metric, `page` writes
the page. Operations and the pipeline call `COUNTERS`, the web server `process`.
"""

from .counters import CLIENT_GONE
from .process import COUNTERS

__all__ = ["CLIENT_GONE", "COUNTERS"]
