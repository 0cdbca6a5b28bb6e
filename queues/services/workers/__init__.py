"""Workers, the processes of the library `taskq`: what pages show of them (`reading`), and `commands` to them."""
