"""Tokens: making and revoking them, what each may do, its limits, and when it was used last."""
