"""Long polls: calls that wait for jobs or results. Messages wake them, a job's due time, or a poll.

`queues.engine.async_engine` uses it.
"""
