"""Workers, the processes of the library `taskq`: what the dashboard shows of them (`reading`), and `commands` to them."""
