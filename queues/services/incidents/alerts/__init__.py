"""Alerts: tell other systems of incidents, by webhooks, Slack-compatible webhooks and e-mail.

`channels` makes and changes channels; `queueing` writes down what is to be told, in the transaction that changed the
incident; `messages` words it; `sending` sends what is due, with retries, beside the watch and never in its way.
"""
