"""From the invoice of a site to its parts, paths and ceilings."""
