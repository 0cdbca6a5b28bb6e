"""Benchmarks: `make bench`, or `python -m bench NAME ...`. Figures, not tests: nothing fails on a slow machine."""
