"""Values with units, layers, errors: what every other room speaks in."""
