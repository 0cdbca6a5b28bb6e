"""The command `taskq`: what people who write workers type (`cli.commands`), and the server's own commands."""

from .main import main

__all__ = ["main"]
