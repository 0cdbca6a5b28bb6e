"""The command `taskq`: what people who write workers type (`main` has the parser), and the server's own commands."""

from .main import main

__all__ = ["main"]
