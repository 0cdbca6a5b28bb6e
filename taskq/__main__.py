"""`python -m taskq`: the same as the command `taskq`."""

from taskq.cli import main

main()
