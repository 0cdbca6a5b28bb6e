"""Schedules: jobs that are published by the clock. When they are due (`timing`), what people and programs change
(`editing`), what is shown (`reading`), and the firing itself (`firing`), which the pump's role calls.
"""
