"""Workers, the processes of the library `taskq`: what they ask over HTTP, what the dashboard shows of them, and orders
to them."""
