"""Reports: who computes one, how its rows get into the database, who may read them, and how they are mailed.

A submodule per verb family; callers import from these.
"""
