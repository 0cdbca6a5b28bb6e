"""Pools: adding and checking them, how loaded they are, and what is wrong with their Redis."""
