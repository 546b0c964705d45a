"""Facts of hosts beside measurements: symptoms, conditions, counters, jobs, latency under load."""
