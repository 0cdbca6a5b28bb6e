"""Namespaces as people see and manage them: lists, one with its figures, making, describing, deleting."""
