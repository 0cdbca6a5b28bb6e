"""The whole service on one machine, as `up` starts it: its data directory, its parts, the account to try it with.

Called by the commands `up` and `bootstrap`; calls services for the account, and `queues.supervision` for the processes.
"""
