"""Long polls: who waits for jobs or results, and how they are woken: by messages, when a job becomes due, or by a poll.

`queues.engine.aio` uses it.
"""
