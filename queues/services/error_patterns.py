"""What errors have in common, for services: the rule is the event lake's, so that reports group alike."""

from queues.lake.error_patterns import LEASE_LOST, NO_TEXT, PATTERN_MAX, pattern_of

__all__ = ["LEASE_LOST", "NO_TEXT", "PATTERN_MAX", "pattern_of"]
