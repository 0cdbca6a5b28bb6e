"""Consumers that wait for jobs or hold some: they announce themselves in Redis, and the dashboard
reads them for the pages."""
