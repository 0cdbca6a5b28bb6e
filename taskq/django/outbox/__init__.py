"""The outbox: writes jobs as rows of the project's database, and publishes them after the commit.

`rows` writes and reads rows; `relay` publishes them; `notifications` hears of new ones; `process` is what `manage.py
runoutbox` runs. Called by `taskq.django`; calls brokers. docs/sdk/transactions.md describes the table.
"""
