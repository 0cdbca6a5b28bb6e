"""Running it: embedded Redis, supervision, background roles, `manage.py up`, and the acceptance test."""
