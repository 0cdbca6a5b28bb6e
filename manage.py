#!/usr/bin/env python
"""Django's command line for taskq in a checkout. An installed taskq has the command `taskq` instead."""

from taskq_site.__main__ import main

if __name__ == "__main__":
    main()
