"""Forms of a verdict: Nagios, Icinga, Prometheus, Checkmk, tables."""
