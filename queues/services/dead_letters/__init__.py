"""Dead letters of one queue or many: where there are any, looking through them, grouping them by error, respawning and
deleting them. The dashboard calls these."""
