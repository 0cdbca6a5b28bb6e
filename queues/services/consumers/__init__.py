"""Consumers that wait for jobs or hold some: they announce themselves in Redis, and pages show them."""
