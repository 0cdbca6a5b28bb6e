"""Pools: adding and checking them, their engines, and what is wrong with their Redis."""
