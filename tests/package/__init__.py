"""The wheel: what is in it, and that it works without the checkout. What taskq relies on in other packages."""
