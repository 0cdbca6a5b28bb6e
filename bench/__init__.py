"""Benchmarks: `make bench`, or `python -m bench NAME ...`. Figures, not tests: nothing fails here because a machine is slow."""
