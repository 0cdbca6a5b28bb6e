"""Workflows: made and changed for the API (`creation`: plans that its engine runs), and for `pages`, which show people
only what they may see. Called by the API and the pages; calls `queues.engine`.
"""
