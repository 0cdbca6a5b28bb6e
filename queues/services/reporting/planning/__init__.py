"""What reports tell about money and about the coming weeks, from rows that are in the database.

`costs` adds up what namespaces used, `forecasts` says what the next 14 days will ask for, by the `theta_method`, which
knows numbers only. Called by pages.
"""
