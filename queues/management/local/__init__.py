"""What `manage.py up` consists of: a data directory of its own (`place`), the demo account (`account`), the processes
that make up the service (`parts`), and what to tell the person who started it (`welcome`).
"""
