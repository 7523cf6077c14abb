"""Runs beside each other: the seats of a panel, a run and its baseline, two records."""
