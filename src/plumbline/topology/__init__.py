"""Turn the topology document of a site into parts, paths and ceilings."""
