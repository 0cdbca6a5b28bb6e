"""Presents reports: what pages, paper, CSV and mails show of a day.

`account` reads all that is told of a day; `queue_list` filters, sorts and pages the queues of a day; `figures` names
and writes figures; `tables` describes the tables; `summary` puts a day into words, and `mail` sends it.
"""
