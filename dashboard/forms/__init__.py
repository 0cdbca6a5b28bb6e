"""Forms that people fill in, and what they mean as values of the services."""
