"""A fleet with known faults, measured and judged day by day."""
