"""From operations to Redis and back: connections, pipelines, batching, routing in a cluster, replication, errors.

The two engines use it, `queues.engine.engine` and `queues.engine.async_engine`; nothing in it knows what a job is.
"""
