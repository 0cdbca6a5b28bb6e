"""Objectives: which share of a queue's deliveries has to come in time, and how fast its error budget burns.

`burn_rates` has the arithmetic, `recording` what the pump counts every five minutes, `reading` what pages, metrics and
incidents ask, `budgets` what reports of past days leave of the budget. Formulas are those of the SRE workbook;
docs/objectives.md explains them. Called by the pump, pages and metrics; calls policies, models and the engine.
"""
