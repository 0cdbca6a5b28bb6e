"""Passwords of people: who may try one, how often, and at whose cost.

`backend` is Django's authentication backend, for the sign-in forms and for HTTP Basic. Before it hashes a password it
takes one of the `CheckSlots`, which bound the processor time, and asks `throttling`, which counts failures in the terms
of django-axes, logs them and notes sign-ins. `throttling` tells clients that have signed in to the account before from
strangers, who have limits and slots of their own and lock out nobody else.

Django and django-axes call this package by way of the settings; it uses Django's users and cache.
"""

from .throttling import device_cookie, note_sign_ins

__all__ = ["device_cookie", "note_sign_ins"]
