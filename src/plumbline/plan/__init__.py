"""Policy, inventory and baselines become expectations, schedules and services."""
