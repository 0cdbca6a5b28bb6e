"""Push: the HTTP client, what a pusher does with jobs, and the command."""
