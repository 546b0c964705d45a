"""Compile policy, inventory and baselines into expectations, schedules and services."""
