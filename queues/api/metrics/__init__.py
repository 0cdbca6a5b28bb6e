"""`/metrics`: what this server counts itself, and what its pools say of themselves.

`counting` is what requests add to; `series` and `slots` bound how many queues have numbers of their own; `workers`
makes one sum of what several processes count. `table` lists every metric, `render` writes the page.
"""

from .counting import CLIENT_GONE
from .opening import opens_metrics
from .process import COUNTERS

__all__ = ["CLIENT_GONE", "COUNTERS", "opens_metrics"]
