"""Who may look at what and do what: every route of the dashboard, by tables."""
