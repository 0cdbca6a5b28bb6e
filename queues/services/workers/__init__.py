"""Workers, the processes of the library `taskq`: what the dashboard shows of them, and commands to them."""
